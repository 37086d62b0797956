"""The rules that views, backbones, poolings and finders keep: the parts that take pictures."""

from collections.abc import Callable

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from robocle.backbones import Backbone, backbone, earlier_channels
from robocle.contract.checking import Given, Part, built, require, require_raises, rules_in
from robocle.errors import FeatureError
from robocle.finders import Finder, finder
from robocle.finders.boxes import chosen
from robocle.images.views import Views, views
from robocle.poolings import Pooling, pooling
from robocle.types import FeatureMaps, Pixels

SIDE = 64

CHANNELS = 16


def _picture() -> Pixels:
    """Return square pixels."""
    return np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), np.uint8)


def views_are_pictures_of_the_same_size(given: Given[Views]) -> None:
    """Views of (side, side, 3) pixels are uint8 pixels (k, side, side, 3) with k at least 1."""
    made = built(given, views)(_picture())
    require(made.dtype == np.uint8, f"uint8 pixels, not {made.dtype}")
    require(made.shape[1:] == (SIDE, SIDE, 3), f"pictures of the same size, not {made.shape}")
    require(len(made) >= 1, "at least one view")


def the_picture_is_not_changed(given: Given[Views]) -> None:
    """Views leave the given pixels as they are."""
    pixels = _picture()
    built(given, views)(pixels)
    assert_array_equal(pixels, _picture())


def the_same_picture_has_the_same_views(given: Given[Views]) -> None:
    """Views are deterministic."""
    assert_array_equal(built(given, views)(_picture()), built(given, views)(_picture()))


VIEW_CHECKS = rules_in(globals())
"""The rules, each a function of a spec, a class or an instance."""


def _pictures(network: Backbone, n: int = 3) -> Pixels:
    """Return n pictures of the size that the backbone takes."""
    side = network.input_size
    return np.random.default_rng(0).integers(0, 256, (n, side, side, 3), np.uint8)


def _usable(given: Given[Part], build: Callable[[str], Part]) -> Part:
    """Return a backbone or a finder. An instance is used as it is: most cannot be copied."""
    return built(given, build) if isinstance(given, str | type) else given


def _all_maps(maps: FeatureMaps) -> list[NDArray[np.float32]]:
    """Return all arrays that a backbone computed."""
    return [each for each in (maps.grid, maps.token, maps.earlier) if each is not None]


def a_backbone_describes_itself(given: Given[Backbone]) -> None:
    """A backbone has a name, a fingerprint, an input size and a pixel unit."""
    network = _usable(given, backbone)
    require(bool(network.name), "a name")
    require(bool(network.fingerprint), "a fingerprint")
    require(network.input_size > 0, f"a positive input size, not {network.input_size}")
    require(network.pixel_unit > 0, f"a positive pixel unit, not {network.pixel_unit}")


def the_fingerprint_is_the_same_at_each_load(given: Given[Backbone]) -> None:
    """The fingerprint depends on the network's function alone: states are tied to it."""
    first, second = _usable(given, backbone).fingerprint, _usable(given, backbone).fingerprint
    require(first == second, f"one fingerprint, not {first} and {second}")


def feature_maps_are_finite_float32(given: Given[Backbone]) -> None:
    """`features` returns a float32 grid (n, positions, channels), and a token if it has one."""
    network = _usable(given, backbone)
    maps = network.features(_pictures(network))
    require(maps.grid.dtype == np.float32, f"a float32 grid, not {maps.grid.dtype}")
    require(maps.grid.ndim == 3, f"(n, positions, channels), not {maps.grid.shape}")
    require(len(maps) == 3, f"one map per picture, not {len(maps)}")
    require(bool(np.isfinite(maps.grid).all()), "finite maps")
    require((maps.token is not None) == network.has_token, "a class token if `has_token` says so")


def an_earlier_map_has_the_channels_that_the_backbone_names(given: Given[Backbone]) -> None:
    """`features` returns a finite float32 map (n, positions, `earlier_channels`), or none."""
    network = _usable(given, backbone)
    channels = earlier_channels(network)
    earlier = network.features(_pictures(network)).earlier
    if earlier is None:
        require(not channels, f"an earlier map, as `earlier_channels` is {channels}")
        return
    require(channels > 0, "no earlier map without `earlier_channels`")
    require(earlier.dtype == np.float32, f"a float32 earlier map, not {earlier.dtype}")
    fits = earlier.ndim == 3 and earlier.shape[0] == 3 and earlier.shape[2] == channels
    require(fits, f"an earlier map (3, positions, {channels}), not {earlier.shape}")
    require(bool(np.isfinite(earlier).all()), "a finite earlier map")


def the_same_pixels_have_the_same_maps(given: Given[Backbone]) -> None:
    """A backbone is frozen and deterministic."""
    network = _usable(given, backbone)
    first, second = (network.features(_pictures(network)) for _ in range(2))
    for one, other in zip(_all_maps(first), _all_maps(second), strict=True):
        assert_array_equal(one, other)


def a_picture_has_the_same_map_alone_and_in_a_batch(given: Given[Backbone]) -> None:
    """Pictures of a batch do not influence each other."""
    network = _usable(given, backbone)
    batch = _pictures(network)
    together = _all_maps(network.features(batch))
    singles = [_all_maps(network.features(pixels[None])) for pixels in batch]
    for expected, *parts in zip(together, *singles, strict=True):
        alone = np.concatenate(parts)
        assert_allclose(alone, expected, rtol=1e-3, atol=1e-3 * float(np.abs(expected).max()))


def no_picture_has_no_map(given: Given[Backbone]) -> None:
    """An empty batch has an empty result."""
    network = _usable(given, backbone)
    require(len(network.features(_pictures(network, 0))) == 0, "no maps for an empty batch")


