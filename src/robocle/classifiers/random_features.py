"""Random features: fixed random mappings that make linear methods non-linear.

- `rectified_features`: max(z P, 0) with P Gaussian (McDonnell et al., "RanPAC", 2023);
- `fourier_features`: sqrt(2/M) cos(u F + phase) of the normalised embedding u. Their dot products
  approximate the Gaussian kernel exp(-gamma |u - u'|^2) (Rahimi & Recht 2007).
"""

from functools import lru_cache

import numpy as np

from robocle._internal.blas import one_blas_thread
from robocle._internal.randomness import keyed_rng
from robocle.classifiers.samples import Matrix, Vector


def rectified_features(embeddings: Matrix, features: int, seed: int) -> Matrix:
    """Return rectified random projections, (..., features)."""
    projection = _gaussian(seed, embeddings.shape[-1], features)
    with one_blas_thread():
        projected: Matrix = np.maximum(embeddings @ projection, 0) / np.sqrt(embeddings.shape[-1])
    return projected


def fourier_features(embeddings: Matrix, features: int, gamma: float, seed: int) -> Matrix:
    """Return random Fourier features of the normalised embeddings, (..., features)."""
    lengths = np.linalg.norm(embeddings, axis=-1, keepdims=True)
    # Scaling the embeddings is cheaper than scaling the frequencies, of which there are more.
    directions = np.sqrt(2 * gamma) * embeddings / np.where(lengths > 0, lengths, 1)
    with one_blas_thread():
        angles = directions @ _gaussian(seed, embeddings.shape[-1], features)
    return np.asarray(np.sqrt(2 / features) * np.cos(angles + _phases(seed, features)))


@lru_cache(maxsize=4)
def _gaussian(seed: int, width: int, features: int) -> Matrix:
    return keyed_rng(seed, "random features", width, features).normal(size=(width, features))


@lru_cache(maxsize=4)
def _phases(seed: int, features: int) -> Vector:
    return keyed_rng(seed, "random phases", features).uniform(0, 2 * np.pi, features)
