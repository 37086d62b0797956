"""Poolings from the literature that the paper compares with: Lp, stochastic and iSQRT-COV."""

import hashlib
import math
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from robocle._internal.blas import one_blas_thread
from robocle._internal.randomness import keyed_rng
from robocle.spec import Described, require_between, require_choice
from robocle.types import Embeddings, FeatureMaps

PowerForm = Literal["root", "raw"]


class PowerMean(Described):
    """The mean of the p-th powers over the positions (Feng et al. 2011), as a norm or raw.

    Args:
        p: The power, from 1 to 8.
        form: "root" for the norm (mean |g|^p)^(1/p), which has the scale of the values; "raw" for
            mean g^p, the non-central moment that the paper's text describes.

    Raises:
        SpecError: An option has a value that is not allowed.

    Example:
        >>> maps = FeatureMaps(np.array([[[1], [7]]], np.float32))
        >>> PowerMean(p=2)(maps).tolist(), PowerMean(p=2, form="raw")(maps).tolist()
        ([[5.0]], [[25.0]])
    """

    blocks = 1

    def __init__(self, p: int = 2, form: PowerForm = "root") -> None:
        require_between("p", p, 1, 8)
        require_choice("form", form, get_args(PowerForm))
        self.p = p
        self.form = form

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        # Values are divided by the largest of their channel, so that no power can overflow.
        largest = np.abs(maps.grid).max(axis=1)
        safe = np.where(largest > 0, largest, 1).astype(np.float32)
        relative = maps.grid / safe[:, None]
        with np.errstate(under="ignore"):
            if self.form == "root":
                mean = _power(np.abs(relative), self.p).mean(axis=1)
                return np.asarray(largest * mean ** (1 / self.p), np.float32)
            mean = _power(relative, self.p).mean(axis=1, dtype=np.float64)
            raw = largest.astype(np.float64) ** self.p * mean
            limit = np.finfo(np.float32).max
            return np.asarray(np.clip(raw, -limit, limit), np.float32)


def _power(values: Embeddings, p: int) -> Embeddings:
    """Compute a power by products, because a floating-point power takes seventy times as long."""
    power = values
    for _ in range(p - 1):
        power = power * values
    return power


class Stochastic(Described):
    """The value at one position per channel, drawn in proportion to activation.

    Zeiler & Fergus, "Stochastic pooling for regularization of deep CNNs" (2013). The draw is keyed
    by the seed and the map itself, so a picture always has the same embedding, alone or in any
    batch.

    Args:
        seed: Another seed draws other positions.

    Raises:
        SpecError: The seed is negative.

    Example:
        >>> maps = FeatureMaps(np.array([[[0], [0], [6]]], np.float32))
        >>> Stochastic()(maps).tolist()
        [[6.0]]
    """

    blocks = 1

    def __init__(self, seed: int = 0) -> None:
        require_between("seed", seed, 0, 2**63)
        self.seed = seed

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        positive = np.maximum(maps.grid, 0).astype(np.float64)
        reach = np.cumsum(positive, axis=1)
        total = reach[:, -1:]
        # In a channel without positive activation, all positions are equally likely.
        steps = np.arange(1, maps.grid.shape[1] + 1, dtype=np.float64)[None, :, None]
        reach = np.where(total > 0, reach, steps)
        draws = self._draws(maps.grid)[:, None] * reach[:, -1:]
        chosen = (reach > draws).argmax(axis=1)
        drawn: Embeddings = np.take_along_axis(maps.grid, chosen[:, None], axis=1)[:, 0]
        return drawn

    def _draws(self, grid: NDArray[np.float32]) -> NDArray[np.float64]:
        """Draw a number from 0 to 1 for each picture and channel."""
        channels = grid.shape[2]
        contents = (hashlib.sha256(picture.tobytes()).hexdigest() for picture in grid)
        draws = [
            keyed_rng(self.seed, "stochastic pooling", each).random(channels) for each in contents
        ]
        return np.array(draws).reshape(len(grid), channels)


class RootCovariance(Described):
    """The square root of the channels' covariance over the positions (iSQRT-COV, Li et al. 2018).

    The root is computed by the Newton-Schulz iteration. A covariance of d channels has d(d+1)/2
    different entries. To keep the width of average pooling, the channels are first projected to the
    smallest number whose covariance has at least d different entries, and the first d are used. The
    projection is random and fixed; the original method learns it.

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
