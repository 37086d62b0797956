"""Products of given rows with all class means, which follow the solution."""

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.followed_solution import Update
from robocle.classifiers.scatter.growing_table import GrowingTable
from robocle.classifiers.state import Matrix, Vector

# So many float32 rows are converted at once: few enough for the processor's cache.
CONVERTED = 64


class FollowedRows:
    """Rows x and their products x A m_j. Columns are those of `FollowedSolution`.

    Args:
        rows: The rows. All are kept in the type of the first ones.
        towards: Their products.
    """

    def __init__(self, rows: Matrix, towards: Matrix) -> None:
        self._rows = GrowingTable(rows, columns=False)
        self._towards = GrowingTable(towards)

    def __len__(self) -> int:
        return len(self._rows.values)

    @property
    def towards(self) -> Matrix:
        """x A m_j: (rows, columns)."""
        return self._towards.values

    def add(self, rows: Matrix, towards: Matrix) -> None:
        """Add rows and their products."""
        if len(self):
            self._rows.add_rows(rows)
        else:
            self._rows = GrowingTable(rows, columns=False)
        self._towards.add_rows(towards)

    def kept(self, places: NDArray[np.int64]) -> "FollowedRows":
        """Return some of the rows."""
        return FollowedRows(self._rows.values[places], self.towards[places])

    def update(self, update: Update) -> Vector:
        """Follow a sample and return the products x u, with the direction u of the sample."""
        if len(update.products) > self.towards.shape[1]:
            self._towards.add_column()
        products = _products(self._rows.values, update.direction)
        self._towards.add_outer(-update.gain, products, update.products)
        self._towards.values[:, update.column] += update.moved * products
        return products


def _products(rows: Matrix, direction: Vector) -> Vector:
    """Return the product of each row with a direction, in float64."""
    if rows.dtype == direction.dtype:
        return np.asarray(rows @ direction)
    parts = [rows[start : start + CONVERTED] for start in range(0, len(rows), CONVERTED)]
    return np.concatenate([part.astype(np.float64) @ direction for part in parts])
