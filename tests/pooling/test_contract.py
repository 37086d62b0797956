"""What every pooling in the table keeps."""

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.pooling import POOLINGS, pooling
from robocle.types import FeatureMaps

SPECS = [
    *POOLINGS.names(),
    "mix:share=0.2",
    "lp:p=3",
    "lp:p=3,form=raw",
    "rap:top=1",
    "rap:top=100",
    "moments:r=1",
    "moments:r=8",
    "moments:r=5,form=standardised",
]


def maps(n: int = 3, positions: int = 49, channels: int = 16, seed: int = 0) -> FeatureMaps:
    rng = np.random.default_rng(seed)
    grid = np.minimum(np.maximum(rng.normal(0, 2, (n, positions, channels)), 0), 6)
    return with_token(grid.astype(np.float32))


def with_token(grid: NDArray[np.float32]) -> FeatureMaps:
    return FeatureMaps(grid, np.ascontiguousarray(grid[:, 0]))


@pytest.fixture(params=SPECS)
def spec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_vectors_are_float32_and_made_of_equal_blocks(spec: str) -> None:
    pool = pooling(spec)
    vectors = pool(maps())
    assert vectors.dtype == np.float32
    assert vectors.shape[0] == 3
    assert vectors.shape[1] % (16 * pool.blocks) == 0


def test_a_picture_pools_alike_alone_and_in_a_batch(spec: str) -> None:
    pool = pooling(spec)
    batch = maps()
    alone = np.vstack([pool(with_token(batch.grid[i : i + 1])) for i in range(3)])
    np.testing.assert_allclose(pool(batch), alone, rtol=1e-5, atol=1e-6)


def test_the_layout_in_memory_does_not_matter(spec: str) -> None:
    grid = maps().grid
    channels_first = np.ascontiguousarray(grid.transpose(0, 2, 1)).transpose(0, 2, 1)
    pool = pooling(spec)
    found, expected = pool(with_token(channels_first)), pool(with_token(grid))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("value", [0.0, 0.1, 3.7, 1e30, 1e-30, 1e-42])
def test_constant_maps_give_finite_vectors(spec: str, value: float) -> None:
    grid = np.full((2, 49, 5), value, np.float32)
    assert np.isfinite(pooling(spec)(with_token(grid))).all()


@pytest.mark.parametrize("scale", [1e30, 1e-30, 1e-42])
def test_extreme_maps_give_finite_vectors(spec: str, scale: float) -> None:
    grid = (maps().grid.astype(np.float64) * scale).astype(np.float32)
    assert np.isfinite(pooling(spec)(with_token(grid))).all()


def test_one_position_is_enough(spec: str) -> None:
    assert np.isfinite(pooling(spec)(maps(positions=1))).all()


def test_no_picture_gives_no_vector(spec: str) -> None:
    assert len(pooling(spec)(maps(n=0))) == 0
