"""Pictures of every type and format are read as the same square of pixels."""

import subprocess
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from picture_files import ORIENTATIONS, encoded_with_orientation, png
from robocle.images.folders import pictures_in, pictures_under
from robocle.images.reading import read, to_pixels
from robocle.images.square import ORIENTATION_TAG

Rgb = tuple[int, int, int]

SIDE = 224
RED, WHITE, BLACK = (255, 0, 0), (255, 255, 255), (0, 0, 0)


def colour(pixels: NDArray[np.uint8], across: float, down: float) -> Rgb:
    """Return the colour at a place given as fractions of the width and the height."""
    red, green, blue = pixels[int(down * SIDE), int(across * SIDE)].tolist()
    return red, green, blue


def near(found: Rgb, wanted: Rgb, tolerance: int = 4) -> bool:
    return max(abs(a - b) for a, b in zip(found, wanted, strict=True)) <= tolerance


# ---- types of pictures: path, bytes, file, PIL image, array


@pytest.mark.parametrize("shape", [(480, 640), (224, 224), (100, 900), (16, 16), (2000, 1500)])
def test_a_png_path_a_pil_image_and_an_array_give_equal_pixels(
    shape: tuple[int, int], tmp_path: Path
) -> None:
    array = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    path = tmp_path / "noise.png"
    Image.fromarray(array).save(path, compress_level=0)
    pixels = to_pixels(array, SIDE)
    assert pixels.shape == (SIDE, SIDE, 3)
    assert pixels.dtype == np.uint8
    assert np.array_equal(to_pixels(path, SIDE), pixels)
    assert np.array_equal(to_pixels(str(path), SIDE), pixels)
    assert np.array_equal(to_pixels(Image.fromarray(array), SIDE), pixels)
    with Image.open(path) as unread:
        assert np.array_equal(to_pixels(unread, SIDE), pixels)


def test_bytes_file_objects_and_pipes_give_the_pixels_of_the_file(photo_jpeg: Path) -> None:
    pixels = to_pixels(photo_jpeg, SIDE)
    content = photo_jpeg.read_bytes()
    pictures: list[Any] = [content, bytearray(content), memoryview(content), BytesIO(content)]
    with (
        photo_jpeg.open("rb") as file,
        subprocess.Popen(["cat", str(photo_jpeg)], stdout=subprocess.PIPE) as cat,
    ):
        for picture in (*pictures, file, cat.stdout):
            assert np.array_equal(to_pixels(picture, SIDE), pixels)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_floats_from_0_to_1_give_the_pixels_of_the_levels(kind: type[np.floating]) -> None:
    levels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    floats = (levels / 255).astype(kind)
    assert np.array_equal(to_pixels(floats, SIDE), to_pixels(levels, SIDE))


def test_a_reduced_picture_is_close_to_the_mean_over_areas() -> None:
    array = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    smooth = np.asarray(Image.fromarray(array).resize((896, 896), Image.Resampling.BICUBIC))
    areas = smooth.reshape(SIDE, 4, SIDE, 4, 3).mean(axis=(1, 3))
    assert np.abs(to_pixels(smooth, SIDE) - areas).max() <= 1


def test_a_jpeg_decoded_at_reduced_scale_is_close_to_the_full_decode(photo_jpeg: Path) -> None:
    with Image.open(photo_jpeg) as image:
        full = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)
    difference = np.abs(to_pixels(photo_jpeg, SIDE).astype(int) - np.asarray(full))
    assert difference.mean() < 2
    assert np.percentile(difference, 99) < 16


def test_the_image_and_the_array_of_the_caller_are_not_changed(
    photo: NDArray[np.uint8], photo_jpeg: Path
) -> None:
    array = photo.copy()
    to_pixels(array, SIDE)
    assert np.array_equal(array, photo)
    with Image.open(photo_jpeg) as image:
        to_pixels(image, SIDE)
        assert image.size == (640, 480)
    for picture in (photo[::-1, ::2], photo.transpose(1, 0, 2)):
        assert np.array_equal(to_pixels(picture, SIDE), to_pixels(picture.copy(), SIDE))
    for same in (photo, Image.fromarray(photo), photo_jpeg):
        assert read(same, 64).size == (640, 480)  # a JPEG is decoded at a reduced scale


