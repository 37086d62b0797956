"""FT: fine-tuning of a linear softmax layer. It forgets, and is the paper's lower bound.

The paper's base code knows the number of classes, and its softmax covers all of them from the first
step on: `classes=40`. A learner does not know it, and its softmax grows with the labels:
`classes=growing`. Taught class by class, their accuracies differ by more than ten points. Rows that
belong to no label yet come last. They take part in every step, which lowers their logits before
their label is taught.

Momentum and weight decay are defined as in PyTorch: g = gradient + decay w, u = momentum u + g,
w = w - rate u. New rows are drawn from a keyed generator, so the same stream always results in the
same weights.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from robocle._internal.blas import blas, one_blas_thread
from robocle._internal.randomness import keyed_rng
from robocle._internal.wording import plural
from robocle.classifiers.samples import Matrix, Vector
from robocle.classifiers.streaming import StreamingClassifier, softmax
from robocle.errors import LabelError
from robocle.spec import require_between, require_choice, require_whole
from robocle.types import Scores

MOMENTUM = 0.9
DECAY = 1e-5
INITIAL_DEVIATION = 0.01  # standard deviation of the weights of a new row

Classes = int | Literal["growing"]
"""The number of classes that a softmax covers from the start, or `growing` with the labels."""


class FineTuning(StreamingClassifier):
    """A linear softmax layer, one SGD step per sample; nothing prevents catastrophic forgetting.

    Args:
        rate: The learning rate.
        seed: The seed of the initial weights.
        classes: The number of classes that the softmax covers from the start, or `growing`: those
            taught so far. An experiment sets it from its data set.
    """

    def __init__(self, rate: float = 0.001, seed: int = 0, classes: Classes = "growing") -> None:
        super().__init__()
        require_between("rate", rate, 1e-9, 1e3)
        require_between("seed", seed, 0, 2**63)
        if isinstance(classes, str):
            require_choice("classes", classes, ("growing",))
        else:
            require_whole("classes", classes, 1, 1_000_000)
        self.rate = rate
        self.seed = seed
        self.classes = classes

    def require_room(self, labels: Sequence[str]) -> None:
        """Raise LabelError if there are more labels than classes."""
        if not isinstance(self.classes, str) and len(labels) > self.classes:
            raise LabelError(
                f"cannot teach {labels[self.classes]!r}: with classes={self.classes} there are at "
                f"most {plural(self.classes, 'label')}; give more classes, or classes=growing",
                labels[self.classes],
            )

    def _reset(self) -> None:
        self._layer = SoftmaxLayer(self.width or 0, self.rate, self.seed)
        if not isinstance(self.classes, str):
            self._layer.add_rows(self.classes)

    def _add_row(self) -> None:
        if isinstance(self.classes, str):
            self._layer.add_rows(1)

    def _learn(self, sample: Vector, row: int) -> None:
        self._layer.step(np.append(sample, 1.0)[None], np.array([row]))

    def _scores(self, embeddings: Matrix) -> Scores:
        return self._layer.logits(embeddings)[:, : len(self._labels)]


class SoftmaxLayer:
    """Weights, biases and their momenta; the last column is the bias."""

    def __init__(self, width: int, rate: float, seed: int) -> None:
        self._rate = rate
        self._seed = seed
        self._weights: Matrix = np.empty((0, width + 1))
        self._momenta: Matrix = np.empty((0, width + 1))

    def add_rows(self, count: int) -> None:
        """Add classes with small random weights, zero biases and zero momenta."""
        classes, columns = self._weights.shape
        rows = np.zeros((count, columns))
        for number, row in enumerate(rows, start=classes):
            rng = keyed_rng(self._seed, "softmax row", number)
            row[:-1] = rng.normal(0, INITIAL_DEVIATION, columns - 1)
        self._weights = np.vstack([self._weights, rows])
        self._momenta = np.vstack([self._momenta, np.zeros_like(rows)])

    def step(self, batch: Matrix, rows: NDArray[np.int64]) -> None:
        """Take one gradient step on the mean cross-entropy of a batch.

        Args:
            batch: Embeddings with a 1 appended, (n, width + 1).
            rows: The class of each embedding, (n,).
        """
        with one_blas_thread():
            errors = softmax(batch @ self._weights.T) / len(rows)
            errors[np.arange(len(rows)), rows] -= 1 / len(rows)
            self._descend(batch, errors)

    def _descend(self, batch: Matrix, errors: Matrix) -> None:
        """Update in place with BLAS: allocating arrays of this size takes longer than adding."""
        weights, momenta = self._weights.ravel(), self._momenta.ravel()
        blas.dgemm(
            1.0, batch.T, errors.T, beta=MOMENTUM, c=self._momenta.T, trans_b=1, overwrite_c=1
        )
        blas.daxpy(weights, momenta, a=DECAY)
        blas.daxpy(momenta, weights, a=-self._rate)

    def logits(self, embeddings: Matrix) -> Matrix:
        """Return the scores of embeddings, (n, classes)."""
        scores: Matrix = embeddings @ self._weights[:, :-1].T + self._weights[:, -1]
        return scores
