"""KLDA: linear discriminant analysis on random Fourier features, a Gaussian kernel's worth of bend.

Momeni, Mazumder & Liu, "Continual learning using a kernel-based method over foundation models"
(2025). Embeddings are brought to length 1 first, so that one gamma fits all backbones.
"""

import numpy as np

from robocle.classifiers.random_features import fourier_features
from robocle.classifiers.slda import StreamingLDA
from robocle.classifiers.streaming import (
    Arrays,
    ClassifierState,
    Matrix,
    StreamingClassifier,
    Vector,
)
from robocle.errors import StateError
from robocle.spec import require_between
from robocle.types import Scores


class KernelLDA(StreamingClassifier):
    """Linear discriminant analysis on random Fourier features of the unit vectors."""

    def __init__(self, features: int = 2048, gamma: float = 1.0, seed: int = 0) -> None:
        super().__init__()
        require_between("features", features, 1, 100_000)
        require_between("gamma", gamma, 1e-6, 1e6)
        require_between("seed", seed, 0, 2**63)
        self.features = features
        self.gamma = gamma
        self.seed = seed
        self._inner = StreamingLDA()

    def _bent(self, vectors: Matrix) -> Matrix:
        return fourier_features(vectors, self.features, self.gamma, self.seed)

    def _add_row(self) -> None:
        """The inner classifier makes its own room."""

    def _learn(self, sample: Vector, row: int) -> None:
        self._inner.learn(self._bent(sample), self._labels[row])

    def _scores(self, vectors: Matrix) -> Scores:
        return self._inner.scores(self._bent(vectors))

    def rename(self, label: str, new: str) -> None:
        """Give a label another name that is not taken."""
        super().rename(label, new)
        self._inner.rename(label, new)

    @property
    def forgets_exactly(self) -> bool:
        """Whether a forgotten label takes its share of the covariance with it."""
        return self._inner.forgets_exactly

    def _why_no_merge(self) -> None:
        return None

    def _merge(self, other: "KernelLDA", rows: list[int]) -> None:
        self._inner.merge(other._inner)

    def _forget(self, row: int) -> None:
        self._inner.forget(self._labels[row])

    def _state(self) -> Arrays:
        inner = dict(self._inner.state().arrays)
        del inner["counts"]
        return inner | {"input_width": np.array([self.width or 0], np.int64)}

    def _restore(self, state: ClassifierState) -> int | None:
        self._inner = StreamingLDA()
        self._inner.restore(state)
        if self._inner.width not in (None, self.features):
            raise StateError(f"state has {self._inner.width} random features, not {self.features}")
        width = int(state.take("input_width", 1)[0])
        if (width > 0) != bool(self._inner.width):
            raise StateError("state does not say how wide its vectors are")
        return width or None
