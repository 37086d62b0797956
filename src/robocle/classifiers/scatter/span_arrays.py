"""Basis, class means and scatter in coordinates of a growing span, with spare capacity.

Arrays that grew with each sample would be copied for each sample. These arrays have spare capacity.
When they are full, they are copied to arrays that are larger by half.
"""

import numpy as np

from robocle.blas import blas, one_blas_thread
from robocle.classifiers.own_arrays import OwnArrays
from robocle.classifiers.scatter.orthonormal import directions
from robocle.classifiers.state import Matrix

MIN_ROOM = 64


class SpanArrays(OwnArrays):
    """An orthonormal basis (rank, width), and class means and a scatter in its coordinates."""

    def __init__(self, basis: Matrix, means: Matrix, scatter: Matrix) -> None:
        self.rank = len(basis)
        self._basis = basis
        self._means = means
        self._scatter = scatter

    @property
    def basis(self) -> Matrix:
        """The basis, (rank, width)."""
        return self._basis[: self.rank]

    @property
    def means(self) -> Matrix:
        """The class means, (classes, rank). Changes in place are kept."""
        return self._means[:, : self.rank]

    @property
    def scatter(self) -> Matrix:
        """The scatter, (rank, rank). Changes in place are kept."""
        return self._scatter[: self.rank, : self.rank]

    def add_mean(self) -> None:
        """Add a class whose mean is zero."""
        self._means = np.vstack([self._means, np.zeros(self._means.shape[1])])

    def remove_mean(self, row: int) -> None:
        """Remove the mean of a class."""
        self._means = np.delete(self._means, row, axis=0)

    def extend(self, directions: Matrix) -> None:
        """Add orthonormal directions to the basis; means and scatter are zero in them."""
        grown = self.rank + len(directions)
        if grown > len(self._basis):
            self._enlarge(max(grown, MIN_ROOM, 3 * self.rank // 2))
        self._basis[self.rank : grown] = directions
        self.rank = grown

    def coordinates_of(self, samples: Matrix) -> Matrix:
        """Return the coordinates of samples, after extending the basis by missing directions."""
        basis = self.basis
        known = samples @ basis.T
        rest = samples - known @ basis
        again = rest @ basis.T  # removes the rounding error of the first pass (Kahan)
        rest -= again @ basis
        fresh = directions(rest, np.linalg.norm(samples, axis=1), basis)
        self.extend(fresh)
        return np.hstack([known + again, rest @ fresh.T])

    def scatter_rows(self) -> Matrix:
        """Return R with S = R^T R: |S_r|^1/2 Q, half the work of the product Q^T S_r Q."""
        with one_blas_thread():
            values, vectors = np.linalg.eigh(self.scatter)
        rows: Matrix = np.sqrt(np.maximum(values, 0))[:, None] * (vectors.T @ self.basis)
        return rows

    def regularised(self, share: float, ridge: float) -> Matrix:
        """Return share S + ridge I, (rank, rank)."""
        matrix = share * self.scatter
        matrix[np.diag_indices(self.rank)] += ridge
        return matrix

    def add_to_scatter(self, rows: Matrix) -> None:
        """Add rows^T rows to the scatter."""
        if not self.rank:
            return  # all samples are zero
        if len(rows) > 1:
            self.scatter[:] += rows.T @ rows
            return
        row = np.zeros(len(self._scatter))
        row[: self.rank] = rows[0]
        # BLAS sees the transposed array, which has Fortran's order, and changes it in place.
        blas.dger(1.0, row, row, a=self._scatter.T, overwrite_a=1)

    def rotated(self, rows: Matrix, scatter: Matrix) -> "SpanArrays":
        """Return the same means in another basis, with a given scatter.

        Args:
            rows: The basis, as orthonormal rows in the coordinates of this one.
            scatter: The scatter in the coordinates of the new basis.
        """
        return SpanArrays(rows @ self.basis, self.means @ rows.T, scatter)

    def _enlarge(self, size: int) -> None:
        basis, means, scatter = self.basis, self.means, self.scatter
        self._basis = np.empty((size, basis.shape[1]))
        self._basis[: self.rank] = basis
        self._means = np.zeros((len(means), size))
        self._means[:, : self.rank] = means
        self._scatter = np.zeros((size, size))
        self._scatter[: self.rank, : self.rank] = scatter
