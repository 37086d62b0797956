"""The rules that every backbone keeps."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from robocle.backbones import Backbone, backbone, earlier_channels
from robocle.contract.checking import require, require_raises
from robocle.errors import FeatureError
from robocle.types import FeatureMaps, Pixels


def pictures(network: Backbone, n: int = 3) -> Pixels:
    """Return n pictures of the size that the backbone takes."""
    side = network.input_size
    return np.random.default_rng(0).integers(0, 256, (n, side, side, 3), np.uint8)


def all_maps(maps: FeatureMaps) -> list[NDArray[np.float32]]:
    """Return all arrays that a backbone computed."""
    return [each for each in (maps.grid, maps.token, maps.earlier) if each is not None]


def a_backbone_describes_itself(spec: str) -> None:
    """A backbone has a name, a fingerprint, an input size and a pixel unit."""
    network = backbone(spec)
    require(bool(network.name), "a name")
    require(bool(network.fingerprint), "a fingerprint")
    require(network.input_size > 0, f"a positive input size, not {network.input_size}")
    require(network.pixel_unit > 0, f"a positive pixel unit, not {network.pixel_unit}")


def the_fingerprint_is_the_same_at_each_load(spec: str) -> None:
    """The fingerprint depends on the network's function alone: states are tied to it."""
    first, second = backbone(spec).fingerprint, backbone(spec).fingerprint
    require(first == second, f"one fingerprint, not {first} and {second}")


def feature_maps_are_finite_float32(spec: str) -> None:
    """`features` returns a float32 grid (n, positions, channels), and a token if it has one."""
    network = backbone(spec)
    maps = network.features(pictures(network))
    require(maps.grid.dtype == np.float32, f"a float32 grid, not {maps.grid.dtype}")
    require(maps.grid.ndim == 3, f"(n, positions, channels), not {maps.grid.shape}")
    require(len(maps) == 3, f"one map per picture, not {len(maps)}")
    require(bool(np.isfinite(maps.grid).all()), "finite maps")
    require((maps.token is not None) == network.has_token, "a class token if `has_token` says so")


def an_earlier_map_has_the_channels_that_the_backbone_names(spec: str) -> None:
    """`features` returns a finite float32 map (n, positions, `earlier_channels`), or none."""
    network = backbone(spec)
    channels = earlier_channels(network)
    earlier = network.features(pictures(network)).earlier
    if earlier is None:
        require(not channels, f"an earlier map, as `earlier_channels` is {channels}")
        return
    require(channels > 0, "no earlier map without `earlier_channels`")
    require(earlier.dtype == np.float32, f"a float32 earlier map, not {earlier.dtype}")
    fits = earlier.ndim == 3 and earlier.shape[0] == 3 and earlier.shape[2] == channels
    require(fits, f"an earlier map (3, positions, {channels}), not {earlier.shape}")
    require(bool(np.isfinite(earlier).all()), "a finite earlier map")


def the_same_pixels_have_the_same_maps(spec: str) -> None:
    """A backbone is frozen and deterministic."""
    network = backbone(spec)
    first, second = (network.features(pictures(network)) for _ in range(2))
    for one, other in zip(all_maps(first), all_maps(second), strict=True):
        assert_array_equal(one, other)


def a_picture_has_the_same_map_alone_and_in_a_batch(spec: str) -> None:
    """Pictures of a batch do not influence each other."""
    network = backbone(spec)
    batch = pictures(network)
    together = all_maps(network.features(batch))
    singles = [all_maps(network.features(pixels[None])) for pixels in batch]
    for expected, *parts in zip(together, *singles, strict=True):
        alone = np.concatenate(parts)
        assert_allclose(alone, expected, rtol=1e-3, atol=1e-3 * float(np.abs(expected).max()))


def no_picture_has_no_map(spec: str) -> None:
    """An empty batch has an empty result."""
    network = backbone(spec)
    require(len(network.features(pictures(network, 0))) == 0, "no maps for an empty batch")


def other_arrays_are_refused(spec: str) -> None:
    """Pixels of another shape or type raise FeatureError."""
    network = backbone(spec)
    good = pictures(network, 1)
    for wrong in (good[0], good[:, 1:], good.astype(np.float32)):
        case = f"{wrong.dtype} pixels of shape {wrong.shape}"
        require_raises(FeatureError, case, network.features, wrong)


BACKBONE_CHECKS = (
    a_backbone_describes_itself,
    the_fingerprint_is_the_same_at_each_load,
    feature_maps_are_finite_float32,
    an_earlier_map_has_the_channels_that_the_backbone_names,
    the_same_pixels_have_the_same_maps,
    a_picture_has_the_same_map_alone_and_in_a_batch,
    no_picture_has_no_map,
    other_arrays_are_refused,
)
"""The rules, each a function of a spec."""
