"""Corruptions use the paper's ranges, follow their formulas, and depend on their key alone."""

import colorsys
import math
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from robocle.contract import CORRUPTION_CHECKS
from robocle.errors import SpecError
from robocle.evaluation.corruptions import CORRUPTIONS, corruption, corruption_rng
from robocle.evaluation.corruptions.appearance import (
    STEPS,
    Illumination,
    Light,
    Noise,
    blurred,
    draw_deviation,
    draw_light,
    lit,
    noisy,
)
from robocle.evaluation.corruptions.geometry import (
    CORNERS,
    Geometry,
    Motion,
    draw_motion,
    homography,
    moved,
)
from robocle.images import to_pixels
from robocle.types import Pixels

SIDE = 224
HOME = Path(__file__).parents[2] / "src/robocle/demo/home"
SPECS = [
    *CORRUPTIONS.names(),
    "illum:strength=0.3",
    "geom:strength=2,shear_unit=tangent",
    "noise:low=0,high=0.1,unit=58",
    "blur:low=0.1,high=0.5",
    "all:strength=0.5",
]
RANDOM = [name for name in CORRUPTIONS.names() if name != "clean"]


def photograph(name: str = "apple_01") -> Pixels:
    return to_pixels(HOME / "clean" / name / "0.jpg", SIDE)


def texture(side: int = SIDE, seed: int = 0) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)


def applied(spec: str, pixels: Pixels, *, seed: int = 0, image: str = "mug/0.jpg") -> Pixels:
    return corruption(spec)(pixels, corruption_rng(seed, image, spec))


def difference(found: Pixels, expected: NDArray[np.float64] | Pixels) -> NDArray[np.float64]:
    return np.abs(found.astype(np.float64) - expected)


@pytest.fixture(params=SPECS)
def spec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# ---- what holds for every corruption


@pytest.mark.parametrize("check", CORRUPTION_CHECKS, ids=lambda check: check.__name__)
def test_every_corruption_keeps_the_contract(spec: str, check: Callable[[str], None]) -> None:
    check(spec)


@pytest.mark.parametrize("name", RANDOM)
def test_another_seed_or_picture_gives_other_pixels(name: str) -> None:
    result = applied(name, photograph())
    assert not np.array_equal(result, applied(name, photograph(), seed=1))
    assert not np.array_equal(result, applied(name, photograph(), image="mug/1.jpg"))


def test_the_key_is_the_picture_and_the_name_of_the_corruption_without_its_options() -> None:
    full = corruption_rng(0, "mug", "geom").random(4)
    assert np.array_equal(full, corruption_rng(0, "mug", "geom:strength=0.5").random(4))
    assert not np.array_equal(full, corruption_rng(0, "mug", "illum").random(4))


# ---- specs


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ("geo", "unknown corruption 'geo': did you mean 'geom'"),
        ("noise:hig=1", "noise has no option 'hig': did you mean 'high'"),
        ("clean:strength=1", "it has no options"),
        ("geom:shear_unit=radians", "shear_unit=radians is not known: choose degrees or tangent"),
        ("illum:strength=3", "strength=3 is out of range: give 0 to 2"),
        ("noise:low=0.4,high=0.2", "high=0.2 is out of range: give 0.4 to 10"),
        ("blur:low=0", "low=0 is out of range: give 0.01 to 10"),
        ("blur:high=wide", "high=wide of blur must be float"),
    ],
)
def test_a_bad_spec_is_an_error_that_says_what_to_do(wrong: str, advice: str) -> None:
    with pytest.raises(SpecError) as refusal:
        corruption(wrong)
    assert advice in str(refusal.value)


# ---- clean and all


@pytest.mark.parametrize("seed", range(5))
def test_all_is_illumination_then_geometry_then_noise(seed: int) -> None:
    pixels, rng = photograph(), corruption_rng(seed, "mug", "all")
    expected = Noise()(Geometry()(Illumination()(pixels, rng), rng), rng)
    assert np.array_equal(applied("all", pixels, seed=seed, image="mug"), expected)


def test_at_strength_0_all_only_flips() -> None:
    pixels = photograph()
    flips = [pixels[::down, ::across] for down in (1, -1) for across in (1, -1)]
    for seed in range(8):
        result = applied("all:strength=0", pixels, seed=seed)
        assert any(np.array_equal(result, flip) for flip in flips)


# ---- illumination


def within(values: list[float], low: float, high: float) -> bool:
    """Whether all values are in the range and spread evenly over it."""
    spread = high - low
    inside = low <= min(values) and max(values) <= high
    full = min(values) < low + 0.02 * spread and max(values) > high - 0.02 * spread
    return inside and full and abs(fmean(values) - (low + high) / 2) < 0.03 * spread


