"""KLDA and Mahalanobis++: other classifiers, on features of embeddings of one length.

- KLDA is linear discriminant analysis on random Fourier features, which approximates kernel LDA
  (Momeni, Mazumder & Liu, "Continual learning using a kernel-based method over foundation models",
  2025). Because the embeddings have length 1, one gamma suits all backbones.
- Mahalanobis++ is the Mahalanobis distance under a covariance that all classes share (Mueller &
  Hein, "Mahalanobis++: improving OOD detection via feature normalization", 2025). The score, unlike
  that of `slda`, includes the distance itself, so its maximum tells how familiar a picture is.
"""

import math
from abc import abstractmethod

from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.shared import directions, fourier_features
from robocle.classifiers.slda import StreamingLDA
from robocle.classifiers.sqda import StreamingQDA
from robocle.classifiers.streaming import StreamingClassifier
from robocle.spec import require_between
from robocle.types import Scores


class OnFeatures(StreamingClassifier):
    """Another classifier, which learns features of the embeddings."""

    @abstractmethod
    def _new_inner(self) -> StreamingClassifier:
        """Return the other classifier, which has learned nothing."""

    @abstractmethod
    def _features_of(self, embeddings: Matrix) -> Matrix:
        """Return the features of embeddings (..., width)."""

    def _reset(self) -> None:
        self._inner = self._new_inner()

    def _learn(self, sample: Vector, row: int) -> None:
        self._inner.learn(self._features_of(sample), str(row))  # labels may be renamed, rows not

    def _scores(self, embeddings: Matrix) -> Scores:
        return self._inner.scores(self._features_of(embeddings))


class KernelLDA(OnFeatures):
    """Linear discriminant analysis on random Fourier features of the normalised embeddings.

    Args:
        features: How many random features are used.
        gamma: The kernel is exp(-gamma |u - u'|^2) of normalised embeddings u.
        seed: The seed of the random features.
    """

    def __init__(self, features: int = 2048, gamma: float = 1.0, seed: int = 0) -> None:
        super().__init__()
        require_between("features", features, 1, 100_000)
        require_between("gamma", gamma, 1e-6, 1e6)
        require_between("seed", seed, 0, 2**63)
        self.features = features
        self.gamma = gamma
        self.seed = seed

    def _new_inner(self) -> StreamingClassifier:
        return StreamingLDA(keep=0)  # the embeddings are kept here

    def _features_of(self, embeddings: Matrix) -> Matrix:
        return fourier_features(embeddings, self.features, self.gamma, self.seed)


class NormalisedMahalanobis(OnFeatures):
    """The Mahalanobis distance between normalised embeddings, with one shared covariance.

    Args:
        shrinkage: The weight of the identity in the covariance of embeddings whose entries have a
            mean square of 1.
    """

    def __init__(self, shrinkage: float = 0.1) -> None:
        super().__init__()
        require_between("shrinkage", shrinkage, 1e-9, 1)
        self.shrinkage = shrinkage

    def _new_inner(self) -> StreamingClassifier:
        return StreamingQDA(shared=1, shrinkage=self.shrinkage)

    def _features_of(self, embeddings: Matrix) -> Matrix:
        return math.sqrt(embeddings.shape[-1]) * directions(embeddings)
