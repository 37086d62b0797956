"""CBCL: online centroid-based concept learning, several centroids a class (Ayub & Wagner 2020).

A sample joins the nearest centroid of its class if that is nearer than `threshold`, else it founds
a new one. Over `centroids` in all, the two nearest of one class are merged. The score of a class
sums 1/distance over those of the `k` nearest centroids that are its own, weighted by the class
count: inversely as the paper says, or, with `variant=published`, in proportion as the public code
does.
"""

import numpy as np
from scipy.spatial.distance import cdist, pdist

from robocle.classifiers.streaming import (
    Arrays,
    ClassifierState,
    Matrix,
    StreamingClassifier,
    Vector,
    appended,
)
from robocle.errors import StateError
from robocle.spec import require_between, require_choice
from robocle.types import Scores

NEAREST_KNOWN = 1e-12  # a sample that stands on a centroid


class CentroidConcepts(StreamingClassifier):
    """Several centroids a class, founded beyond a distance and merged over a limit."""

    def __init__(
        self, threshold: float = 17.0, centroids: int = 44, k: int = 1, variant: str = "correct"
    ) -> None:
        super().__init__()
        require_between("threshold", threshold, 0, 1e30)
        require_between("centroids", centroids, 1, 1_000_000)
        require_between("k", k, 1, 1_000_000)
        require_choice("variant", variant, ("correct", "published"))
        self.threshold = threshold
        self.centroids = centroids
        self.k = k
        self.variant = variant
        self._places: Matrix = np.empty((0, 0))
        self._owners = np.empty(0, np.int64)
        self._sizes = np.empty(0)

    def _add_row(self) -> None:
        """A class begins with its first sample's centroid."""

    def _learn(self, sample: Vector, row: int) -> None:
        own = np.flatnonzero(self._owners == row)
        distances = np.linalg.norm(self._places[own] - sample, axis=1) if len(own) else own
        if len(own) and distances.min() < self.threshold:
            nearest = own[distances.argmin()]
            self._sizes[nearest] += 1
            self._places[nearest] += (sample - self._places[nearest]) / self._sizes[nearest]
            return
        self._places = appended(self._places, sample)
        self._owners = np.append(self._owners, row)
        self._sizes = np.append(self._sizes, 1.0)
        if len(self._places) > self.centroids:
            self._merge_nearest()

    def _merge_nearest(self) -> None:
        """Merge the two nearest centroids of one class; a class always keeps one."""
        kept, dropped, nearest = 0, 0, np.inf
        for row in np.flatnonzero(np.bincount(self._owners) > 1):
            own = np.flatnonzero(self._owners == row)
            distances = pdist(self._places[own])
            if distances.min() < nearest:
                nearest = distances.min()
                first, second = np.triu_indices(len(own), 1)
                kept, dropped = own[first[distances.argmin()]], own[second[distances.argmin()]]
        if kept == dropped:
            return  # every class has just one
        share = self._sizes[dropped] / (self._sizes[kept] + self._sizes[dropped])
        self._places[kept] += share * (self._places[dropped] - self._places[kept])
        self._sizes[kept] += self._sizes[dropped]
        self._keep(np.arange(len(self._places)) != dropped)

    def _scores(self, vectors: Matrix) -> Scores:
        distances = np.maximum(cdist(vectors, self._places), NEAREST_KNOWN)
        nearest = np.argsort(distances, axis=1)[:, : self.k]
        closeness = 1 / np.take_along_axis(distances, nearest, axis=1)
        scores = np.zeros((len(vectors), len(self._labels)))
        for place in range(nearest.shape[1]):
            rows = self._owners[nearest[:, place]]
            scores[np.arange(len(vectors)), rows] += closeness[:, place]
        counts = np.array(self._counts, np.float64)
        weighted: Scores = scores * (counts if self.variant == "published" else 1 / counts)
        return weighted

    def _keep(self, kept: np.ndarray) -> None:
        self._places = self._places[kept]
        self._owners = self._owners[kept]
        self._sizes = self._sizes[kept]

    def _forget(self, row: int) -> None:
        self._keep(self._owners != row)
        self._owners = self._owners - (self._owners > row)

    def _state(self) -> Arrays:
        return {
            "places": self._places.copy(),
            "owners": self._owners.copy(),
            "sizes": self._sizes.copy(),
        }

    def _restore(self, state: ClassifierState) -> int | None:
        self._places = state.take("places", None, None)
        self._owners = state.take("owners", len(self._places)).astype(np.int64)
        self._sizes = state.take("sizes", len(self._places))
        if set(self._owners.tolist()) != set(range(len(self._labels))) or (self._sizes < 1).any():
            raise StateError("state has a label without a centroid")
        return self._places.shape[1] or None
