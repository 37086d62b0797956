"""Ridge: recursive least squares to one-hot targets, on embeddings or on random features of them.

W = (sum f f^T + r I)^-1 sum f y^T, with r = strength * the mean over the entries of sum f^2. With
`features` above 0, f is a random rectified projection of the embedding (McDonnell et al., "RanPAC:
Random projections and pre-trained models for continual learning", 2023, eq. 6-7). With 0, f is the
embedding itself.

The sums are those of SLDA, with samples in place of deviations from the class mean, so the same two
exact forms of the scatter are used.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.blas import one_blas_thread
from robocle.classifiers.random_features import rectified_features
from robocle.classifiers.scatter.class_factors import ClassFactors
from robocle.classifiers.scatter.compressed import CompressedScatter
from robocle.classifiers.scatter.forms import (
    Form,
    array_owners,
    fastest,
    merged,
    rebuilt_scatter,
    restored,
)
from robocle.classifiers.state import Arrays, ClassifierState, Matrix, Ownership, Shared, Vector
from robocle.classifiers.streaming import StreamingClassifier
from robocle.errors import StateError
from robocle.spec import require_between
from robocle.types import Scores


class RidgeRegression(StreamingClassifier):
    """Least squares to one-hot targets with a ridge, on embeddings or on random features.

    Args:
        strength: The ridge, relative to the mean over the entries of their sums of squares.
        features: How many random features are used; 0 uses the embeddings themselves.
        seed: The seed of the random features.
    """

    def __init__(self, strength: float = 1.0, features: int = 0, seed: int = 0) -> None:
        super().__init__()
        require_between("strength", strength, 1e-9, 1e9)
        require_between("features", features, 0, 100_000)
        require_between("seed", seed, 0, 2**63)
        self.strength = strength
        self.features = features
        self.seed = seed
        self._form: Form | None = None
        self._weights: Matrix | None = None

    def _features_of(self, embeddings: Matrix) -> Matrix:
        if not self.features:
            return embeddings
        return rectified_features(embeddings, self.features, self.seed)

    def _add_row(self) -> None:
        if self._form is None:
            factors = ClassFactors(subsample=0)
            width = self.features or self.width or 0
            self._form = CompressedScatter(width, 1, factors, centred=False)
        self._form.add_row()

    def _learn(self, sample: Vector, row: int) -> None:
        assert self._form is not None
        self._form.add(self._features_of(sample), row, weight=1.0, step=1.0)
        self._form = fastest(self._form)
        self._weights = None

    def _scores(self, embeddings: Matrix) -> Scores:
        assert self._form is not None
        with one_blas_thread():
            if self._weights is None:
                energy = float(self._form.traces().sum()) / self._form.width
                ridge = self.strength * energy or 1.0
                self._weights, _ = self._form.solve(1.0, np.array([ridge]))
            scores: Scores = self._features_of(embeddings) @ self._weights.T
        return scores

    @property
    def forgets_exactly(self) -> bool:
        """Whether forgetting a label also subtracts its samples from the sums."""
        return self._form is None or self._form.separable

    def _merge_obstacle(self) -> None:
        return None

    def _merge(self, other: "RidgeRegression", rows: list[int]) -> None:
        assert self._form is not None
        assert other._form is not None
        weights, steps = np.zeros(len(rows)), np.ones(len(rows))
        self._form = merged(self._form, other._form, rows, weights, steps)
        self._weights = None

    def _forget(self, row: int) -> None:
        assert self._form is not None
        self._form.remove_row(row)
        self._weights = None

    def _state(self) -> Arrays:
        form = self._form.state() if self._form else {}
        return form | {"input_width": np.array([self.width or 0], np.int64)}

    def _restore(self, state: ClassifierState) -> int | None:
        width = int(state.copied("input_width", 1)[0])
        self._weights = self._form = None
        if width <= 0:
            if state.labels:
                raise StateError("state has no valid embedding width")
            return None
        self._form = restored(state, 1, ClassFactors(subsample=0), centred=False)
        if self._form.width != (self.features or width):
            raise StateError(
                f"state has features of width {self._form.width}, expected {self.features or width}"
            )
        return width

    def _array_owners(self) -> Mapping[str, Ownership]:
        return {"input_width": Shared(), **array_owners()}

    def rebuilt_array(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any] | None:
        """Return the scatter as the sum of the class factors; None for other arrays."""
        return rebuilt_scatter(name, arrays)
