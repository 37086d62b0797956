"""Gram matrices of the blocks of a growing basis."""

import numpy as np

from robocle.classifiers.state import Matrix


class BlockGrams:
    """Q_b Q_b^T for the columns of each block b of a basis Q; only new rows are multiplied."""

    def __init__(self, blocks: int) -> None:
        self._grams = np.zeros((blocks, 0, 0))

    def of(self, basis: Matrix) -> Matrix:
        """Return the Gram matrices (blocks, rank, rank) of a basis that has only gained rows."""
        blocks, known, _ = self._grams.shape
        rank = len(basis)
        if known < rank:
            columns = basis.reshape(rank, blocks, -1).transpose(1, 0, 2)
            grams = np.empty((blocks, rank, rank))
            grams[:, :known, :known] = self._grams
            grams[:, known:] = columns[:, known:] @ columns.transpose(0, 2, 1)
            grams[:, :known, known:] = grams[:, known:, :known].transpose(0, 2, 1)
            self._grams = grams
        return self._grams
