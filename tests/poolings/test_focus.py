"""The pooling `focus`, compared with weighted moments in float64."""

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.errors import SpecError
from robocle.poolings import pooling
from robocle.types import FeatureMaps

Floats = NDArray[np.float64]


def random_maps() -> FeatureMaps:
    rng = np.random.default_rng(0)
    last = rng.gamma(1.5, 1.0, (3, 49, 12)).astype(np.float32)
    earlier = rng.gamma(1.5, 1.0, (3, 196, 5)).astype(np.float32)
    return FeatureMaps(last, None, earlier)


def expected_moments(grids: NDArray[np.float32], orders: int, deviation: float) -> Floats:
    """Moments under a Gaussian window in the middle, position by position."""
    side = int(np.sqrt(grids.shape[1]))
    weights = np.empty((side, side))
    for row in range(side):
        for column in range(side):
            x, y = ((place + 0.5) / side - 0.5 for place in (row, column))
            weights[row, column] = np.exp(-(x**2 + y**2) / (2 * deviation**2))
    share = (weights / weights.sum()).reshape(1, -1, 1)
    grid = grids.astype(np.float64)
    mean = (share * grid).sum(axis=1)
    blocks = [mean]
    for order in range(2, orders + 1):
        central = (share * (grid - mean[:, None]) ** order).sum(axis=1)
        blocks.append(np.sign(central) * np.abs(central) ** (1 / order))
    return np.hstack(blocks)


@pytest.mark.parametrize("window", [0.15, 0.3, 1.0])
def test_positions_count_by_their_distance_from_the_centre(window: float) -> None:
    maps = random_maps()
    assert maps.earlier is not None
    expected = np.hstack(
        [expected_moments(maps.grid, 3, window), expected_moments(maps.earlier, 2, window)]
    )
    found = pooling(f"focus:r=3,window={window},earlier=2")(maps)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-2)


def test_without_a_window_they_are_the_moments_of_both_maps() -> None:
    maps = random_maps()
    assert maps.earlier is not None
    plain = pooling("moments:r=2,form=root")
    expected = np.hstack([plain(FeatureMaps(maps.grid)), plain(FeatureMaps(maps.earlier))])
    found = pooling("focus:r=2,window=0,earlier=2")(maps)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_without_an_earlier_map_only_the_last_one_is_pooled() -> None:
    maps = random_maps()
    both, last = pooling("focus")(maps), pooling("focus")(FeatureMaps(maps.grid))
    np.testing.assert_array_equal(both[:, : 3 * 12], last)
    np.testing.assert_array_equal(pooling("focus:earlier=0")(maps), last)


def test_positions_of_a_map_that_is_not_a_square_count_the_same() -> None:
    grid = random_maps().grid[:, :12]
    expected = pooling("moments:r=3,form=root")(FeatureMaps(grid))
    found = pooling("focus:r=3")(FeatureMaps(grid))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("option", ["r=0", "r=9", "window=-1", "window=11", "earlier=9"])
def test_options_out_of_range_are_refused(option: str) -> None:
    with pytest.raises(SpecError, match=option.partition("=")[0]):
        pooling(f"focus:{option}")
