"""KLDA: linear discriminant analysis on random Fourier features, which approximates kernel LDA.

Momeni, Mazumder & Liu, "Continual learning using a kernel-based method over foundation models"
(2025). Embeddings are normalised to length 1 first, so that one gamma suits all backbones.
"""

from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.shared import fourier_features
from robocle.classifiers.slda import StreamingLDA
from robocle.classifiers.streaming import StreamingClassifier
from robocle.spec import require_between
from robocle.types import Scores


class KernelLDA(StreamingClassifier):
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

    def _reset(self) -> None:
        self._inner = StreamingLDA(keep=0)  # the embeddings are kept here

    def _add_row(self) -> None:
        """Do nothing: the inner classifier adds its own row."""

    def _learn(self, sample: Vector, row: int) -> None:
        self._inner.learn(self._features_of(sample), str(row))  # labels may be renamed, rows not

    def _features_of(self, embeddings: Matrix) -> Matrix:
        return fourier_features(embeddings, self.features, self.gamma, self.seed)

    def _scores(self, embeddings: Matrix) -> Scores:
        return self._inner.scores(self._features_of(embeddings))
