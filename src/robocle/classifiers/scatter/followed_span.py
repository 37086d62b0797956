"""A in coordinates of the span of the samples, which follows the samples.

While the scatter is compressed, all that changes lies in this span. In its coordinates, the
direction u = A v of a sample takes one product with the basis, not three.
"""

import numpy as np

from robocle.classifiers.scatter.growing_table import capacity
from robocle.classifiers.scatter.inverses import SpanInverse
from robocle.classifiers.state import Vector


class FollowedSpan:
    """(S + ridge I)^-1 in coordinates, after rank-one changes.

    Args:
        inverse: The inverse before.
        most: The largest number of changes.
    """

    def __init__(self, inverse: SpanInverse, most: int) -> None:
        self._inverse = inverse
        self._gains = np.zeros(most)
        self._directions = np.zeros((most, 0))
        self._used = 0

    def solve(self, coordinates: Vector) -> Vector:
        """Return the coordinates of A v from those of v. The basis may have gained directions."""
        size = len(coordinates)
        if size > self._directions.shape[1]:
            wider = np.zeros((len(self._directions), capacity(size)))
            wider[:, : self._directions.shape[1]] = self._directions
            self._directions = wider
        known = self._directions[: self._used, :size]
        found = self._inverse.solve_inside(coordinates)
        found -= (self._gains[: self._used] * (known @ coordinates)) @ known
        return found

    def change(self, gain: float, direction: Vector) -> None:
        """Subtract gain u u^T from A.

        Args:
            gain: The gain.
            direction: The coordinates of u, which `solve` has returned.
        """
        self._gains[self._used] = gain
        self._directions[self._used, : len(direction)] = direction
        self._used += 1
