"""Arithmetic that several methods share: class scatters, unit vectors, random features, variants.

- `ClassScatter` is the mean and the scatter of one class. The scatter of few samples has low rank:
  it is kept as rows R with scatter R^T R, one row per sample after the first. With twice as many
  rows as the width, R is replaced by its triangular (QR) factor, which has the same R^T R. This is
  exact and never takes more memory than two full matrices.
- `rectified_features`: max(z P, 0) / sqrt(width) with P Gaussian (McDonnell et al., "RanPAC",
  2023).
- `fourier_features`: sqrt(2/M) cos(u F + phase) of the normalised embedding u. Their dot products
  approximate the Gaussian kernel exp(-gamma |u - u'|^2) (Rahimi & Recht 2007).
"""

import math
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from robocle._internal.blas import one_blas_thread
from robocle._internal.randomness import keyed_rng
from robocle.classifiers.samples import Matrix, Vector
from robocle.spec import require_choice

Variant = Literal["correct", "published"]
"""`correct`: by the formulas. `published`: as the public code computes it."""


def require_variant(variant: str) -> None:
    """Raise SpecError if there is no such variant."""
    require_choice("variant", variant, get_args(Variant))


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


def rectified_features(embeddings: Matrix, features: int, seed: int) -> Matrix:
    """Return rectified random projections, (..., features)."""
    projection = _gaussian(seed, embeddings.shape[-1], features)
    with one_blas_thread():
        projected: Matrix = np.maximum(embeddings @ projection, 0) / np.sqrt(embeddings.shape[-1])
    return projected


def directions(embeddings: Matrix) -> Matrix:
    """Return the embeddings with length 1; one of length 0 stays as it is."""
    largest = np.max(np.abs(embeddings), axis=-1, keepdims=True)  # squares may overflow
    scaled = embeddings / np.where(largest > 0, largest, 1)
    lengths = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return np.asarray(scaled / np.where(lengths > 0, lengths, 1))


def fourier_features(embeddings: Matrix, features: int, gamma: float, seed: int) -> Matrix:
    """Return random Fourier features of the normalised embeddings, (..., features)."""
    # Scaling the embeddings is cheaper than scaling the frequencies, of which there are more.
    scaled = np.sqrt(2 * gamma) * directions(embeddings)
    with one_blas_thread():
        angles = scaled @ _gaussian(seed, embeddings.shape[-1], features)
    return np.asarray(np.sqrt(2 / features) * np.cos(angles + _phases(seed, features)))


@lru_cache(maxsize=4)
def _gaussian(seed: int, width: int, features: int) -> Matrix:
    return keyed_rng(seed, "random features", width, features).normal(size=(width, features))


@lru_cache(maxsize=4)
def _phases(seed: int, features: int) -> Vector:
    return keyed_rng(seed, "random phases", features).uniform(0, 2 * np.pi, features)