UPRIGHT: dict[str, tuple[dict[str, int], float, float]] = {
    "PNG": ({}, 2, 2),  # a resize rounds between its two passes, and a rotated picture swaps them
    "TIFF": ({}, 2, 2),
    "JPEG": ({"quality": 95}, 3, 255),
    **({"AVIF": ({"quality": 90}, 4, 255)} if "AVIF" in Image.SAVE else {}),
}


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("kind", UPRIGHT)
def test_a_picture_with_an_orientation_is_made_upright_once(
    kind: str, orientation: int, photo: NDArray[np.uint8], tmp_path: Path
) -> None:
    options, mean, most = UPRIGHT[kind]
    path = tmp_path / "rotated"
    path.write_bytes(encoded_with_orientation(photo, orientation, format=kind, **options))
    for side, box in ((SIDE, None), (64, (220, 120, 192, 192))):
        found = to_pixels(path, side, box)
        difference = np.abs(found.astype(int) - to_pixels(photo, side, box))
        assert difference.mean() < mean
        assert difference.max() <= most
        with Image.open(path) as image:
            assert kind == "JPEG" or np.array_equal(to_pixels(image, side, box), found)


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_an_invalid_orientation_is_ignored(
    orientation: int, photo: NDArray[np.uint8], tmp_path: Path
) -> None:
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    Image.fromarray(photo).save(tmp_path / "odd.png", exif=exif)
    assert np.array_equal(to_pixels(tmp_path / "odd.png", SIDE), to_pixels(photo, SIDE))


