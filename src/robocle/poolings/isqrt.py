"""iSQRT-COV: the square root of the channels' covariance over the positions (Li et al. 2018).

The root is computed by the Newton-Schulz iteration. A covariance of d channels has d(d+1)/2
different entries. To keep the width of average pooling, the channels are first projected to the
smallest number whose covariance has at least d different entries, and the first d are used. The
projection is random and fixed; the original method learns it.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from robocle._internal.blas import one_blas_thread
from robocle._internal.randomness import keyed_rng
from robocle.spec import Described, require_between
from robocle.types import Embeddings, FeatureMaps


class RootCovariance(Described):
    """The matrix square root of the covariance of projected channels (iSQRT-COV).

    Args:
        iterations: Steps of the Newton-Schulz iteration, from 1 to 50.
        seed: Seed of the random projection.

    Raises:
        SpecError: An option is out of range.

    Example:
        >>> maps = FeatureMaps(np.ones((2, 49, 10), np.float32))
        >>> RootCovariance()(maps).shape
        (2, 10)
    """

    blocks = 1

    def __init__(self, iterations: int = 5, seed: int = 0) -> None:
        require_between("iterations", iterations, 1, 50)
        require_between("seed", seed, 0, 2**63)
        self.iterations = iterations
        self.seed = seed

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        channels = maps.grid.shape[2]
        projection = _projection(self.seed, channels)
        rows, columns = np.triu_indices(projection.shape[1])
        with one_blas_thread():
            reduced = maps.grid.astype(np.float64) @ projection
            centred = reduced - reduced.mean(axis=1, keepdims=True)
            covariance = centred.transpose(0, 2, 1) @ centred / maps.grid.shape[1]
            root = square_roots(covariance, self.iterations)
        return root[:, rows, columns][:, :channels].astype(np.float32)


def square_roots(matrices: NDArray[np.float64], iterations: int) -> NDArray[np.float64]:
    """Return the square roots of positive semi-definite matrices, by the Newton-Schulz iteration.

    Args:
        matrices: The matrices, (n, k, k).
        iterations: More steps bring the result closer to the root.

    Returns:
        One root per matrix, (n, k, k).

    Example:
        >>> square_roots(np.array([[[4.0, 0.0], [0.0, 9.0]]]), iterations=20).round(6).tolist()
        [[[2.0, 0.0], [0.0, 3.0]]]
    """
    trace = np.trace(matrices, axis1=1, axis2=2)[:, None, None]
    root = matrices / np.where(trace > 0, trace, 1)
    inverse = np.broadcast_to(np.eye(matrices.shape[1]), matrices.shape)
    for _ in range(iterations):
        step = 1.5 * np.eye(matrices.shape[1]) - 0.5 * inverse @ root
        root, inverse = root @ step, step @ inverse
    return np.asarray(root * np.sqrt(trace))


@lru_cache(maxsize=4)
def _projection(seed: int, channels: int) -> NDArray[np.float64]:
    """Project to the fewest channels whose covariance has at least `channels` different entries."""
    reduced = math.ceil((math.sqrt(8 * channels + 1) - 1) / 2)
    gaussian = keyed_rng(seed, "isqrt projection", channels).normal(size=(channels, reduced))
    return np.linalg.qr(gaussian)[0]
