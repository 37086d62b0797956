"""Moments are compared with scipy.stats."""

import numpy as np
import pytest
from scipy import stats

from robocle.pooling import pooling
from robocle.types import FeatureMaps


def random_maps(seed: int = 0) -> FeatureMaps:
    rng = np.random.default_rng(seed)
    return FeatureMaps(rng.gamma(1.5, 1.0, (4, 49, 32)).astype(np.float32))


def test_average_is_the_mean_over_positions() -> None:
    maps = random_maps()
    expected = maps.grid.astype(np.float64).mean(axis=1)
    np.testing.assert_allclose(pooling("avg")(maps), expected, rtol=1e-6)


@pytest.mark.parametrize("r", range(1, 9))
def test_standardised_moments_equal_scipys(r: int) -> None:
    maps = random_maps(r)
    grid = maps.grid.astype(np.float64)
    blocks = [grid.mean(axis=1), grid.std(axis=1)]
    blocks += [
        stats.moment(grid, order, axis=1) / grid.std(axis=1) ** order for order in range(3, r + 1)
    ]
    found = pooling(f"moments:r={r},form=standardised")(maps)
    np.testing.assert_allclose(found, np.hstack(blocks[:r]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("r", range(1, 9))
def test_rooted_moments_are_signed_roots_of_scipys_central_moments(r: int) -> None:
    maps = random_maps(r)
    grid = maps.grid.astype(np.float64)
    blocks = [grid.mean(axis=1)]
    for order in range(2, r + 1):
        central = stats.moment(grid, order, axis=1)
        blocks.append(np.sign(central) * np.abs(central) ** (1 / order))
    found = pooling(f"moments:r={r},form=root")(maps)
    # A root is steep at zero: the cube root of an error of 1e-7 is 5e-3.
    np.testing.assert_allclose(found, np.hstack(blocks), rtol=1e-3, atol=1e-2)


def test_a_large_mean_does_not_reduce_the_precision_of_higher_moments() -> None:
    rng = np.random.default_rng(0)
    grid = (rng.gamma(1.5, 1.0, (1, 49, 64)) + 50).astype(np.float32)
    expected = stats.skew(grid.astype(np.float64), axis=1)
    found = pooling("moments:r=3,form=standardised")(FeatureMaps(grid))[:, 128:]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("form", ["root", "standardised"])
@pytest.mark.parametrize("value", [0.1, 5.9, 1e30])
def test_all_moments_of_a_constant_channel_but_the_mean_are_zero(form: str, value: float) -> None:
    grid = np.full((1, 49, 3), value, np.float32)
    found = pooling(f"moments:r=5,form={form}")(FeatureMaps(grid)).reshape(5, 3)
    np.testing.assert_allclose(found[0], np.float32(value), rtol=1e-6)
    assert (found[1:] == 0).all()


@pytest.mark.parametrize("form", ["root", "standardised"])
@pytest.mark.parametrize("layout", ["positions first", "channels first"])
def test_constant_channels_of_a_large_map_have_zero_moments_and_change_no_other_channel(
    form: str, layout: str
) -> None:
    rng = np.random.default_rng(0)
    grid = rng.gamma(1.5, 1.0, (1, 3136, 64)).astype(np.float32)
    pool = pooling(f"moments:r=4,form={form}")
    expected = pool(FeatureMaps(grid)).reshape(4, 64)
    grid[:, :, ::2] = rng.uniform(0.01, 10, 32).astype(np.float32)
    if layout == "channels first":
        grid = np.ascontiguousarray(grid.transpose(0, 2, 1)).transpose(0, 2, 1)
    found = pool(FeatureMaps(grid)).reshape(4, 64)
    assert (found[1:, ::2] == 0).all()
    np.testing.assert_allclose(found[:, 1::2], expected[:, 1::2], rtol=1e-4, atol=1e-4)


def test_maps_whose_products_overflow_in_float32_have_finite_roots() -> None:
    grid = random_maps().grid * np.float32(1e25)
    expected = pooling("moments:r=3")(random_maps()).astype(np.float64) * 1e25
    np.testing.assert_allclose(
        pooling("moments:r=3")(FeatureMaps(grid)), expected, rtol=1e-3, atol=1e22
    )


def test_moments_do_not_modify_the_maps() -> None:
    maps = random_maps()
    before = maps.grid.copy()
    pooling("moments:r=3")(maps)
    assert np.array_equal(maps.grid, before)


def test_moments_do_not_depend_on_the_order_of_the_positions() -> None:
    maps = random_maps()
    shuffled = FeatureMaps(np.random.default_rng(1).permutation(maps.grid, axis=1))
    pool = pooling("moments:r=4")
    np.testing.assert_allclose(pool(shuffled), pool(maps), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-12, 1e-16, 1e-20])
def test_tiny_maps_have_finite_standardised_moments(scale: float) -> None:
    grid = (random_maps().grid * np.float32(scale)).astype(np.float32)
    assert np.isfinite(pooling("moments:r=4,form=standardised")(FeatureMaps(grid))).all()
