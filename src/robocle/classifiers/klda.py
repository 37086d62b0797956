"""KLDA: linear discriminant analysis on random Fourier features, which approximates kernel LDA.

Momeni, Mazumder & Liu, "Continual learning using a kernel-based method over foundation models"
(2025). Embeddings are normalised to length 1 first, so that one gamma suits all backbones.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.random_features import fourier_features
from robocle.classifiers.slda import StreamingLDA
from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Ownership, Shared, Vector
from robocle.classifiers.streaming import StreamingClassifier
from robocle.errors import StateError
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
        self._inner = StreamingLDA()

    def _features_of(self, embeddings: Matrix) -> Matrix:
        return fourier_features(embeddings, self.features, self.gamma, self.seed)

    def _add_row(self) -> None:
        """Do nothing: the inner classifier adds its own row."""

    def _learn(self, sample: Vector, row: int) -> None:
        self._inner.learn(self._features_of(sample), self._labels[row])

    def _scores(self, embeddings: Matrix) -> Scores:
        return self._inner.scores(self._features_of(embeddings))

    def rename(self, label: str, new: str) -> None:
        """Give a label another name; see `StreamingClassifier.rename`."""
        super().rename(label, new)
        self._inner.rename(label, new)

    @property
    def forgets_exactly(self) -> bool:
        """Whether forgetting a label also removes its contribution to the covariance."""
        return self._inner.forgets_exactly

    def _merge_obstacle(self) -> None:
        return None

    def _merge(self, other: "KernelLDA", rows: list[int]) -> None:
        self._inner.merge(other._inner)

    def _forget(self, row: int) -> None:
        self._inner.forget(self._labels[row])

    def _state(self) -> Arrays:
        inner: Arrays = dict(self._inner.state().arrays)
        del inner["counts"]
        return inner | {"input_width": np.array([self.width or 0], np.int64)}

    def _restore(self, state: ClassifierState) -> int | None:
        self._inner = StreamingLDA()
        self._inner.restore(state)
        if self._inner.width not in (None, self.features):
            raise StateError(f"state has {self._inner.width} random features, not {self.features}")
        width = int(state.copied("input_width", 1)[0])
        if (width > 0) != bool(self._inner.width):
            raise StateError("state has no valid embedding width")
        return width or None

    def _array_owners(self) -> Mapping[str, Ownership]:
        return {**self._inner.array_owners(), "input_width": Shared()}

    def rebuilt_array(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any] | None:
        """Return a scatter as the sum of the class factors; None for other arrays."""
        return self._inner.rebuilt_array(name, arrays)
