"""A linear softmax layer learnt by gradient steps, its rows growing with the labels.

SGD with momentum and weight decay as PyTorch defines it: g = gradient + decay w,
u = momentum u + g, w = w - rate u. New rows are drawn by a key, so a stream always gives the same.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from robocle.blas import one_blas_thread
from robocle.classifiers.softmax import softmax
from robocle.classifiers.streaming import Arrays, ClassifierState, Matrix, appended
from robocle.randomness import keyed_rng

MOMENTUM = 0.9
DECAY = 1e-5
FIRST_DEVIATION = 0.01


class SoftmaxLayer:
    """Weights, biases and their momenta; the last column is the bias."""

    def __init__(self, rate: float, seed: int) -> None:
        self._rate = rate
        self._seed = seed
        self._drawn = 0
        self._weights: Matrix = np.empty((0, 0))
        self._momenta: Matrix = np.empty((0, 0))

    def add_row(self, width: int) -> None:
        """A new class: small random weights, no bias, no momentum."""
        rng = keyed_rng(self._seed, "softmax row", self._drawn)
        weights = np.append(rng.normal(0, FIRST_DEVIATION, width), 0.0)
        self._weights = appended(self._weights, weights)
        self._momenta = appended(self._momenta, np.zeros(width + 1))
        self._drawn += 1

    def remove_row(self, row: int) -> None:
        """Drop a class."""
        self._weights = np.delete(self._weights, row, axis=0)
        self._momenta = np.delete(self._momenta, row, axis=0)

    def step(self, batch: Matrix, rows: NDArray[np.int64]) -> None:
        """One step down the mean cross-entropy of a batch of vectors with a 1 at their ends."""
        with one_blas_thread():
            errors = softmax(batch @ self._weights.T) / len(rows)
            errors[np.arange(len(rows)), rows] -= 1 / len(rows)
            self._descend(batch, errors)

    def _descend(self, batch: Matrix, errors: Matrix) -> None:
        """In place, by BLAS: to allocate an array of the weights' size takes longer than to add."""
        weights, momenta = self._weights.ravel(), self._momenta.ravel()
        blas.dgemm(
            1.0, batch.T, errors.T, beta=MOMENTUM, c=self._momenta.T, trans_b=1, overwrite_c=1
        )
        blas.daxpy(weights, momenta, a=DECAY)
        blas.daxpy(momenta, weights, a=-self._rate)

    def logits(self, vectors: Matrix) -> Matrix:
        """The scores of vectors."""
        scores: Matrix = vectors @ self._weights[:, :-1].T + self._weights[:, -1]
        return scores

    def state(self) -> Arrays:
        """The arrays of this layer."""
        return {
            "weights": self._weights.copy(),
            "momenta": self._momenta.copy(),
            "drawn": np.array([self._drawn], np.int64),
        }

    def restore(self, state: ClassifierState) -> int | None:
        """Take over a layer's arrays; gives the width."""
        # Row by row in memory, or the steps in place would go astray.
        self._weights = np.ascontiguousarray(state.take("weights", len(state.labels), None))
        self._momenta = np.ascontiguousarray(state.take("momenta", *self._weights.shape))
        self._drawn = int(state.take("drawn", 1)[0])
        return max(self._weights.shape[1] - 1, 0) or None
