"""Products of given rows with all class means, which follow the solutions of all blocks."""

import numpy as np

from robocle.blas import blas
from robocle.classifiers.scatter.followed_solution import Update
from robocle.classifiers.scatter.growing_table import capacity
from robocle.classifiers.state import Matrix, Vector


class ProductTable:
    """Products x A m_j of rows x: (blocks, rows, columns).

    Columns are those of `FollowedSolution`: the class means, then the fixed row, if there is one.

    Args:
        values: The products to start from. They are copied.
        fixed: The number of fixed rows.
    """

    def __init__(self, values: Matrix, fixed: int) -> None:
        blocks, rows, columns = values.shape
        self._columns: int = columns
        self._fixed = fixed
        self._array = np.zeros((blocks, rows, capacity(self._columns)))
        self.values[:] = values

    @property
    def values(self) -> Matrix:
        """The products, as a view."""
        return self._array[:, :, : self._columns]

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self._columns

    def whole_rows(self) -> Matrix:
        """Return all rows of all blocks, with columns that are not used yet, as a view."""
        return self._array.reshape(-1, self._array.shape[2])

    def divided(self, size: int) -> Matrix:
        """Return the products as a view with so many rows in each group of rows."""
        blocks, rows, width = self._array.shape
        return self._array.reshape(blocks, rows // size, size, width)[..., : self._columns]

    def with_rows(self, rows: int) -> "ProductTable":
        """Return a table with as many rows; those that are new are zero."""
        blocks, known, columns = self.values.shape
        values = np.zeros((blocks, rows, columns))
        values[:, :known] = self.values
        return ProductTable(values, self._fixed)

    def follow(self, block: int, update: Update, products: Vector) -> None:
        """Follow a sample in one block.

        Args:
            block: The block.
            update: The sample.
            products: The products x u of all rows, with the direction u of the sample.
        """
        self.fit(len(update.products))
        array = self._array[block]
        if update.gain and array.size:
            across = np.zeros(array.shape[1])
            across[: self._columns] = update.products
            # BLAS sees the transposed array, which has Fortran's order, and changes it in place.
            blas.dger(-update.gain, across, products, a=array.T, overwrite_a=1)
        array[:, update.column] += update.moved * products

    def replace(self, block: int, values: Matrix) -> None:
        """Replace the products in one block."""
        self.fit(values.shape[1])
        self.values[block] = values

    def weighted(self, weights: Vector) -> Matrix:
        """Return the sum of all blocks with these weights: (rows, columns)."""
        return np.tensordot(weights, self._array, axes=1)[:, : self._columns]

    def fit(self, columns: int) -> None:
        """Add columns of zeros, for new classes, until there are as many."""
        while self._columns < columns:
            if self._columns == self._array.shape[2]:
                self._array = ProductTable(self.values, self._fixed)._array
            end = self._columns
            start = end - self._fixed
            self._columns += 1
            self.values[..., start + 1 :] = self._array[..., start:end].copy()
            self.values[..., start] = 0
