"""Ridge: recursive least squares to one-hot targets, on the vectors or on random features of them.

W = (sum f f^T + r I)^-1 sum f y^T, with r = strength * the mean energy of an entry. With
`features` the vectors are first spread by a random rectified projection (McDonnell et al.,
"RanPAC: Random projections and pre-trained models for continual learning", 2023, eq. 6-7); 0 uses
them plainly.

The sums are SLDA's, with deviations from zero instead of the class mean, so its two exact forms and
their switch serve here as they are.
"""

import numpy as np

from robocle.blas import one_blas_thread
from robocle.classifiers.random_features import rectified_features
from robocle.classifiers.scatter.class_factors import ClassFactors
from robocle.classifiers.scatter.compressed import CompressedScatter
from robocle.classifiers.scatter.dense import DenseScatter
from robocle.classifiers.scatter.forms import Form, fitting, merged
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


class RidgeRegression(StreamingClassifier):
    """Least squares to one-hot targets with a ridge, on the vectors or on random features."""

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

    def _spread(self, vectors: Matrix) -> Matrix:
        if not self.features:
            return vectors
        return rectified_features(vectors, self.features, self.seed)

    def _add_row(self) -> None:
        if self._form is None:
            parts = ClassFactors(sampled=0)
            width = self.features or self.width or 0
            self._form = CompressedScatter(width, 1, parts, centred=False)
        self._form.add_row()

    def _learn(self, sample: Vector, row: int) -> None:
        assert self._form is not None
        self._form.add(self._spread(sample), row, weight=1.0, step=1.0)
        self._form = fitting(self._form)
        self._weights = None

    def _scores(self, vectors: Matrix) -> Scores:
        assert self._form is not None
        with one_blas_thread():
            if self._weights is None:
                energy = float(self._form.traces().sum()) / self._form.width
                ridge = self.strength * energy or 1.0
                self._weights, _ = self._form.solve(1.0, np.array([ridge]))
            scores: Scores = self._spread(vectors) @ self._weights.T
        return scores

    @property
    def forgets_exactly(self) -> bool:
        """Whether a forgotten label's samples leave the sums, too."""
        return self._form is None or self._form.separable

    def _why_no_merge(self) -> None:
        return None

    def _merge(self, other: "RidgeRegression", rows: list[int]) -> None:
        assert self._form is not None
        assert other._form is not None
        still, whole = np.zeros(len(rows)), np.ones(len(rows))
        self._form = merged(self._form, other._form, rows, still, whole)
        self._weights = None

    def _forget(self, row: int) -> None:
        """The class's target goes, and its samples' products where they are known."""
        assert self._form is not None
        self._form.remove_row(row)
        self._weights = None

    def _state(self) -> Arrays:
        form = self._form.state() if self._form else {}
        return form | {"input_width": np.array([self.width or 0], np.int64)}

    def _restore(self, state: ClassifierState) -> int | None:
        width = int(state.take("input_width", 1)[0])
        self._weights = self._form = None
        if width <= 0:
            if state.labels:
                raise StateError("state does not say how wide its vectors are")
            return None
        kind = DenseScatter if "means" in state.arrays else CompressedScatter
        parts = ClassFactors(sampled=0)
        self._form = kind.restored(state, "", self.features or width, 1, parts, centred=False)
        return width
