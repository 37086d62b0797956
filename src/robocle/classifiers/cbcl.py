"""CBCL: online centroid-based concept learning, several centroids per class (Ayub & Wagner 2020).

A sample is merged into the nearest centroid of its class if the distance is below `threshold`;
otherwise it becomes a new centroid. When there are more than `centroids` centroids in total, the
two nearest ones of one class are merged. The score of a class is the sum of 1/distance over those
of the `k` nearest centroids that belong to it, divided by the class count, as in the paper.

`variant=published` computes what the public code does. It multiplies by the class count. A sample
that is near enough to any centroid of its class is merged into the first one, because the code
looks for the nearest one in an array of a single number. Of two centroids that are merged, the
later one keeps its place, which decides which one is the first.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.shared import Variant, require_variant
from robocle.classifiers.streaming import StreamingClassifier
from robocle.spec import require_between
from robocle.types import Scores

SMALLEST_DISTANCE = 1e-12  # a sample may coincide with a centroid: avoids dividing by zero


class CentroidConcepts(StreamingClassifier):
    """Several centroids per class: a distant sample adds one, and a limit makes the nearest merge.

    Args:
        threshold: A sample at least this far from all centroids of its class becomes a new
            centroid.
        centroids: The maximum number of centroids in total. Each class keeps at least one.
        k: How many nearest centroids vote.
        variant: `correct` merges a sample into the nearest centroid, and divides the votes of a
            class by its count. `published` merges it into the first centroid, and multiplies.
    """

    def __init__(
        self, threshold: float = 17.0, centroids: int = 44, k: int = 1, variant: Variant = "correct"
    ) -> None:
        super().__init__()
        require_between("threshold", threshold, 0, 1e30)
        require_between("centroids", centroids, 1, 1_000_000)
        require_between("k", k, 1, 1_000_000)
        require_variant(variant)
        self.threshold = threshold
        self.centroids = centroids
        self.k = k
        self.variant = variant

    def _reset(self) -> None:
        self._places: Matrix = np.empty((0, self.width or 0))
        self._owners: NDArray[np.int64] = np.empty(0, np.int64)  # the row of each centroid
        self._sizes: Vector = np.empty(0)

    def _learn(self, sample: Vector, row: int) -> None:
        own = np.flatnonzero(self._owners == row)
        distances = np.linalg.norm(self._places[own] - sample, axis=1)
        if len(own) and distances.min() < self.threshold:
            joined = own[0 if self.variant == "published" else distances.argmin()]
            self._sizes[joined] += 1
            self._places[joined] += (sample - self._places[joined]) / self._sizes[joined]
            return
        self._places = np.vstack([self._places, sample])
        self._owners = np.append(self._owners, row)
        self._sizes = np.append(self._sizes, 1.0)
        if len(self._places) > self.centroids:
            self._merge_nearest()

    def _merge_nearest(self) -> None:
        """Merge the two nearest centroids of one class."""
        kept, dropped, nearest = 0, 0, np.inf
        for row in np.flatnonzero(np.bincount(self._owners) > 1):
            own = np.flatnonzero(self._owners == row)
            distances = pdist(self._places[own])
            if distances.min() < nearest:
                nearest = distances.min()
                first, second = np.triu_indices(len(own), 1)
                kept, dropped = own[first[distances.argmin()]], own[second[distances.argmin()]]
        if kept == dropped:
            return  # every class has a single centroid and must keep it
        if self.variant == "published":
            kept, dropped = dropped, kept
        share = self._sizes[dropped] / (self._sizes[kept] + self._sizes[dropped])
        self._places[kept] += share * (self._places[dropped] - self._places[kept])
        self._sizes[kept] += self._sizes[dropped]
        self._places = np.delete(self._places, dropped, axis=0)
        self._owners = np.delete(self._owners, dropped)
        self._sizes = np.delete(self._sizes, dropped)

    def _scores(self, embeddings: Matrix) -> Scores:
        distances = np.maximum(cdist(embeddings, self._places), SMALLEST_DISTANCE)
        nearest = np.argsort(distances, axis=1)[:, : self.k]
        votes = 1 / np.take_along_axis(distances, nearest, axis=1)
        scores = np.zeros((len(embeddings), len(self._labels)))
        for rank in range(nearest.shape[1]):
            rows = self._owners[nearest[:, rank]]
            scores[np.arange(len(embeddings)), rows] += votes[:, rank]
        counts = np.array(self._counts, np.float64)
        weighted: Scores = scores * (counts if self.variant == "published" else 1 / counts)
        return weighted
