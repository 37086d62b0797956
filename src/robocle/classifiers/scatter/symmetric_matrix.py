"""A symmetric matrix in half the memory of a square, in a layout that BLAS can work on.

It is divided into blocks of equal width, and two arrays in Fortran's order hold them:

    [ A    B ]        corner: the lower triangle of A, and the upper triangle of C
    [ B^T  C ]        off_diagonal: B

The triangles of A and C share the diagonal of `corner`. It is that of A; C's is kept separately. An
odd width is padded with a row and a column of zeros.
"""

import copy
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from robocle.blas import blas
from robocle.classifiers.own_arrays import OwnArrays
from robocle.classifiers.scatter.triangle import packed_size, symmetric_square
from robocle.classifiers.state import Matrix, Vector

# Columns of the lower triangle are read and written in panels of this many.
PANEL = 64
# Fewer rows than this are multiplied by a symmetric matrix one by one.
FEW_ROWS = 8


class SymmetricMatrix(OwnArrays):
    """A symmetric matrix, zero at first.

    Args:
        width: The number of rows and columns.

    >>> matrix = SymmetricMatrix(3)
    >>> matrix.add(np.array([[1.0, 2.0, 3.0]]))
    >>> matrix.packed().tolist()
    [1.0, 2.0, 3.0, 4.0, 6.0, 9.0]
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.half = (width + 1) // 2
        self._whole = np.zeros((self.half, 2 * self.half), order="F")
        self.last_diagonal = np.zeros(self.half)
        """The diagonal of the last block."""

    @property
    def corner(self) -> Matrix:
        """The triangles of the blocks on the diagonal."""
        return self._whole[:, : self.half]

    @property
    def off_diagonal(self) -> Matrix:
        """The block beside the diagonal."""
        return self._whole[:, self.half :]

    @property
    def shared_diagonal(self) -> Vector:
        """The diagonal of `corner`, as a view."""
        view: Vector = self.corner.reshape(-1, order="F")[:: self.half + 1]
        return view

    @classmethod
    def unpacked(cls, triangle: NDArray[np.floating], width: int) -> "SymmetricMatrix":
        """Return the matrix with a packed lower triangle; see `packed`."""
        matrix = cls(width)
        start = 0
        for first, last in matrix._panels():
            panel = np.zeros((width - first, last - first))
            for column in range(last - first):
                end = start + width - first - column
                panel[column:, column] = triangle[start:end]
                start = end
            matrix._write_panel(first, last, panel)
        return matrix

    def copy(self) -> "SymmetricMatrix":
        """Return a copy."""
        copied = copy.copy(self)
        copied._whole = self._whole.copy(order="F")
        copied.last_diagonal = self.last_diagonal.copy()
        return copied

    def packed(self) -> Vector:
        """Return the lower triangle, column after column."""
        found = np.empty(packed_size(self.width))
        start = 0
        for first, last in self._panels():
            panel = self.panel(first, last)
            for column in range(last - first):
                end = start + self.width - first - column
                found[start:end] = panel[column:, column]
                start = end
        return found

    def diagonal(self) -> Vector:
        """Return a copy of the diagonal."""
        return np.concatenate([self.shared_diagonal, self.last_diagonal])[: self.width]

    def _halves(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Return the columns of rows that belong to the first and to the last block."""
        first, last = np.ascontiguousarray(rows[:, : self.half]), rows[:, self.half :]
        if self.width % 2:
            return first, np.pad(last, ((0, 0), (0, 1)))
        return first, np.ascontiguousarray(last)

    def add(self, rows: Matrix) -> None:
        """Add rows^T rows."""
        first, last = self._halves(rows)
        blas.dsyrk(1.0, first.T, beta=1.0, c=self.corner, lower=1, overwrite_c=1)
        diagonal = self.shared_diagonal.copy()
        self.shared_diagonal[:] = self.last_diagonal  # the next product adds to that of the last
        blas.dsyrk(1.0, last.T, beta=1.0, c=self.corner, lower=0, overwrite_c=1)
        self.last_diagonal[:] = self.shared_diagonal
        self.shared_diagonal[:] = diagonal
        blas.dgemm(1.0, first.T, last.T, trans_b=1, beta=1.0, c=self.off_diagonal, overwrite_c=1)

    def add_matrix(self, other: "SymmetricMatrix") -> None:
        """Add another matrix of the same width."""
        self._whole += other._whole
        self.last_diagonal += other.last_diagonal

    def quadratic(self, rows: Matrix) -> float:
        """Return the sum of r M r over all rows r."""
        first, last = self._halves(rows)
        # With the diagonal of the first block in place of its own, and corrected for that.
        difference = self.last_diagonal - self.shared_diagonal
        corrected = float((last**2).sum(axis=0) @ difference)
        across = float(np.vdot(first @ self.off_diagonal, last))
        return self._products(first, 1) + self._products(last, 0) + corrected + 2 * across

    def _products(self, rows: Matrix, lower: int) -> float:
        if len(rows) < FEW_ROWS:  # one product each is faster
            each = (row @ blas.dsymv(1.0, self.corner, row, lower=lower) for row in rows)
            return float(sum(each))
        return float(np.vdot(rows.T, blas.dsymm(1.0, self.corner, rows.T, lower=lower)))

    def block_squares(self, blocks: int) -> Matrix:
        """Return the squared norm of each of the blocks x blocks equal blocks."""
        size = self.width // blocks
        squares = np.zeros((blocks, blocks))
        for first, last in self._panels(size):
            panel, own = self.panel(first, last), first // size
            inside = (own + 1) * size - first
            squares[own, own] += symmetric_square(panel[:inside])
            below = (panel[inside:] ** 2).reshape(-1, size, last - first).sum(axis=(1, 2))
            squares[own, own + 1 :] += below
            squares[own + 1 :, own] += below
        return squares

    def panel(self, first: int, last: int) -> Matrix:
        """Return some columns of the lower triangle, from their first row on the diagonal on.

        All of them must be in one half. Above the diagonal, the values have no meaning.
        """
        if first < self.half:
            below = self.off_diagonal[first:last, : self.width - self.half].T
            return np.vstack([self.corner[first:, first:last], below])
        start, end, width = first - self.half, last - self.half, self.width - self.half
        panel = self.corner[start:end, start:width].T.copy()
        np.fill_diagonal(panel, self.last_diagonal[start:end])
        return panel

    def _write_panel(self, first: int, last: int, panel: Matrix) -> None:
        """Replace some columns of the lower triangle; see `panel`."""
        if first < self.half:
            inside = self.half - first
            self._write_tile(self.corner[first:, first:last], panel[:inside])
            self.off_diagonal[first:last, : self.width - self.half] = panel[inside:].T
            return
        start, end, width = first - self.half, last - self.half, self.width - self.half
        diagonal = self.shared_diagonal.copy()
        self._write_tile(self.corner[start:end, start:width].T, panel)
        self.shared_diagonal[:] = diagonal
        self.last_diagonal[start:end] = np.diagonal(panel)

    @staticmethod
    def _write_tile(place: Matrix, panel: Matrix) -> None:
        """Write columns of a lower triangle, and leave what is above the diagonal as it is."""
        columns = place.shape[1]
        other = np.triu(place[:columns], 1)
        place[:] = panel
        place[:columns] = np.tril(panel[:columns]) + other

    def _panels(self, size: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield the first column of each panel, and the one after its last.

        Args:
            size: If given, no panel extends across a multiple of it.
        """
        size = size or self.width
        edges = {*range(0, self.width, size), self.half, self.width}
        for start, end in pairwise(sorted(edges)):
            for first in range(start, end, PANEL):
                yield first, min(first + PANEL, end)
