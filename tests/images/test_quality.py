"""Pictures that are too poor to learn from are found, and ordinary pictures are not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image, ImageDraw
from scipy.ndimage import gaussian_filter, uniform_filter1d

import robocle
from refusal import Refusal
from robocle.backbones import Backbone
from robocle.errors import QualityError
from robocle.images import SquareImage, quality, read, to_pixels
from robocle.images.quality import (
    KINDS,
    Complaint,
    complaints,
    near_duplicate,
    nothing_to_see,
    require_good,
)
from robocle.types import Pixels

SIDE = 224
HOME = Path(robocle.__file__).parent / "demo" / "home"
ORDINARY = sorted(HOME.glob("*/*/*.jpg"))
SOME = sorted(HOME.glob("clean/*/0.jpg"))[::4]


def kinds(pixels: Pixels, size: tuple[int, int] = (640, 480)) -> list[str]:
    return [complaint.kind for complaint in complaints(SquareImage(pixels, size))]


def levels(values: Any) -> Pixels:
    rounded: Pixels = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return rounded


def lit(pixels: Pixels, gain: float) -> Pixels:
    return levels(pixels * np.float32(gain))


def out_of_focus(pixels: Pixels, deviation: float = 4.0) -> Pixels:
    return levels(gaussian_filter(pixels.astype(np.float32), (deviation, deviation, 0)))


def moved(pixels: Pixels, axis: int) -> Pixels:
    return levels(uniform_filter1d(pixels.astype(np.float32), 15, axis=axis, mode="nearest"))


def moved_diagonally(pixels: Pixels) -> Pixels:
    shifted = [np.roll(pixels, (by, by), (0, 1)) for by in range(-5, 6)]
    return levels(np.mean(shifted, axis=0))


# ---- ordinary pictures pass


@pytest.mark.slow
def test_no_picture_of_the_home_has_a_complaint_even_in_dim_light() -> None:
    assert len(ORDINARY) > 1000
    assert [path for path in ORDINARY if complaints(read(path, SIDE))] == []


def product(colour: str) -> Pixels:
    """An object on a white background, as in a catalogue, drawn large and then reduced."""
    image = Image.new("RGB", (4 * SIDE, 4 * SIDE), "white")
    ImageDraw.Draw(image).rounded_rectangle((250, 300, 640, 600), 80, fill=colour)
    return to_pixels(image, SIDE)


@pytest.mark.parametrize("colour", ["black", "navy", "red", "yellow", "silver", "wheat"])
def test_a_product_on_a_white_background_is_neither_overexposed_nor_blurred(
    colour: str,
) -> None:
    assert kinds(product(colour)) == []


def test_a_thin_object_on_white_and_a_black_one_with_a_bright_patch_on_black_pass() -> None:
    image = Image.new("RGB", (4 * SIDE, 4 * SIDE), "white")
    ImageDraw.Draw(image).ellipse((150, 150, 750, 750), outline="black", width=90)
    assert kinds(to_pixels(image, SIDE)) == []
    pixels = np.full((SIDE, SIDE, 3), 8, np.uint8)
    pixels[60:160, 60:160] = 30
    pixels[80:140, 80:140] = 120
    assert kinds(pixels) == []


@pytest.mark.slow
@pytest.mark.parametrize("side", [112, 160, 224, 300, 384, 518])
def test_the_result_does_not_depend_on_the_input_size_of_the_backbone(side: int) -> None:
    for path in SOME:
        pixels = to_pixels(path, side)
        assert kinds(pixels) == []
        assert kinds(out_of_focus(pixels, side / 50)) == ["blurred"]


# ---- poor ones are caught


NOISE = np.random.default_rng(0).normal(0, 3, (SIDE, SIDE, 3))
POOR: dict[str, tuple[str, float, Callable[[Pixels], Pixels]]] = {
    "dark": ("dark", 1, lambda pixels: lit(pixels, 0.1)),
    "overexposed": ("bright", 0.9, lambda pixels: lit(pixels, 4)),
    "out of focus": ("blurred", 1, out_of_focus),
    "noisy": ("blurred", 0.9, lambda pixels: levels(out_of_focus(pixels) + NOISE)),
    "moved down": ("blurred", 0.9, lambda pixels: moved(pixels, 0)),
    "moved right": ("blurred", 0.9, lambda pixels: moved(pixels, 1)),
    "moved diagonally": ("blurred", 0.9, moved_diagonally),
}


@pytest.mark.parametrize("name", POOR)
def test_a_poor_picture_is_caught(name: str) -> None:
    kind, least, change = POOR[name]
    assert np.mean([kind in kinds(change(to_pixels(path, SIDE))) for path in SOME]) >= least


def test_a_small_picture_has_no_other_complaint(tmp_path: Path) -> None:
    for path in SOME:
        with Image.open(path) as image:
            image.resize((32, 32)).save(tmp_path / "small.png")
        assert [c.kind for c in complaints(read(tmp_path / "small.png", SIDE))] == ["small"]


@pytest.mark.parametrize(
    ("level", "kind"), [(0, "dark"), (60, "flat"), (128, "flat"), (200, "flat"), (255, "bright")]
)
def test_a_picture_of_one_level_has_one_fault(level: int, kind: str) -> None:
    assert kinds(np.full((SIDE, SIDE, 3), level, np.uint8)) == [kind]


def test_the_sharpness_of_a_step_follows_the_formula_and_a_wide_blur_lowers_it() -> None:
    upright = np.tile(np.array([0, 200], np.float32).repeat(56), (112, 1))
    steps = np.maximum(upright, upright.T)
    # Of n rows that cross the edge, 1 or REACH differences are not zero.
    expected = (1 / quality.REACH) ** 0.25
    assert quality.sharpness(steps) == pytest.approx(expected, rel=0.1)
    assert quality.sharpness(gaussian_filter(steps, 4)) < quality.BLURRED


# ---- the messages


def test_every_complaint_is_one_line_with_the_value_and_advice() -> None:
    good, embedding = to_pixels(SOME[0], SIDE), np.ones(4, np.float32)
    poor = [lit(good, 0.1), lit(good, 8), np.full_like(good, 90), out_of_focus(good)]
    images = [SquareImage(good, (32, 48)), *(SquareImage(each, (640, 480)) for each in poor)]
    found = [complaint for image in images for complaint in complaints(image)]
    found += [complaint for complaint in [near_duplicate(embedding, embedding, "mug")] if complaint]
    assert tuple(complaint.kind for complaint in found) == KINDS
    for complaint in found:
        assert str(complaint).splitlines() == [complaint.advice]
        what, advice = complaint.advice.split(": ")
        assert any(letter.isdigit() for letter in what)
        assert advice


def test_a_poor_picture_is_refused_with_all_its_faults(refusal: Refusal) -> None:
    black = SquareImage(np.zeros((SIDE, SIDE, 3), np.uint8), (20, 20))
    message = refusal(QualityError, lambda: require_good(complaints(black)))
    assert "20x20" in message
    assert "very dark" in message


# ---- duplicates


@pytest.fixture(scope="module")
def embed(lite0: Backbone) -> Callable[[Pixels], Any]:
    learner = robocle.Learner(lite0)
    return lambda pixels: learner.embed_for_teaching(pixels).values


def frame(pixels: Pixels, down: int, right: int, gain: float, seed: int) -> Pixels:
    """Another frame of an object that is held still: noise, a small shift, another exposure."""
    noise = np.random.default_rng(seed).normal(0, 2, (SIDE - 8, SIDE - 8, 3))
    region = pixels[4 + down : SIDE - 4 + down, 4 + right : SIDE - 4 + right]
    return levels(region * gain + noise)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("down", "right", "gain"), [(0, 0, 1.0), (1, 0, 1.0), (-1, 2, 1.0), (0, 0, 1.05), (2, 1, 0.95)]
)
def test_the_next_frame_of_an_object_held_still_is_a_duplicate(
    down: int, right: int, gain: float, embed: Callable[[Pixels], Any]
) -> None:
    for path in SOME:
        pixels = to_pixels(path, SIDE)
        first, second = frame(pixels, 0, 0, 1.0, 1), frame(pixels, down, right, gain, 2)
        complaint = near_duplicate(embed(second), embed(first), "mug")
        assert isinstance(complaint, Complaint)
        assert complaint.kind == "duplicate"


@pytest.mark.slow
def test_other_pictures_of_the_same_object_are_not_duplicates(
    embed: Callable[[Pixels], Any],
) -> None:
    for path in SOME:
        first, *others = [to_pixels(image, SIDE) for image in sorted(path.parent.glob("*.jpg"))]
        assert others
        assert not any(near_duplicate(embed(other), embed(first), "mug") for other in others)


@given(arrays(np.float32, 5, elements=st.floats(-1e3, 1e3, width=32)), st.floats(0.1, 10))
def test_the_scale_of_the_embeddings_does_not_matter(embedding: Any, scale: float) -> None:
    other = embedding[::-1]
    one, two = near_duplicate(embedding, other, "mug"), near_duplicate(other, embedding, "mug")
    assert (one is None) == (two is None)
    assert near_duplicate(embedding, embedding, "mug") is not None
    scaled = near_duplicate(np.float32(scale) * embedding, np.float32(scale) * other, "mug")
    if one is not None and scaled is not None:
        assert scaled.value == pytest.approx(one.value, abs=1e-3)


# ---- arbitrary pixels


@given(
    st.sampled_from([16, 17, 32, 111, 224]),
    st.sampled_from([1, 2, 8, 64, 256]),
    st.integers(0, 255),
    st.integers(0, 2**32 - 1),
)
def test_any_picture_has_finite_measurements(side: int, spread: int, level: int, seed: int) -> None:
    noise = np.random.default_rng(seed).integers(0, spread, (side, side, 3))
    for complaint in complaints(SquareImage(levels(level + noise), (640, 480))):
        assert complaint.kind in KINDS
        assert np.isfinite(complaint.value)


# ---- the documentation


def test_the_page_on_teaching_names_every_kind_and_limit() -> None:
    page = (Path(__file__).parents[2] / "docs" / "teaching.md").read_text("utf-8")
    for kind in KINDS:
        assert f"| `{kind}` |" in page
        limit = kind.upper() if kind != "bright" else "BRIGHT_WHITE"
        assert f"`{limit}`" in page
        assert hasattr(quality, limit)


# ---- nothing to see


@pytest.mark.parametrize(
    ("level", "reason"),
    [(0, "the picture is black"), (255, "the picture is white"), (120, "the picture is empty")],
)
def test_a_frame_without_contrast_has_nothing_to_see(level: int, reason: str) -> None:
    noise = np.random.default_rng(0).integers(-2, 3, (240, 320, 3)) if level else 0
    frame = np.clip(level + noise * (level < 255), 0, 255) * np.ones((240, 320, 3))
    assert nothing_to_see(read(frame.astype(np.uint8), 224)) == reason


def test_dim_and_plain_pictures_may_show_an_object(photo: Pixels) -> None:
    dim = (photo * 0.15).astype(np.uint8)
    plain = np.full((240, 320, 3), 200, np.uint8)
    plain[100:140, 140:180] = 170
    for picture in (photo, dim, plain):
        assert nothing_to_see(read(picture, 224)) == ""
