"""A linear softmax layer trained by SGD.

It gains a row with each new label, or it has one row per class from the start. Rows that belong to
no label yet come last. They take part in every step, which lowers their logits before their label
is taught.

Momentum and weight decay are defined as in PyTorch: g = gradient + decay w, u = momentum u + g,
w = w - rate u. New rows are drawn from a keyed generator, so the same stream always results in the
same weights.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from robocle.blas import one_blas_thread
from robocle.classifiers.softmax import softmax
from robocle.classifiers.state import Arrays, ClassifierState, Matrix
from robocle.randomness import keyed_rng

MOMENTUM = 0.9
DECAY = 1e-5
INITIAL_DEVIATION = 0.01  # standard deviation of the weights of a new row


class SoftmaxLayer:
    """Weights, biases and their momenta; the last column is the bias."""

    def __init__(self, rate: float, seed: int) -> None:
        self._rate = rate
        self._seed = seed
        self._drawn = 0
        self._weights: Matrix = np.empty((0, 0))
        self._momenta: Matrix = np.empty((0, 0))

    @property
    def rows(self) -> int:
        """The number of classes that the softmax covers."""
        return len(self._weights)

    def add_rows(self, count: int, width: int) -> None:
        """Add classes with small random weights, zero biases and zero momenta."""
        weights = np.zeros((count, width + 1))
        for row in weights:
            rng = keyed_rng(self._seed, "softmax row", self._drawn)
            row[:-1] = rng.normal(0, INITIAL_DEVIATION, width)
            self._drawn += 1
        self._weights = np.vstack([self._weights.reshape(-1, width + 1), weights])
        self._momenta = np.vstack([self._momenta.reshape(-1, width + 1), np.zeros_like(weights)])

    def remove_row(self, row: int) -> None:
        """Remove a class."""
        self._weights = np.delete(self._weights, row, axis=0)
        self._momenta = np.delete(self._momenta, row, axis=0)

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

    def state(self) -> Arrays:
        """Return copies of the arrays of this layer."""
        return {
            "weights": self._weights.copy(),
            "momenta": self._momenta.copy(),
            "drawn": np.array([self._drawn], np.int64),
        }

    def restore(self, state: ClassifierState, rows: int) -> int | None:
        """Replace the arrays with those of a state with this many rows, and return the width."""
        # The in-place updates need rows that are contiguous in memory.
        self._weights = np.ascontiguousarray(state.copied("weights", rows, None))
        self._momenta = np.ascontiguousarray(state.copied("momenta", *self._weights.shape))
        self._drawn = int(state.copied("drawn", 1)[0])
        return max(self._weights.shape[1] - 1, 0) or None