def other_arrays_are_refused(given: Given[Backbone]) -> None:
    """Pixels of another shape or type raise FeatureError."""
    network = _usable(given, backbone)
    good = _pictures(network, 1)
    for wrong in (good[0], good[:, 1:], good.astype(np.float32)):
        case = f"{wrong.dtype} pixels of shape {wrong.shape}"
        require_raises(FeatureError, case, network.features, wrong)


BACKBONE_CHECKS = rules_in(globals(), *VIEW_CHECKS)
"""The rules, each a function of a spec, a class or an instance."""


def _maps(n: int = 3, positions: int = 49, seed: int = 0) -> FeatureMaps:
    """Return feature maps like a network's: between 0 and 6, many zeros."""
    rng = np.random.default_rng(seed)
    grid = np.minimum(np.maximum(rng.normal(0, 2, (n, positions, CHANNELS)), 0), 6)
    return _with_token(grid.astype(np.float32))


def _with_token(grid: NDArray[np.float32]) -> FeatureMaps:
    """Return maps whose class token is the first position."""
    return FeatureMaps(grid, np.ascontiguousarray(grid[:, 0]))


def embeddings_are_float32_rows_of_equal_blocks(given: Given[Pooling]) -> None:
    """A pooling returns float32 (n, width), and `blocks` divides the width evenly."""
    pool = built(given, pooling)
    embeddings = pool(_maps())
    require(embeddings.dtype == np.float32, f"float32 embeddings, not {embeddings.dtype}")
    require(len(embeddings) == 3, f"one row per picture, not {len(embeddings)} rows")
    width = embeddings.shape[1]
    require(width % (CHANNELS * pool.blocks) == 0, f"{pool.blocks} equal blocks in {width}")


def a_picture_pools_the_same_alone_and_in_a_batch(given: Given[Pooling]) -> None:
    """Pictures of a batch do not influence each other."""
    pool = built(given, pooling)
    batch = _maps()
    alone = np.vstack([pool(_with_token(batch.grid[i : i + 1])) for i in range(3)])
    assert_allclose(pool(batch), alone, rtol=1e-5, atol=1e-6)


def the_memory_layout_does_not_matter(given: Given[Pooling]) -> None:
    """Maps with channels first or last in memory have the same embedding."""
    grid = _maps().grid
    channels_first = np.ascontiguousarray(grid.transpose(0, 2, 1)).transpose(0, 2, 1)
    pool = built(given, pooling)
    found, expected = pool(_with_token(channels_first)), pool(_with_token(grid))
    assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def constant_maps_have_finite_embeddings(given: Given[Pooling]) -> None:
    """A channel without variance does not divide by zero."""
    for value in (0.0, 0.1, 3.7, 1e30, 1e-30, 1e-42):
        _require_finite(given, np.full((2, 49, 5), value, np.float32), f"all {value:g}")


def extreme_maps_have_finite_embeddings(given: Given[Pooling]) -> None:
    """Very large, very small and denormal activations have finite embeddings."""
    for scale in (1e30, 1e-30, 1e-42):
        grid = (_maps().grid.astype(np.float64) * scale).astype(np.float32)
        _require_finite(given, grid, f"around {scale:g}")


def one_position_is_enough(given: Given[Pooling]) -> None:
    """A map of one position has a finite embedding."""
    _require_finite(given, _maps(positions=1).grid, "of one position")


def no_picture_has_no_embedding(given: Given[Pooling]) -> None:
    """An empty batch has an empty result."""
    require(len(built(given, pooling)(_maps(n=0))) == 0, "no rows for an empty batch")


def _require_finite(given: Given[Pooling], grid: NDArray[np.float32], what: str) -> None:
    finite = bool(np.isfinite(built(given, pooling)(_with_token(grid))).all())
    require(finite, f"embeddings are finite for activations {what}")


POOLING_CHECKS = rules_in(globals(), *VIEW_CHECKS, *BACKBONE_CHECKS)
"""The rules, each a function of a spec, a class or an instance."""


def _scenes(found: Finder) -> list[Pixels]:
    """Return pictures of noise and of one colour."""
    shape = (found.input_size, found.input_size, 3)
    plain = [np.full(shape, light, np.uint8) for light in (0, 128, 255)]
    return [np.random.default_rng(0).integers(0, 256, shape, np.uint8), *plain]


def a_finder_describes_itself(given: Given[Finder]) -> None:
    """A finder has an input size, and the same fingerprint at each load."""
    found = _usable(given, finder)
    require(found.input_size > 0, f"a positive input size, not {found.input_size}")
    require(bool(found.fingerprint), "a fingerprint")
    again = _usable(given, finder).fingerprint
    require(found.fingerprint == again, "the same fingerprint at each load")


def a_finder_returns_boxes_for_any_picture(given: Given[Finder]) -> None:
    """Boxes are (n, 4), relative to the sides of the picture; n may be 0."""
    found = _usable(given, finder)
    for picture in _scenes(found):
        corners = found.corners(picture)
        chosen(corners, (640, 480), 8)
        require(corners.ndim == 2 and corners.shape[1] == 4, f"boxes (n, 4), not {corners.shape}")


def the_same_picture_has_the_same_boxes(given: Given[Finder]) -> None:
    """Finders are deterministic and leave the given pixels as they are."""
    found = _usable(given, finder)
    for picture, unchanged in zip(_scenes(found), _scenes(found), strict=True):
        assert_array_equal(found.corners(picture), found.corners(picture))
        assert_array_equal(picture, unchanged)


FINDER_CHECKS = rules_in(globals(), *VIEW_CHECKS, *BACKBONE_CHECKS, *POOLING_CHECKS)
"""The rules, each a function of a spec, a class or an instance."""
