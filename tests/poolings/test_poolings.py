"""Each pooling is compared with an independent implementation of its definition."""

import numpy as np
import pytest
from scipy.linalg import sqrtm

from robocle.errors import FeatureError
from robocle.poolings import pooling
from robocle.poolings.literature import square_roots
from robocle.types import FeatureMaps


@pytest.fixture
def maps() -> FeatureMaps:
    rng = np.random.default_rng(0)
    return FeatureMaps(rng.gamma(1.5, 1.0, (4, 49, 32)).astype(np.float32))


def test_max_is_the_largest_value(maps: FeatureMaps) -> None:
    np.testing.assert_array_equal(pooling("max")(maps), maps.grid.max(axis=1))


def test_avgmax_is_the_average_then_the_maximum(maps: FeatureMaps) -> None:
    blocks = [pooling("avg")(maps), pooling("max")(maps)]
    np.testing.assert_array_equal(pooling("avgmax")(maps), np.concatenate(blocks, axis=1))


def test_mix_is_the_weighted_sum_of_average_and_maximum(maps: FeatureMaps) -> None:
    average, maximum = pooling("avg")(maps), pooling("max")(maps)
    expected = 0.25 * average + 0.75 * maximum
    np.testing.assert_allclose(pooling("mix:share=0.25")(maps), expected, rtol=1e-5)
    np.testing.assert_allclose(pooling("mix:share=1")(maps), average)


@pytest.mark.parametrize("p", [2, 3])
def test_lp_is_the_mean_of_the_powers_raw_or_as_a_root(maps: FeatureMaps, p: int) -> None:
    raw = (maps.grid.astype(np.float64) ** p).mean(axis=1)
    np.testing.assert_allclose(pooling(f"lp:p={p},form=raw")(maps), raw, rtol=1e-5)
    np.testing.assert_allclose(pooling(f"lp:p={p}")(maps), raw ** (1 / p), rtol=1e-5)


def test_raw_odd_powers_keep_their_sign() -> None:
    grid = np.full((1, 4, 1), -2.0, np.float32)
    assert pooling("lp:p=3,form=raw")(FeatureMaps(grid))[0, 0] == pytest.approx(-8)
    assert pooling("lp:p=3")(FeatureMaps(grid))[0, 0] == pytest.approx(2)


@pytest.mark.parametrize(("top", "kept"), [(1, 1), (10, 5), (100, 49)])
def test_rap_keeps_the_top_values_of_each_channel_in_descending_order(
    maps: FeatureMaps, top: int, kept: int
) -> None:
    expected = np.sort(maps.grid, axis=1)[:, ::-1][:, :kept].reshape(4, -1)
    np.testing.assert_array_equal(pooling(f"rap:top={top}")(maps), expected)


def test_stochastic_draws_positions_in_proportion_to_activation() -> None:
    grid = np.tile(np.array([[1.0], [3.0], [0.0], [6.0]], np.float32), (1, 1, 20_000))
    drawn = pooling("stochastic")(FeatureMaps(grid))[0]
    shares = [float((drawn == value).mean()) for value in (1, 3, 0, 6)]
    assert shares == pytest.approx([0.1, 0.3, 0.0, 0.6], abs=0.02)


def test_stochastic_draws_other_positions_for_another_seed_only(maps: FeatureMaps) -> None:
    first = pooling("stochastic:seed=1")(maps)
    np.testing.assert_array_equal(first, pooling("stochastic:seed=1")(maps))
    assert (first != pooling("stochastic:seed=2")(maps)).any()


def test_stochastic_draws_any_position_of_a_channel_without_activation() -> None:
    grid = -np.arange(1, 5, dtype=np.float32).reshape(1, 4, 1).repeat(400, axis=2)
    drawn = pooling("stochastic")(FeatureMaps(grid))
    assert set(np.unique(drawn)) == {-1.0, -2.0, -3.0, -4.0}


def test_isqrt_computes_the_matrix_square_root() -> None:
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(3, 6, 40))
    matrices = factors @ factors.transpose(0, 2, 1)
    roots = square_roots(matrices, iterations=20)
    for matrix, root in zip(matrices, roots, strict=True):
        np.testing.assert_allclose(root, sqrtm(matrix).real, rtol=1e-6, atol=1e-8)


def test_isqrt_has_the_width_of_average_pooling(maps: FeatureMaps) -> None:
    assert pooling("isqrt")(maps).shape == (4, 32)
    wide = FeatureMaps(np.ones((1, 49, 1280), np.float32))
    assert pooling("isqrt")(wide).shape == (1, 1280)


def test_cls_is_the_token_and_raises_if_there_is_none(maps: FeatureMaps) -> None:
    token = np.arange(8, dtype=np.float32).reshape(2, 4)
    with_token = FeatureMaps(np.zeros((2, 9, 4), np.float32), token)
    np.testing.assert_array_equal(pooling("cls")(with_token), token)
    with pytest.raises(FeatureError, match="no class token"):
        pooling("cls")(maps)
