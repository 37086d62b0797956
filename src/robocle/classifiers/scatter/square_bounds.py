"""Bounds of the squared Frobenius norm of a scatter to which samples are added.

Adding V^T V to S adds 2 tr(V S V^T) + |V V^T|^2 to |S|^2. Of these, the first is between 0 and
2 |S| tr(V V^T), and the second is at most tr(V V^T)^2.
"""

import math


class SquareBounds:
    """Bounds of |S|^2 since it was last computed.

    Args:
        square: |S|^2.
    """

    def __init__(self, square: float) -> None:
        self._square = square
        self._lengths = 0.0  # of all samples since
        self._squares = 0.0

    @property
    def exact(self) -> bool:
        """Whether the bounds are equal: nothing was added since."""
        return self._lengths == 0

    def add(self, length: float) -> None:
        """Add a sample of this squared length."""
        self._lengths += length
        self._squares += length**2

    @property
    def low(self) -> float:
        """The lower bound."""
        return self._square + self._squares

    @property
    def high(self) -> float:
        """The upper bound."""
        return (math.sqrt(self._square) + self._lengths) ** 2
