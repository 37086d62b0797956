"""The sum of rows^T rows of a dense scatter, shared with the states that a classifier returned.

A large scatter takes most of a state, and one lesson changes all of it. So that a state needs no
copy of it, the sum consists of a matrix that nobody changes while a state refers to it, and of the
rows since. A state consists of the same matrix and the first of these rows: see `StoredSum`.

Rows are added to the matrix in batches. A matrix product of many rows at once is much faster than
one product per row.
"""

import weakref
from typing import Any

import numpy as np

from robocle.blas import one_blas_thread
from robocle.classifiers.own_arrays import OwnArrays
from robocle.classifiers.scatter.symmetric_matrix import SymmetricMatrix
from robocle.classifiers.scatter.triangle import packed_size, square
from robocle.classifiers.state import Matrix, Vector

# Rows per batch: enough for the matrix product to reach its full speed.
BATCH = 128
# With predictions between the samples, they are summed when there are this many: many at once would
# make one lesson wait.
FEW_SAMPLES = 16
# At most so many rows are kept beside a matrix that states refer to: with more, the sum gets one of
# its own. The undo history refers to the sum of up to 150 operations ago.
MOST_BUFFERED = 192
# With more batches than this, rows that are not yet part of the sum are added to it.
MAX_UNSUMMED = 4


class StoredSum:
    """A sum at some moment: a matrix and the rows since. It never changes its value.

    Args:
        matrix: The matrix.
        rows: The rows.
    """

    def __init__(self, matrix: SymmetricMatrix, rows: Matrix) -> None:
        self._parts = matrix, rows

    @property
    def parts(self) -> tuple[SymmetricMatrix, Matrix]:
        """The matrix and the rows."""
        return self._parts

    @property
    def nbytes(self) -> int:
        """The number of bytes that `array` takes."""
        return packed_size(self._parts[0].width) * np.dtype(np.float64).itemsize

    def array(self) -> Vector:
        """Return the lower triangle, column after column."""
        matrix, rows = self._parts
        return (self.summed() if len(rows) else matrix).packed()

    def summed(self) -> SymmetricMatrix:
        """Return the sum as a matrix that the caller may change."""
        matrix, rows = self._parts
        found = matrix.copy()
        if len(rows):
            with one_blas_thread():
                found.add(rows)
        return found

    def rebase(self, matrix: SymmetricMatrix, rows: Matrix) -> None:
        """Refer to another matrix and other rows, with the same sum."""
        self._parts = matrix, rows  # in one assignment, because of interrupts


