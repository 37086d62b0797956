"""TEEN: class means of few samples, moved towards similar pictures of the world.

Wang et al., "Few-shot class-incremental learning via training-free prototype calibration" (2023).
The paper moves the means of new classes towards those of well-known base classes. A learner has no
base classes, so the pictures of the world take their place:

    m'_c = (1 - world) u_c + world sum_p w_cp p,      w_c = softmax_p(temperature u_c . p)

where u_c is the normalised class mean and p are the normalised pictures. The score is the cosine
between the embedding and m'_c.
"""

import numpy as np
from numpy.typing import ArrayLike

from robocle._internal.blas import one_blas_thread
from robocle.classifiers.means import ClassMeanClassifier
from robocle.classifiers.samples import Matrix, embedding_numbers
from robocle.classifiers.shared import directions
from robocle.classifiers.streaming import softmax
from robocle.spec import require_between
from robocle.types import Scores


class CalibratedMeans(ClassMeanClassifier):
    """The most similar class mean, after a step towards similar pictures of the world.

    Args:
        world: How far a mean moves, from 0 (not at all) to 1. Without a world it does not move.
        temperature: How much more the most similar pictures count; 0 counts all of them the same.
    """

    def __init__(self, world: float = 0.5, temperature: float = 16.0) -> None:
        super().__init__()
        require_between("world", world, 0, 1)
        require_between("temperature", temperature, 0, 1000)
        self.world, self.temperature = float(world), float(temperature)

    def use_world(self, pictures: ArrayLike) -> None:
        """Use the pictures of a world, (n, width).

        Raises:
            FeatureError: The embeddings are not made of real, finite numbers.
        """
        self._world_pictures = np.array(embedding_numbers(pictures, 2), np.float64)

    def _scores(self, embeddings: Matrix) -> Scores:
        with one_blas_thread():
            scores: Scores = directions(embeddings) @ directions(self._calibrated()).T
        return scores

    def _calibrated(self) -> Matrix:
        means = directions(self._means)
        given = self._world_pictures
        if given is None or given.shape[1] != self.width or not self.world:
            return means
        pictures = directions(given)
        with one_blas_thread():
            weights = softmax(self.temperature * (means @ pictures.T))
            near: Matrix = weights @ pictures
        return (1 - self.world) * means + self.world * near
