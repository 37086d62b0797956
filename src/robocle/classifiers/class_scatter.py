"""The mean and the scatter of one class.

The scatter of a class with few samples has low rank, so it is kept as rows R with scatter R^T R:
one row per sample after the first. When there are twice as many rows as the width, R is replaced by
its triangular (QR) factor, which has the same R^T R and as many rows as the width. This is exact
and never takes more memory than two full matrices.
"""

import math

import numpy as np

from robocle.classifiers.samples import Matrix, Vector


class ClassScatter:
    """The running mean and scatter of the samples of one class."""

    def __init__(self, width: int) -> None:
        self.count = 0
        self.mean: Vector = np.zeros(width)
        self._rows: list[Vector] = []

    def add(self, sample: Vector) -> None:
        """Add a sample."""
        deviation = sample - self.mean
        if self.count:
            self._rows.append(math.sqrt(self.count / (self.count + 1)) * deviation)
        self.count += 1
        self.mean = self.mean + deviation / self.count
        if len(self._rows) >= 2 * len(sample):
            self._rows = list(self.rows())

    def rows(self) -> Matrix:
        """Return at most `width` rows R such that R^T R is the scatter."""
        width = len(self.mean)
        rows = np.array(self._rows).reshape(-1, width)
        return rows if len(rows) <= width else np.asarray(np.linalg.qr(rows, mode="r"), np.float64)
