"""The softmax function, and a linear softmax layer trained by SGD.

`scipy.special.softmax` computes the same, but importing `scipy.special` takes longer than importing
all of robocle.

The layer gains a row with each new label, or it has one row per class from the start. Rows that
belong to no label yet come last. They take part in every step, which lowers their logits before
their label is taught.

Momentum and weight decay are defined as in PyTorch: g = gradient + decay w, u = momentum u + g,
w = w - rate u. New rows are drawn from a keyed generator, so the same stream always results in the
same weights.
"""

import numpy as np
from numpy.typing import NDArray

from robocle._internal.blas import blas, one_blas_thread
from robocle._internal.randomness import keyed_rng
from robocle.classifiers.samples import Matrix

MOMENTUM = 0.9
DECAY = 1e-5
INITIAL_DEVIATION = 0.01  # standard deviation of the weights of a new row


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the softmax along the last axis.

    Args:
        logits: An array of any shape; the last axis may be empty.

    Returns:
        An array of the same shape. Entries along the last axis are not negative and sum to 1.

    >>> softmax(np.array([[0.0, 0.0], [1000.0, 0.0]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True, initial=-np.inf))
    probabilities: NDArray[np.float64] = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return probabilities


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