@pytest.mark.parametrize("strength", [1.0, 0.5])
def test_light_is_drawn_from_the_papers_ranges(strength: float) -> None:
    rng = np.random.default_rng(0)
    lights = [draw_light(rng, strength) for _ in range(2000)]
    half, tenth = 0.5 * strength, 0.1 * strength
    assert within([light.brightness for light in lights], 1 - half, 1 + half)
    assert within([light.contrast for light in lights], 1 - half, 1)
    assert within([light.saturation for light in lights], 1 - half, 1 + half)
    assert within([light.hue for light in lights], -tenth, tenth)
    orders = [light.order for light in lights]
    assert len(set(orders)) == math.factorial(4)
    assert all(set(order) == set(STEPS) for order in orders)


def grey(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rec. 601 luma, which PIL calls L."""
    red, green, blue = np.moveaxis(pixels, 2, 0)
    luma: NDArray[np.float64] = np.rint(0.299 * red + 0.587 * green + 0.114 * blue)
    return luma


def blend(
    towards: NDArray[np.float64], pixels: NDArray[np.float64], factor: float
) -> NDArray[np.float64]:
    return np.clip(towards + factor * (pixels - towards), 0, 255)


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.2, 1.5])
def test_brightness_contrast_and_saturation_follow_their_formulas(factor: float) -> None:
    for pixels in (photograph(), texture()):
        values = pixels.astype(np.float64)
        black = np.zeros_like(values)
        mean_grey = np.full_like(values, np.rint(grey(values).mean()))
        own_grey = np.repeat(grey(values)[..., None], 3, axis=2)
        for light, towards in (
            (Light(brightness=factor), black),
            (Light(contrast=factor), mean_grey),
            (Light(saturation=factor), own_grey),
        ):
            assert difference(lit(pixels, light), blend(towards, values, factor)).max() <= 2


@pytest.mark.parametrize("share", [-0.2, -0.1, -0.03, 0.001, 0.05, 0.1, 0.2])
def test_hue_rotates_the_colour_circle(share: float) -> None:
    pixels = texture(24)
    expected = np.zeros(pixels.shape)
    for place in np.ndindex(24, 24):
        hue, saturation, value = colorsys.rgb_to_hsv(*(pixels[place] / 255.0))
        expected[place] = 255 * np.array(colorsys.hsv_to_rgb((hue + share) % 1, saturation, value))
    assert difference(lit(pixels, Light(hue=share)), expected).max() <= 0.51


def test_light_is_applied_in_its_order() -> None:
    pixels, more, less = photograph(), Light(brightness=1.5), Light(contrast=0.5)
    both = Light(brightness=1.5, contrast=0.5, order=("contrast", "brightness"))
    assert np.array_equal(lit(pixels, both), lit(lit(pixels, less), more))
    assert not np.array_equal(lit(pixels, both), lit(lit(pixels, more), less))


# ---- geometry


def test_motion_is_drawn_from_the_papers_ranges() -> None:
    rng = np.random.default_rng(0)
    motions = [draw_motion(rng) for _ in range(4000)]
    tangent = math.tan(math.radians(0.1))
    assert within([motion.degrees for motion in motions], -30, 30)
    assert within([motion.right for motion in motions], -0.2, 0.2)
    assert within([motion.down for motion in motions], -0.2, 0.2)
    assert within([motion.scale for motion in motions], 0.8, 1.2)
    assert within([motion.shear for motion in motions], -tangent, tangent)
    assert np.mean([motion.mirrored for motion in motions]) == pytest.approx(0.5, abs=0.03)
    assert np.mean([motion.upended for motion in motions]) == pytest.approx(0.3, abs=0.03)


def test_perspective_is_rare_and_moves_each_corner_inwards() -> None:
    rng = np.random.default_rng(0)
    insets = np.array([draw_motion(rng).insets for _ in range(4000)])
    slanted = insets.any(axis=(1, 2))
    assert slanted.mean() == pytest.approx(0.2, abs=0.02)
    for corner in range(4):
        for axis in range(2):
            assert within(insets[slanted, corner, axis].tolist(), 0, 0.1)


def test_shear_can_be_read_as_a_tangent() -> None:
    rng = np.random.default_rng(0)
    shears = [draw_motion(rng, shear_unit="tangent").shear for _ in range(2000)]
    assert within(shears, -0.1, 0.1)


def test_another_strength_moves_the_same_way_only_further() -> None:
    for seed in range(20):
        half, full = (draw_motion(np.random.default_rng(seed), s) for s in (0.5, 1.0))
        assert full.degrees == pytest.approx(2 * half.degrees)
        assert full.scale - 1 == pytest.approx(2 * (half.scale - 1))
        assert np.allclose(full.insets, 2 * np.array(half.insets))
        assert (full.mirrored, full.upended) == (half.mirrored, half.upended)


def marker(x: float, y: float) -> Pixels:
    """A white dot at a position given in fractions of the side from the centre."""
    rows, columns = np.mgrid[:SIDE, :SIDE] + 0.5
    away = np.hypot(columns - (x + 0.5) * SIDE, rows - (y + 0.5) * SIDE)
    return np.repeat(np.where(away < 6, 255, 0).astype(np.uint8)[..., None], 3, axis=2)


def place_of_marker(pixels: Pixels) -> NDArray[np.float64]:
    down, right = ndimage.center_of_mass(pixels[..., 0])
    return np.array([right + 0.5, down + 0.5]) / SIDE - 0.5


def turned(x: float, y: float, degrees: float) -> tuple[float, float]:
    point = complex(x, y) * complex(
        math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    )
    return point.real, point.imag


@pytest.mark.parametrize(
    ("motion", "goes_to"),
    [
        (Motion(right=0.1), lambda x, y: (x + 0.1, y)),
        (Motion(down=-0.15), lambda x, y: (x, y - 0.15)),
        (Motion(scale=0.8), lambda x, y: (0.8 * x, 0.8 * y)),
        (Motion(mirrored=True), lambda x, y: (-x, y)),
        (Motion(upended=True), lambda x, y: (x, -y)),
        (Motion(degrees=30), lambda x, y: turned(x, y, 30)),
        (Motion(degrees=-90), lambda x, y: (y, -x)),
        (Motion(shear=0.1), lambda x, y: (x - 0.1 * y, y)),
        (Motion(degrees=90, right=0.1, mirrored=True), lambda x, y: (y - 0.1, x)),
    ],
)
def test_a_marker_moves_to_where_the_motion_takes_it(
    motion: Motion, goes_to: Callable[[float, float], tuple[float, float]]
) -> None:
    for x, y in ((0.2, 0.1), (-0.1, 0.25), (0.0, -0.2)):
        found = place_of_marker(moved(marker(x, y), motion))
        assert np.allclose(found, goes_to(x, y), atol=0.5 / SIDE)


def test_perspective_moves_the_corners_by_their_insets() -> None:
    insets = ((0.05, 0.1), (0.02, 0.0), (0.1, 0.03), (0.0, 0.07))
    matrix = homography(Motion(insets=insets))
    expected = [(-0.45, -0.4), (0.48, -0.5), (0.4, 0.47), (-0.5, 0.43)]
    for corner, place in zip(CORNERS, expected, strict=True):
        x, y, w = matrix @ [*corner, 1]
        assert (x / w, y / w) == pytest.approx(place)


def test_resampling_is_bilinear_between_pixel_centres() -> None:
    pixels = texture(64)
    motion = Motion(degrees=17, scale=1.1, right=0.03, insets=((0.05, 0.02),) * 4)
    rows, columns = np.mgrid[:64, :64] + 0.5
    points = np.stack([columns / 64 - 0.5, rows / 64 - 0.5, np.ones((64, 64))]).reshape(3, -1)
    x, y, w = np.linalg.inv(homography(motion)) @ points
    sources = np.stack([(y / w + 0.5) * 64 - 0.5, (x / w + 0.5) * 64 - 0.5])
    inside = ((sources > 0.5) & (sources < 62.5)).all(axis=0).reshape(64, 64)
    for channel in range(3):
        expected = ndimage.map_coordinates(pixels[..., channel].astype(float), sources, order=1)
        found = difference(moved(pixels, motion)[..., channel], expected.reshape(64, 64))
        assert found[inside].max() <= 1


# ---- noise


@pytest.mark.parametrize(("deviation", "unit"), [(0.05, 128), (0.1, 128), (0.2, 128), (0.5, 58)])
def test_noise_on_mid_grey_has_the_given_deviation(deviation: float, unit: int) -> None:
    grey = np.full((SIDE, SIDE, 3), 127, np.uint8)
    spec = f"noise:low={deviation},high={deviation},unit={unit}"
    found = applied(spec, grey).astype(np.float64) - 127
    assert found.std() == pytest.approx(unit * deviation, rel=0.01)
    assert found.mean() == pytest.approx(0, abs=0.3)


def test_noise_is_clipped_and_never_wraps_around() -> None:
    for level in (0, 255):
        found = noisy(np.full((64, 64, 3), level, np.uint8), 20, np.random.default_rng(0))
        assert np.abs(found.astype(int) - level).max() < 120
        assert (found == level).mean() == pytest.approx(0.51, abs=0.02)


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.5), (0.5, 3.0), (2.0, 2.0)])
def test_deviations_are_drawn_uniformly_from_low_to_high(low: float, high: float) -> None:
    rng = np.random.default_rng(0)
    drawn = [draw_deviation(rng, low, high) for _ in range(2000)]
    assert within(drawn, low, high) or set(drawn) == {low}


# ---- blur


@pytest.mark.parametrize("deviation", [0.1, 0.5, 1.0, 2.0, 3.0, 10.0])
def test_blur_is_a_convolution_with_an_11_by_11_kernel(deviation: float) -> None:
    rows, columns = np.mgrid[-5:6, -5:6]
    kernel = np.exp(-(rows**2 + columns**2) / (2 * deviation**2))
    kernel /= kernel.sum()
    pixels = texture(40)
    bordered = np.pad(pixels.astype(np.float64), ((5, 5), (5, 5), (0, 0)), mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(bordered, (11, 11), axis=(0, 1))
    expected = np.einsum("ijcab,ab->ijc", windows, kernel)
    assert difference(blurred(pixels, deviation), expected).max() <= 0.51
