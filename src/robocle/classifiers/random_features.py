"""Random features: fixed, keyed maps that make linear methods bend.

- `rectified_features`: max(z P, 0), P Gaussian (McDonnell et al., "RanPAC", 2023);
- `fourier_features`: sqrt(2/M) cos(u F + phase) of the unit vector u, whose dot products approach
  the Gaussian kernel exp(-gamma |u - u'|^2) (Rahimi & Recht 2007).
"""

from functools import lru_cache

import numpy as np

from robocle.blas import one_blas_thread
from robocle.classifiers.streaming import Matrix, Vector
from robocle.randomness import keyed_rng


def rectified_features(vectors: Matrix, features: int, seed: int) -> Matrix:
    """Random projections, rectified."""
    projection = _gaussian(seed, vectors.shape[-1], features)
    with one_blas_thread():
        spread: Matrix = np.maximum(vectors @ projection, 0) / np.sqrt(vectors.shape[-1])
    return spread


def fourier_features(vectors: Matrix, features: int, gamma: float, seed: int) -> Matrix:
    """Random Fourier features of the vectors' directions."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    # The vectors are scaled, not the frequencies: those are many.
    directions = np.sqrt(2 * gamma) * vectors / np.where(lengths > 0, lengths, 1)
    with one_blas_thread():
        angles = directions @ _gaussian(seed, vectors.shape[-1], features)
    return np.asarray(np.sqrt(2 / features) * np.cos(angles + _phases(seed, features)))


@lru_cache(maxsize=4)
def _gaussian(seed: int, width: int, features: int) -> Matrix:
    return keyed_rng(seed, "random features", width, features).normal(size=(width, features))


@lru_cache(maxsize=4)
def _phases(seed: int, features: int) -> Vector:
    return keyed_rng(seed, "random phases", features).uniform(0, 2 * np.pi, features)
