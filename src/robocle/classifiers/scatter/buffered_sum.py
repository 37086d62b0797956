"""The sum of rows^T rows, in the lower triangle of one array. New rows are added in batches.

A matrix product of many rows at once is much faster than one product per row.
"""

import numpy as np

from robocle.blas import blas, one_blas_thread
from robocle.classifiers.state import Matrix, Vector

# Rows per batch: enough for the matrix product to reach its full speed.
BATCH = 128
# With predictions between the samples, they are summed when there are this many: many at once would
# make one lesson wait.
FEW_SAMPLES = 16
# With more batches than this, rows that are not yet part of the sum are added to it.
MAX_UNSUMMED = 4


class BufferedSum:
    """A sum of rows^T rows, and the rows that are not yet part of it.

    Args:
        width: The length of a row.
        rows: The rows to start from, which are summed when needed.
    """

    def __init__(self, width: int, *rows: Matrix) -> None:
        self.array = np.zeros((width, width), order="F")
        """The sum in the lower triangle, without the rows that are not yet part of it. The upper
        triangle is free for other use."""
        self._unsummed = list(rows)
        self._buffer = np.empty((BATCH, width))
        self._buffered = 0

    @property
    def next_row(self) -> Vector:
        """The place in the buffer of the next row, to be filled before `append`."""
        row: Vector = self._buffer[self._buffered]
        return row

    @property
    def buffered(self) -> Matrix:
        """The rows in the buffer."""
        return self._buffer[: self._buffered]

    def append(self) -> None:
        """Count `next_row` as part of the sum."""
        self._buffered += 1
        if self._buffered == len(self._buffer):
            self._empty_buffer()

    def restart(self, rows: Matrix) -> None:
        """Continue from these rows alone, in the same array."""
        self._buffered = 0
        self.array[:] = 0
        self._unsummed = [rows]

    def add(self, rows: Matrix) -> None:
        """Add rows to the sum at once."""
        with one_blas_thread():
            blas.dsyrk(1.0, rows.T, beta=1.0, c=self.array, lower=1, overwrite_c=1)

    def fold(self) -> None:
        """Add all rows that are not yet part of the sum."""
        for rows in self._unsummed:
            self.add(rows)
        self._unsummed = []
        if self._buffered:
            self.add(self.buffered)
            self._buffered = 0

    def fold_several(self) -> None:
        """Add the buffered rows if there are several, and keep the buffer small from now on."""
        if self._buffered >= FEW_SAMPLES:
            self.fold()
            self._buffer = self._buffer[: 2 * FEW_SAMPLES].copy()

    def _empty_buffer(self) -> None:
        """Make room in the buffer. What was opened and not yet used is not summed for that."""
        if self._buffered < BATCH:
            self._buffer = np.resize(self._buffer, (BATCH, self._buffer.shape[1]))
        elif self._unsummed and len(self._unsummed) < MAX_UNSUMMED:
            self._unsummed.append(self.buffered.copy())
            self._buffered = 0
        else:
            self.fold()
