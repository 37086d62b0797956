"""How a solution has changed since A was factorised: a sum over the directions of the samples.

    A' = A - sum of g u u^T            with a gain g per direction u
    rows' = rows + sum of c_j u        with a coefficient c_j per direction and class

Directions are only added, and arrays grow as copies. So what a prediction has read of them stays
valid while a lesson goes on.
"""

import numpy as np

from robocle.classifiers.state import Matrix, Vector

# Memory for further directions and classes is allocated for this many at once.
MORE_DIRECTIONS, MORE_CLASSES = 32, 64


class FollowedDirections:
    """Directions with their gains and coefficients; none at first.

    Args:
        width: The length of a direction.
        classes: The number of classes.
    """

    def __init__(self, width: int, classes: int) -> None:
        self._used = 0
        self._gains = np.zeros(0)
        self._directions = np.zeros((0, width))
        self._coefficients = np.zeros((0, classes + MORE_CLASSES))

    def __len__(self) -> int:
        return self._used

    @property
    def directions(self) -> Matrix:
        """The directions, as rows."""
        return self._directions[: self._used]

    @property
    def gains(self) -> Vector:
        """The gain of each direction."""
        return self._gains[: self._used]

    def coefficients(self, classes: int) -> Matrix:
        """Return the coefficient of each direction in the row of each class."""
        return self._coefficients[: self._used, :classes]

    def add(self, direction: Vector, gain: float, coefficients: Vector) -> None:
        """Add a direction.

        Args:
            direction: The direction.
            gain: Its gain.
            coefficients: Its coefficient in the row of each class. Classes may be new.
        """
        if self._used == len(self._gains):
            self._allocate(0, self._coefficients.shape[1])
        if len(coefficients) > self._coefficients.shape[1]:
            self._allocate(0, len(coefficients) + len(coefficients) // 8 + MORE_CLASSES)
        self._gains[self._used] = gain
        self._directions[self._used] = direction
        self._coefficients[self._used, : len(coefficients)] = coefficients
        self._used += 1

    def drop(self, number: int) -> None:
        """Drop the first directions."""
        self._allocate(number, self._coefficients.shape[1])
        self._used -= number

    def _allocate(self, start: int, columns: int) -> None:
        """Copy everything from a direction on, and leave room for further ones."""
        kept, rows = slice(start, self._used), self._used - start
        gains = np.zeros(rows + MORE_DIRECTIONS)
        directions = np.zeros((len(gains), self._directions.shape[1]))
        coefficients = np.zeros((len(gains), columns))
        gains[:rows], directions[:rows] = self._gains[kept], self._directions[kept]
        coefficients[:rows, : self._coefficients.shape[1]] = self._coefficients[kept]
        self._gains, self._directions, self._coefficients = gains, directions, coefficients
