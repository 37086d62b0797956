"""Moments are compared with scipy.stats."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from robocle.poolings import pooling
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


def maps_of_every_precision(positions: int) -> NDArray[np.float32]:
    """Return maps with means of 0 to 1e5 deviations and deviations of 1e-25 to 1e10."""
    rng = np.random.default_rng(positions)
    shapes = np.hstack(
        [
            rng.gamma(1.5, 1.0, (positions, 8)),
            rng.normal(0, 1, (positions, 8)),
            # Two values only: the roundings of their sum all have one direction.
            rng.integers(0, 2, (positions, 64)) * rng.uniform(0.5, 2, 64),
        ]
    )
    ratios = (0, 1, 5, 10, 20, 50, 100, 200, 500, 1e3, 1e4, 1e5)
    scales = (1e-25, 1e-18, 1e-14, 1e-9, 1, 1e10)
    maps = [(shapes + ratio) * scale for ratio in ratios for scale in scales]
    return np.stack(maps).astype(np.float32)


@pytest.mark.parametrize("positions", [4, 49, 196, pytest.param(3136, marks=pytest.mark.slow)])
@pytest.mark.parametrize("r", [2, 3, 4, 8])
def test_every_moment_is_within_the_stated_tolerance(r: int, positions: int) -> None:
    """Central and standardised moments are within 1e-3 of the mean of |g - mean|^r."""
    grid = maps_of_every_precision(positions)
    wide = grid.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    deviation = wide.std(axis=1)
    varies = deviation > 1e-6 * np.abs(wide.mean(axis=1))
    assert varies.mean() > 0.7
    expected, absolute = (centred**r).mean(axis=1), (np.abs(centred) ** r).mean(axis=1)
    rooted, standardised = (
        pooling(f"moments:r={r},form={form}")(FeatureMaps(grid)).reshape(len(grid), r, -1)[:, -1]
        for form in ("root", "standardised")
    )
    powers = [np.sign(rooted) * np.abs(rooted.astype(np.float64)) ** r]
    if r > 2:
        powers.append(standardised * deviation**r)
    for power in powers:
        assert (np.abs(power - expected)[varies] <= 1e-3 * absolute[varies]).all()


def test_an_imprecise_channel_changes_no_other_channel() -> None:
    grid = random_maps().grid.copy()
    before = pooling("moments:r=3")(FeatureMaps(grid)).reshape(4, 3, 32)
    grid[1, :, 5] += 1000
    grid[2, :, 7] *= np.float32(1e-20)
    after = pooling("moments:r=3")(FeatureMaps(grid)).reshape(4, 3, 32)
    changed = (before != after).any(axis=1)
    assert np.argwhere(changed).tolist() == [[1, 5], [2, 7]]
