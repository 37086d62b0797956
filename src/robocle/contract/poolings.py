"""The rules that every pooling keeps."""

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from robocle.contract.checking import require
from robocle.poolings import pooling
from robocle.types import FeatureMaps

CHANNELS = 16


def maps(n: int = 3, positions: int = 49, seed: int = 0) -> FeatureMaps:
    """Return feature maps like a network's: between 0 and 6, many zeros."""
    rng = np.random.default_rng(seed)
    grid = np.minimum(np.maximum(rng.normal(0, 2, (n, positions, CHANNELS)), 0), 6)
    return with_token(grid.astype(np.float32))


def with_token(grid: NDArray[np.float32]) -> FeatureMaps:
    """Return maps whose class token is the first position."""
    return FeatureMaps(grid, np.ascontiguousarray(grid[:, 0]))


def embeddings_are_float32_rows_of_equal_blocks(spec: str) -> None:
    """A pooling returns float32 (n, width), and `blocks` divides the width evenly."""
    pool = pooling(spec)
    embeddings = pool(maps())
    require(embeddings.dtype == np.float32, f"float32 embeddings, not {embeddings.dtype}")
    require(len(embeddings) == 3, f"one row per picture, not {len(embeddings)} rows")
    width = embeddings.shape[1]
    require(width % (CHANNELS * pool.blocks) == 0, f"{pool.blocks} equal blocks in {width}")


def a_picture_pools_the_same_alone_and_in_a_batch(spec: str) -> None:
    """Pictures of a batch do not influence each other."""
    pool = pooling(spec)
    batch = maps()
    alone = np.vstack([pool(with_token(batch.grid[i : i + 1])) for i in range(3)])
    assert_allclose(pool(batch), alone, rtol=1e-5, atol=1e-6)


def the_memory_layout_does_not_matter(spec: str) -> None:
    """Maps with channels first or last in memory have the same embedding."""
    grid = maps().grid
    channels_first = np.ascontiguousarray(grid.transpose(0, 2, 1)).transpose(0, 2, 1)
    pool = pooling(spec)
    found, expected = pool(with_token(channels_first)), pool(with_token(grid))
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def constant_maps_have_finite_embeddings(spec: str) -> None:
    """A channel without variance does not divide by zero."""
    for value in (0.0, 0.1, 3.7, 1e30, 1e-30, 1e-42):
        _require_finite(spec, np.full((2, 49, 5), value, np.float32), f"all {value:g}")


def extreme_maps_have_finite_embeddings(spec: str) -> None:
    """Very large, very small and denormal activations have finite embeddings."""
    for scale in (1e30, 1e-30, 1e-42):
        grid = (maps().grid.astype(np.float64) * scale).astype(np.float32)
        _require_finite(spec, grid, f"around {scale:g}")


def one_position_is_enough(spec: str) -> None:
    """A map of one position has a finite embedding."""
    _require_finite(spec, maps(positions=1).grid, "of one position")


def no_picture_has_no_embedding(spec: str) -> None:
    """An empty batch has an empty result."""
    require(len(pooling(spec)(maps(n=0))) == 0, "no rows for an empty batch")


def _require_finite(spec: str, grid: NDArray[np.float32], what: str) -> None:
    finite = bool(np.isfinite(pooling(spec)(with_token(grid))).all())
    require(finite, f"embeddings are finite for activations {what}")


POOLING_CHECKS = (
    embeddings_are_float32_rows_of_equal_blocks,
    a_picture_pools_the_same_alone_and_in_a_batch,
    the_memory_layout_does_not_matter,
    constant_maps_have_finite_embeddings,
    extreme_maps_have_finite_embeddings,
    one_position_is_enough,
    no_picture_has_no_embedding,
)
"""The rules, each a function of a spec."""