class ScatterSum(OwnArrays):
    """A sum of rows^T rows, zero at first: a matrix, and the rows in a buffer.

    While a stored sum refers to the matrix, the matrix is replaced instead of changed. Rows that a
    stored sum may have are never overwritten: with the matrix, the buffer is replaced, too.

    Args:
        width: The length of a row.
        rows: The rows to start from, which are summed when needed.
    """

    def __init__(self, width: int, *rows: Matrix) -> None:
        self._matrix = SymmetricMatrix(width)
        self._unsummed = list(rows)
        self._buffer = np.empty((BATCH, width))
        self._buffered = 0
        self._stored: list[weakref.ref[StoredSum]] = []

    @classmethod
    def of(cls, matrix: SymmetricMatrix) -> "ScatterSum":
        """Return a sum that starts from a matrix."""
        found = cls(matrix.width)
        found._matrix = matrix
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy consists of: states do not refer to it."""
        return {**self.__dict__, "_stored": []}

    @property
    def next_row(self) -> Vector:
        """The place in the buffer of the next row, to be filled before `append`."""
        row: Vector = self._buffer[self._buffered]
        return row

    @property
    def _rows(self) -> Matrix:
        """The rows in the buffer, which are never changed."""
        return self._buffer[: self._buffered]

    def append(self) -> None:
        """Count `next_row` as part of the sum."""
        self._buffered += 1
        if self._buffered == len(self._buffer):
            self._make_room()

    def stored(self) -> StoredSum:
        """Return the sum as it is now."""
        self._sum_first_rows()
        found = StoredSum(self._matrix, self._rows)
        self._stored = [weakref.ref(each) for each in (*self._in_use(), found)]
        return found

    def diagonal(self) -> Vector:
        """Return the diagonal of the sum."""
        self._sum_first_rows()
        return np.asarray(self._matrix.diagonal() + np.einsum("ij,ij->j", *2 * [self._rows]))

    def block_squares(self, blocks: int) -> Matrix:
        """Return the squared norm of each of the blocks x blocks equal blocks of the sum."""
        self._sum_first_rows()
        matrix = self.stored().summed() if self._buffered else self._matrix
        return matrix.block_squares(blocks)

    def quadratic(self, rows: Matrix) -> float:
        """Return the sum of r S r over all rows r."""
        self._sum_first_rows()
        return self._matrix.quadratic(rows) + square(rows @ self._rows.T)

    def add_sum(self, other: "ScatterSum") -> None:
        """Add another sum, or this one to itself."""
        added = other.stored()
        self.fold()
        matrix, rows = added.parts
        self._own_matrix().add_matrix(matrix)
        self.add(rows)

    def add(self, rows: Matrix) -> None:
        """Add rows to the sum at once."""
        self.fold()
        with one_blas_thread():
            self._own_matrix().add(rows)

    def fold(self) -> None:
        """Add all rows to the matrix."""
        self._sum_first_rows()
        if self._buffered:
            shared = bool(self._in_use())
            with one_blas_thread():
                self._own_matrix().add(self._rows)
            if shared:  # they have the rows in this buffer, too
                self._buffer = np.empty_like(self._buffer)
            self._buffered = 0

    def fold_own(self) -> None:
        """Add all rows to the matrix, unless a stored sum refers to it."""
        if not self._in_use():
            self.fold()

    def fold_several(self) -> bool:
        """Add rows to the matrix if there are several; return whether this was done.

        Rows that the sum has started from are added first. Then those that every stored sum has
        are, or all of them before there are too many.
        """
        stored = self._in_use()
        first = min((len(each.parts[1]) for each in stored), default=self._buffered)
        if self._unsummed:
            self._sum_first_rows()
        elif first >= FEW_SAMPLES:
            self._fold_first(first, stored)
        elif self._buffered >= MOST_BUFFERED - FEW_SAMPLES:
            self.fold()
        else:
            return False
        return True

    def _fold_first(self, number: int, stored: list[StoredSum]) -> None:
        """Add the first rows to the matrix, also for states, all of which have these rows."""
        matrix = self._matrix.copy() if stored else self._matrix
        with one_blas_thread():
            matrix.add(self._buffer[:number])
        self._matrix = matrix
        self._move_rows(number, stored)

    def _sum_first_rows(self) -> None:
        """Add the rows that the sum has started from to the matrix."""
        if self._unsummed:
            unsummed, self._unsummed = self._unsummed, []
            matrix = self._own_matrix()
            with one_blas_thread():
                for rows in unsummed:
                    matrix.add(rows)

    def _in_use(self) -> list[StoredSum]:
        """Return the stored sums that refer to the matrix and that somebody still has."""
        found = [each() for each in self._stored]
        return [each for each in found if each is not None and each.parts[0] is self._matrix]

    def _own_matrix(self) -> SymmetricMatrix:
        """Return the matrix, to be changed. If a state refers to it, it is a copy."""
        if self._in_use():
            self._matrix = self._matrix.copy()
        self._stored = []
        return self._matrix

    def _move_rows(self, dropped: int, stored: list[StoredSum]) -> None:
        """Continue in another buffer with some room, without the first rows.

        Args:
            dropped: The number of these rows. They are part of the matrix.
            stored: What continues with the matrix and the rows in this buffer.
        """
        rest = self._rows[dropped:]
        self._buffer = np.empty((len(rest) + 2 * FEW_SAMPLES, rest.shape[1]))
        self._buffer[: len(rest)] = rest
        self._buffered = len(rest)
        for each in stored:
            each.rebase(self._matrix, self._buffer[: len(each.parts[1]) - dropped])
        self._stored = [weakref.ref(each) for each in stored]

    def _make_room(self) -> None:
        """Make room in the buffer. What was opened and not yet used is not summed for that."""
        stored = self._in_use()
        if self._buffered < (MOST_BUFFERED if stored else BATCH):
            self._move_rows(0, stored)
        elif self._unsummed and len(self._unsummed) < MAX_UNSUMMED:
            self._unsummed.append(self._rows)
            self._buffer = np.empty((BATCH, self._buffer.shape[1]))
            self._buffered = 0
        else:
            self.fold()