@pytest.mark.parametrize("size", [(640, 480), (480, 640), (1600, 100), (16, 400)])
def test_nothing_is_cropped_so_markers_in_the_corners_remain(size: tuple[int, int]) -> None:
    width, height = size
    image = Image.new("RGB", size, "grey")
    corners = {(0, 0): "red", (0, 1): "lime", (1, 0): "blue", (1, 1): "yellow"}
    for (right, bottom), name in corners.items():
        box = (right * (width - width // 8), bottom * (height - height // 8))
        image.paste(name, (*box, box[0] + width // 8, box[1] + height // 8))
    pixels = to_pixels(image, SIDE)
    found = [tuple(pixels[-bottom, -right].tolist()) for right, bottom in corners]
    assert found == [RED, (0, 255, 0), (0, 0, 255), (255, 255, 0)]


# ---- formats and colour modes


def left_and_right(path: Path) -> tuple[Rgb, Rgb]:
    """Return the colours of the two halves of a picture."""
    pixels = to_pixels(path, SIDE)
    return colour(pixels, 0.25, 0.5), colour(pixels, 0.75, 0.5)


def halves(mode: str, left: Any, right: Any) -> Image.Image:
    """Return a picture with one colour on the left and another on the right."""
    image = Image.new(mode, (64, 48), left)
    image.paste(right, (32, 0, 64, 48))
    return image


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "bmp", "gif", "tif", "ppm", "jp2"])
def test_every_listed_format_can_be_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"halves.{suffix}"
    halves("RGB", RED, WHITE).save(path)
    assert [path] == pictures_in(tmp_path)
    left, right = left_and_right(path)
    assert near(left, RED, 12)
    assert near(right, WHITE, 12)


def palette() -> Image.Image:
    image = halves("P", 1, 0)
    image.putpalette([*BLACK, *RED])
    return image


def deep() -> Image.Image:
    levels = np.array([[0x1234, 0xFEDC]], np.uint16)
    return Image.fromarray(levels.repeat(32, axis=1).repeat(48, axis=0))


MODES: dict[str, tuple[Image.Image, dict[str, Any], Rgb, Rgb, int]] = {
    "grey.png": (halves("L", 10, 200), {}, (10, 10, 10), (200, 200, 200), 0),
    "one bit.png": (halves("1", 0, 1), {}, BLACK, WHITE, 0),
    "16 bits.png": (deep(), {}, (0x12,) * 3, (0xFE,) * 3, 0),
    "transparent.png": (halves("RGBA", (*RED, 255), (0, 0, 255, 0)), {}, RED, WHITE, 0),
    "half transparent.png": (
        halves("RGBA", (*BLACK, 128), (*RED, 128)), {}, (127, 127, 127), (255, 127, 127), 1,
    ),
    "transparent grey.png": (halves("LA", (10, 255), (10, 0)), {}, (10, 10, 10), WHITE, 0),
    "palette.png": (palette(), {}, RED, BLACK, 0),
    "transparent palette.png": (palette(), {"transparency": 0}, RED, WHITE, 0),
    "transparent palette.gif": (palette(), {"transparency": 0}, RED, WHITE, 0),
    "transparent colour.png": (
        halves("RGB", RED, (0, 0, 255)), {"transparency": (0, 0, 255)}, RED, WHITE, 0,
    ),
    "print.jpg": (
        halves("CMYK", (0, 255, 255, 0), (0, 0, 0, 255)), {"quality": 95}, RED, BLACK, 6,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODES)
def test_every_mode_gives_its_colours_and_transparent_areas_are_white(
    name: str, tmp_path: Path
) -> None:
    image, options, *expected, tolerance = MODES[name]
    image.save(tmp_path / name, **options)
    for found, wanted in zip(left_and_right(tmp_path / name), expected, strict=True):
        assert near(found, wanted, tolerance)


@pytest.mark.parametrize("channels", [(), (1,), (3,), (4,)])
def test_grey_colour_and_uint16_arrays_have_the_pixels_of_their_high_bytes(
    channels: tuple[int, ...],
) -> None:
    array = np.random.default_rng(0).integers(0, 1 << 16, (40, 50, *channels), np.uint16)
    eight = (array >> 8).astype(np.uint8)
    assert np.array_equal(to_pixels(array, SIDE), to_pixels(eight, SIDE))
    if channels in ((), (1,)):
        three = np.repeat(eight.reshape(40, 50, 1), 3, axis=2)
        assert np.array_equal(to_pixels(eight, SIDE), to_pixels(three, SIDE))


def test_a_sixteen_bit_colour_png_keeps_its_high_bytes(tmp_path: Path) -> None:
    row = b"\0" + (b"\xc0\xff\x20\xff\x40\xff" * 32)
    (tmp_path / "deep.png").write_bytes(png(32, 32, 16, 2, row * 32))
    assert left_and_right(tmp_path / "deep.png")[0] == (0xC0, 0x20, 0x40)


def test_an_mpo_is_read_as_its_first_picture(photo: NDArray[np.uint8], tmp_path: Path) -> None:
    image = Image.fromarray(photo)
    preview = image.resize((160, 120))
    image.save(tmp_path / "phone.jpg", format="MPO", save_all=True, append_images=[preview])
    with Image.open(tmp_path / "phone.jpg") as saved:
        assert (saved.format, getattr(saved, "n_frames", 1)) == ("MPO", 2)
    difference = np.abs(
        to_pixels(tmp_path / "phone.jpg", SIDE).astype(int) - to_pixels(photo, SIDE)
    )
    assert difference.mean() < 4


# ---- folders


def test_the_pictures_of_a_folder_are_sorted_and_other_files_are_ignored(tmp_path: Path) -> None:
    for name in ("b.JPG", "a.png", "c.webp", "notes.txt", ".hidden.jpg", "Thumbs.db", "jpg"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "d.png").write_bytes(b"")
    assert [path.name for path in pictures_in(tmp_path)] == ["a.png", "b.JPG", "c.webp"]


def test_links_that_form_a_loop_are_followed_once(tmp_path: Path) -> None:
    for name in ("b/1.jpg", "a/2.jpg", "0.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "c").symlink_to(tmp_path / "b")
    found = [str(path.relative_to(tmp_path)) for path in pictures_under(tmp_path)]
    assert found == ["0.jpg", "a/2.jpg", "b/1.jpg"]
