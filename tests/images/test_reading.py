"""Pictures of every kind become the same square of pixels, or one clear line says why not."""

import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, PngImagePlugin

from refusal import Refusal
from robocle.errors import ImageError
from robocle.images.arrays import MIN_SIDE
from robocle.images.reading import ORIENTATION_TAG, pictures_in, read, to_pixels

Rgb = tuple[int, int, int]

SIDE = 224
RED, WHITE, BLACK = (255, 0, 0), (255, 255, 255), (0, 0, 0)


def colour(pixels: NDArray[np.uint8], across: float, down: float) -> Rgb:
    """The colour at a place given in shares of the width and the height."""
    red, green, blue = pixels[int(down * SIDE), int(across * SIDE)].tolist()
    return red, green, blue


def near(found: Rgb, wanted: Rgb, tolerance: int = 4) -> bool:
    return max(abs(a - b) for a, b in zip(found, wanted, strict=True)) <= tolerance


# ---- the same pixels, whichever way a picture comes in


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


def test_the_bytes_of_a_file_and_a_file_object_give_the_pixels_of_the_file(
    photo_jpeg: Path,
) -> None:
    pixels = to_pixels(photo_jpeg, SIDE)
    content = photo_jpeg.read_bytes()
    for picture in (content, bytearray(content), memoryview(content), BytesIO(content)):
        assert np.array_equal(to_pixels(picture, SIDE), pixels)  # type: ignore[arg-type]
    with photo_jpeg.open("rb") as file:
        assert np.array_equal(to_pixels(file, SIDE), pixels)


def test_a_pipe_can_be_read_too(photo_jpeg: Path) -> None:
    with subprocess.Popen(["cat", str(photo_jpeg)], stdout=subprocess.PIPE) as cat:
        assert cat.stdout is not None
        assert np.array_equal(to_pixels(cat.stdout, SIDE), to_pixels(photo_jpeg, SIDE))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_floats_from_0_to_1_give_the_pixels_of_the_levels(kind: type[np.floating]) -> None:
    levels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    floats = (levels / 255).astype(kind)
    assert np.array_equal(to_pixels(floats, SIDE), to_pixels(levels, SIDE))


@pytest.mark.parametrize(
    ("value", "shown"), [(255.0, "to 255"), (-0.1, "from -0.1"), (np.nan, "nan"), (np.inf, "inf")]
)
def test_floats_outside_0_to_1_are_refused_with_their_range(
    value: float, shown: str, refusal: Refusal
) -> None:
    array = np.full((32, 32, 3), 0.5, np.float32)
    array[3, 4, 1] = value
    message = refusal(ImageError, lambda: to_pixels(array, SIDE))
    assert shown in message
    assert "0 to 1" in message


@pytest.mark.parametrize("content", [b"", b"bytes"])
def test_bytes_that_are_not_a_picture_are_refused(content: bytes, refusal: Refusal) -> None:
    message = refusal(ImageError, lambda: to_pixels(content, SIDE))
    assert ("is empty" if not content else "is not a picture") in message


def test_a_file_opened_as_text_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "note.txt"
    path.write_text("a mug")
    with path.open() as file:
        assert "binary mode" in refusal(ImageError, lambda: to_pixels(file, SIDE))  # type: ignore[arg-type]


def test_a_picture_of_the_right_size_is_left_alone() -> None:
    array = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    assert np.array_equal(to_pixels(array, SIDE), array)


def test_a_shrunk_picture_is_close_to_the_average_over_areas() -> None:
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


def test_the_callers_image_and_array_are_left_as_they_were(
    photo: NDArray[np.uint8], photo_jpeg: Path
) -> None:
    array = photo.copy()
    to_pixels(array, SIDE)
    assert np.array_equal(array, photo)
    with Image.open(photo_jpeg) as image:
        to_pixels(image, SIDE)
        assert image.size == (640, 480)


def test_a_picture_keeps_the_size_it_had_whichever_way_it_comes_in(
    photo: NDArray[np.uint8], photo_jpeg: Path
) -> None:
    for picture in (photo, Image.fromarray(photo), photo_jpeg):
        image = read(picture, 64)  # a JPEG is decoded at a reduced scale
        assert image.size == (640, 480)
        assert np.array_equal(image.pixels, to_pixels(picture, 64))


def test_an_array_that_is_a_view_gives_the_pixels_of_its_copy(photo: NDArray[np.uint8]) -> None:
    view = photo[::-1, ::2]
    assert np.array_equal(to_pixels(view, SIDE), to_pixels(view.copy(), SIDE))


# Where the stored row 0 and column 0 lie in the upright picture, as the Exif standard has it.
STORED: dict[int, Callable[[NDArray[np.uint8]], NDArray[np.uint8]]] = {
    1: lambda upright: upright,  # top, left
    2: lambda upright: upright[:, ::-1],  # top, right
    3: lambda upright: upright[::-1, ::-1],  # bottom, right
    4: lambda upright: upright[::-1],  # bottom, left
    5: lambda upright: upright.transpose(1, 0, 2),  # left, top
    6: lambda upright: upright.transpose(1, 0, 2)[::-1],  # right, top
    7: lambda upright: upright.transpose(1, 0, 2)[::-1, ::-1],  # right, bottom
    8: lambda upright: upright.transpose(1, 0, 2)[:, ::-1],  # left, bottom
}


def save_turned(path: Path, upright: NDArray[np.uint8], orientation: int, **options: Any) -> None:
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    stored = np.ascontiguousarray(STORED[orientation](upright))
    Image.fromarray(stored).save(path, exif=exif, **options)


@pytest.mark.parametrize("orientation", STORED)
def test_a_turned_png_gives_the_upright_pixels(
    orientation: int, photo: NDArray[np.uint8], tmp_path: Path
) -> None:
    path = tmp_path / "turned.png"
    save_turned(path, photo, orientation)
    difference = to_pixels(path, SIDE).astype(int) - to_pixels(photo, SIDE)
    assert np.abs(difference).max() <= 2  # rounding between the two directions of the resize
    with Image.open(path) as image:
        assert np.array_equal(to_pixels(image, SIDE), to_pixels(path, SIDE))


@pytest.mark.parametrize("orientation", STORED)
def test_a_turned_jpeg_gives_the_upright_pixels(
    orientation: int, photo: NDArray[np.uint8], tmp_path: Path
) -> None:
    path = tmp_path / "turned.jpg"
    save_turned(path, photo, orientation, quality=95)
    difference = np.abs(to_pixels(path, SIDE).astype(int) - to_pixels(photo, SIDE))
    assert difference.mean() < 3


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_an_impossible_orientation_turns_nothing(
    orientation: int, photo: NDArray[np.uint8], tmp_path: Path
) -> None:
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    Image.fromarray(photo).save(tmp_path / "odd.png", exif=exif)
    assert np.array_equal(to_pixels(tmp_path / "odd.png", SIDE), to_pixels(photo, SIDE))


@pytest.mark.parametrize("size", [(640, 480), (480, 640), (1600, 100), (16, 400)])
def test_nothing_is_cropped_so_corner_markers_survive(size: tuple[int, int]) -> None:
    width, height = size
    image = Image.new("RGB", size, "grey")
    corners = {(0, 0): "red", (0, 1): "lime", (1, 0): "blue", (1, 1): "yellow"}
    for (right, bottom), name in corners.items():
        box = (right * (width - width // 8), bottom * (height - height // 8))
        image.paste(name, (*box, box[0] + width // 8, box[1] + height // 8))
    pixels = to_pixels(image, SIDE)
    found = [tuple(pixels[-bottom, -right].tolist()) for right, bottom in corners]
    assert found == [RED, (0, 255, 0), (0, 0, 255), (255, 255, 0)]


# ---- every kind of picture


def left_and_right(path: Path) -> tuple[Rgb, Rgb]:
    pixels = to_pixels(path, SIDE)
    return colour(pixels, 0.25, 0.5), colour(pixels, 0.75, 0.5)


def halves(mode: str, left: Any, right: Any) -> Image.Image:
    """A picture with one colour on the left and another on the right."""
    image = Image.new(mode, (64, 48), left)
    image.paste(right, (32, 0, 64, 48))
    return image


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "bmp", "gif", "tif", "ppm", "jp2"])
def test_every_format_that_is_listed_can_be_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"halves.{suffix}"
    halves("RGB", RED, WHITE).save(path)
    assert [path] == pictures_in(tmp_path)
    left, right = left_and_right(path)
    assert near(left, RED, 12)
    assert near(right, WHITE, 12)


def test_grey_becomes_equal_red_green_and_blue(tmp_path: Path) -> None:
    halves("L", 10, 200).save(tmp_path / "grey.png")
    assert left_and_right(tmp_path / "grey.png") == ((10, 10, 10), (200, 200, 200))


def test_one_bit_becomes_black_and_white(tmp_path: Path) -> None:
    halves("1", 0, 1).save(tmp_path / "bits.png")
    assert left_and_right(tmp_path / "bits.png") == (BLACK, WHITE)


def test_transparent_parts_become_white_whatever_colour_hides_there(tmp_path: Path) -> None:
    halves("RGBA", (*RED, 255), (0, 0, 255, 0)).save(tmp_path / "alpha.png")
    assert left_and_right(tmp_path / "alpha.png") == (RED, WHITE)


def test_half_transparent_parts_are_mixed_with_white(tmp_path: Path) -> None:
    halves("RGBA", (0, 0, 0, 128), (*RED, 128)).save(tmp_path / "alpha.png")
    left, right = left_and_right(tmp_path / "alpha.png")
    assert near(left, (127, 127, 127), 1)
    assert near(right, (255, 127, 127), 1)


def test_transparent_grey_becomes_white(tmp_path: Path) -> None:
    halves("LA", (10, 255), (10, 0)).save(tmp_path / "grey-alpha.png")
    assert left_and_right(tmp_path / "grey-alpha.png") == ((10, 10, 10), WHITE)


def test_a_palette_gives_its_colours(tmp_path: Path) -> None:
    image = halves("P", 1, 0)
    image.putpalette([*BLACK, *RED])
    image.save(tmp_path / "palette.png")
    assert left_and_right(tmp_path / "palette.png") == (RED, BLACK)


@pytest.mark.parametrize("suffix", ["png", "gif"])
def test_a_transparent_palette_entry_becomes_white(suffix: str, tmp_path: Path) -> None:
    image = halves("P", 1, 0)
    image.putpalette([*BLACK, *RED])
    image.save(tmp_path / f"palette.{suffix}", transparency=0)
    assert left_and_right(tmp_path / f"palette.{suffix}") == (RED, WHITE)


def test_a_colour_that_is_declared_transparent_becomes_white(tmp_path: Path) -> None:
    halves("RGB", RED, (0, 0, 255)).save(tmp_path / "key.png", transparency=(0, 0, 255))
    assert left_and_right(tmp_path / "key.png") == (RED, WHITE)


def test_a_cmyk_jpeg_gives_its_colours(tmp_path: Path) -> None:
    halves("CMYK", (0, 255, 255, 0), (0, 0, 0, 255)).save(tmp_path / "print.jpg", quality=95)
    left, right = left_and_right(tmp_path / "print.jpg")
    assert near(left, RED, 6)
    assert near(right, BLACK, 6)


def test_a_sixteen_bit_grey_png_keeps_its_high_bytes(tmp_path: Path) -> None:
    values = np.full((48, 64), 0x1234, np.uint16)
    values[:, 32:] = 0xFEDC
    Image.fromarray(values).save(tmp_path / "deep.png")
    assert left_and_right(tmp_path / "deep.png") == ((0x12,) * 3, (0xFE,) * 3)


def test_a_sixteen_bit_colour_png_keeps_its_high_bytes(tmp_path: Path) -> None:
    row = b"\0" + (b"\xc0\xff\x20\xff\x40\xff" * 32)
    (tmp_path / "deep.png").write_bytes(png(32, 32, 16, 2, row * 32))
    assert left_and_right(tmp_path / "deep.png")[0] == (0xC0, 0x20, 0x40)


@pytest.mark.parametrize("channels", [(), (1,), (3,), (4,)])
def test_uint16_arrays_keep_their_high_bytes(channels: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).integers(0, 1 << 16, (40, 50, *channels), np.uint16)
    eight = (array >> 8).astype(np.uint8)
    assert np.array_equal(to_pixels(array, SIDE), to_pixels(eight, SIDE))


def test_grey_arrays_with_and_without_a_channel_axis_agree_with_colour() -> None:
    grey = np.random.default_rng(0).integers(0, 256, (40, 50), np.uint8)
    three = np.repeat(grey[..., None], 3, axis=2)
    assert np.array_equal(to_pixels(grey, SIDE), to_pixels(three, SIDE))
    assert np.array_equal(to_pixels(grey[..., None], SIDE), to_pixels(three, SIDE))


def test_a_transparent_array_becomes_white() -> None:
    array = np.zeros((48, 64, 4), np.uint8)
    assert (to_pixels(array, SIDE) == 255).all()


def test_an_mpo_is_one_photograph_with_previews_inside(
    photo: NDArray[np.uint8], tmp_path: Path
) -> None:
    image = Image.fromarray(photo)
    preview = image.resize((160, 120))
    image.save(tmp_path / "phone.jpg", format="MPO", save_all=True, append_images=[preview])
    with Image.open(tmp_path / "phone.jpg") as saved:
        assert (saved.format, getattr(saved, "n_frames", 1)) == ("MPO", 2)
    difference = np.abs(
        to_pixels(tmp_path / "phone.jpg", SIDE).astype(int) - to_pixels(photo, SIDE)
    )
    assert difference.mean() < 4


# ---- what is refused


def png(width: int, height: int, depth: int, kind: int, rows: bytes, *extra: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    chunks = [chunk(b"IHDR", header), *extra, chunk(b"IDAT", zlib.compress(rows, 1))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + chunk(b"IEND", b"")


def chunk(kind: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checksum


def encoded(image: Image.Image, **options: Any) -> bytes:
    file = BytesIO()
    image.save(file, **options)
    return file.getvalue()


def structured(size: tuple[int, int] = (64, 48)) -> Image.Image:
    noise = np.random.default_rng(0).integers(0, 256, (6, 8, 3), np.uint8)
    return Image.fromarray(noise).resize(size)


def animation(kind: str) -> bytes:
    frames = [Image.new("RGB", (64, 48), name) for name in ("red", "lime", "blue")]
    return encoded(frames[0], format=kind, save_all=True, append_images=frames[1:])


def gif_header(width: int, height: int) -> bytes:
    frame = struct.pack("<cHHHHxBx", b",", 0, 0, width, height, 8)
    return b"GIF89a" + struct.pack("<HHxxx", width, height) + frame


def bmp_header(width: int, height: int) -> bytes:
    return b"BM" + struct.pack("<8xIIiiHH24x", 54, 40, width, height, 1, 24)


def text_bomb() -> bytes:
    """A PNG whose comment unpacks to more than Pillow takes."""
    comment = b"note\0\0" + zlib.compress(bytes(2 * PngImagePlugin.MAX_TEXT_CHUNK))
    return png(32, 32, 8, 0, bytes(33 * 32), chunk(b"zTXt", comment))


JPEG, PNG = encoded(structured(), format="JPEG"), encoded(structured(), format="PNG")
REFUSED_FILES: dict[str, tuple[bytes, str]] = {
    "empty.jpg": (b"", "is empty"),
    "text.jpg": (b"this is a shopping list: milk, bread, eggs\n" * 20, "is not a picture"),
    "zeros.png": (bytes(1000), "is not a picture"),
    "truncated.jpg": (JPEG[:-100], "is damaged or cut off"),
    "truncated.png": (PNG[:-100], "is damaged or cut off"),
    "header-only.png": (PNG[:33], "is not a picture"),
    "dot.png": (encoded(Image.new("RGB", (1, 1)), format="PNG"), "is 1x1"),
    "line.png": (encoded(Image.new("RGB", (500, MIN_SIDE - 1)), format="PNG"), "is 500x15"),
    "bomb.gif": (gif_header(65_535, 65_535), "million pixels"),
    "bomb.bmp": (bmp_header(30_000, 30_000), "million pixels"),
    "moving.gif": (animation("GIF"), "has 3 frames"),
    "moving.webp": (animation("WEBP"), "has 3 frames"),
    "moving.png": (animation("PNG"), "has 3 frames"),
    "pages.tif": (animation("TIFF"), "has 3 frames"),
    "float.tif": (encoded(Image.new("F", (32, 32)), format="TIFF"), "floating-point"),
    "deep.tif": (encoded(Image.new("I", (32, 32), 1 << 20), format="TIFF"), "outside 0..65535"),
    "comment.png": (text_bomb(), "is damaged or cut off"),
    "script.eps": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 99 99\n", "is not a picture"),
}


@pytest.mark.parametrize("name", REFUSED_FILES)
def test_an_unusable_file_is_refused_with_one_line_that_names_it(
    name: str, tmp_path: Path, refusal: Refusal
) -> None:
    content, why = REFUSED_FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    message = refusal(ImageError, lambda: to_pixels(path, SIDE))
    assert str(path) in message
    assert why in message


def test_a_folder_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    message = refusal(ImageError, lambda: to_pixels(tmp_path, SIDE))
    assert message == f"cannot read {tmp_path}: Is a directory"


def test_a_missing_file_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "nowhere.jpg"
    message = refusal(ImageError, lambda: to_pixels(path, SIDE))
    assert message == f"cannot read {path}: No such file or directory"


@pytest.mark.parametrize("path", ["a\0b.jpg", "x" * 5000])
def test_a_path_that_cannot_exist_is_refused(path: str, refusal: Refusal) -> None:
    refusal(ImageError, lambda: to_pixels(path, SIDE))


@pytest.mark.parametrize("size", [(20_000, 20_000), (12_000, 10_000)])
def test_a_decompression_bomb_is_refused_at_once_and_in_little_memory(
    size: tuple[int, int], tmp_path: Path
) -> None:
    width, height = size
    path = tmp_path / "bomb.png"
    path.write_bytes(png(width, height, 1, 0, bytes((width // 8 + 1) * height)))
    assert path.stat().st_size < 500_000
    measured = """if True:
        import resource, sys, time
        from robocle.errors import ImageError
        from robocle.images import to_pixels
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        try:
            to_pixels(sys.argv[1], 224)
        except ImageError as error:
            print(error)
        print(time.perf_counter() - start)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    command = [sys.executable, "-c", measured, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    message, seconds, kilobytes = result.stdout.splitlines()
    assert "over 89 million" in message or "larger than 89 million" in message
    assert str(path) in message
    assert float(seconds) < 1
    assert int(kilobytes) < 20_000


REFUSED_ARRAYS: dict[str, tuple[Any, str]] = {
    "complex": (np.zeros((32, 32, 3), np.complex64), "uint8 values"),
    "int64": (np.zeros((32, 32, 3), np.int64), "uint8 values"),
    "bool": (np.zeros((32, 32, 3), np.bool_), "uint8 values"),
    "text": (np.full((32, 32, 3), "a"), "uint8 values"),
    "object": (np.full((32, 32, 3), None), "uint8 values"),
    "one axis": (np.zeros(3072, np.uint8), "height x width x 3"),
    "no axis": (np.array(3, np.uint8), "height x width x 3"),
    "batch": (np.zeros((1, 32, 32, 3), np.uint8), "height x width x 3"),
    "two channels": (np.zeros((32, 32, 2), np.uint8), "height x width x 3"),
    "channels first": (np.zeros((3, 32, 32), np.uint8), "height x width x 3"),
    "empty": (np.zeros((0, 0, 3), np.uint8), "at least 16x16"),
    "no height": (np.zeros((0, 32, 3), np.uint8), "at least 16x16"),
    "no channel": (np.zeros((32, 32, 0), np.uint8), "height x width x 3"),
    "too small": (np.zeros((15, 32, 3), np.uint8), "at least 16x16"),
}


@pytest.mark.parametrize("name", REFUSED_ARRAYS)
def test_an_unusable_array_is_refused_with_its_shape_and_kind(name: str, refusal: Refusal) -> None:
    array, why = REFUSED_ARRAYS[name]
    message = refusal(ImageError, lambda: to_pixels(array, SIDE))
    assert f"{array.dtype} array of shape {array.shape}" in message
    assert why in message


@pytest.mark.parametrize("thing", [None, 3, [[1, 2], [3, 4]], object()])
def test_anything_else_is_not_a_picture(thing: Any, refusal: Refusal) -> None:
    message = refusal(ImageError, lambda: to_pixels(thing, SIDE))
    assert type(thing).__name__ in message


def test_pil_images_are_held_to_the_same_rules(tmp_path: Path, refusal: Refusal) -> None:
    assert "is 8x8" in refusal(ImageError, lambda: to_pixels(Image.new("RGB", (8, 8)), SIDE))
    with Image.open(BytesIO(animation("GIF"))) as moving:
        assert "3 frames" in refusal(ImageError, lambda: to_pixels(moving, SIDE))
    with Image.open(BytesIO(JPEG[:-100])) as cut:
        assert "cut off" in refusal(ImageError, lambda: to_pixels(cut, SIDE))
    closed = Image.new("RGB", (32, 32))
    closed.close()
    refusal(ImageError, lambda: to_pixels(closed, SIDE))


# ---- whatever bytes a file holds


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch") / "picture"


def assert_pixels_or_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        pixels = to_pixels(path, 32)
    except ImageError:
        return
    assert pixels.shape == (32, 32, 3)
    assert pixels.dtype == np.uint8


def exif_sample() -> Image.Exif:
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = 6
    exif[0x010F] = "a camera"
    return exif


SAMPLES = [
    JPEG,
    PNG,
    encoded(structured(), format="JPEG", exif=exif_sample()),
    encoded(structured(), format="PNG", exif=exif_sample()),
    encoded(structured().convert("P"), format="PNG", transparency=0),
    encoded(structured().convert("CMYK"), format="JPEG", progressive=True),
    encoded(structured(), format="GIF"),
    encoded(structured(), format="WEBP"),
    encoded(structured(), format="BMP"),
    encoded(structured(), format="TIFF"),
    encoded(structured(), format="PPM"),
]
STARTS = [b"", *(sample[:24] for sample in SAMPLES)]


@given(start=st.sampled_from(STARTS), content=st.binary(max_size=400))
def test_random_bytes_give_pixels_or_an_image_error(
    scratch: Path, start: bytes, content: bytes
) -> None:
    assert_pixels_or_refused(scratch, start + content)


@given(data=st.data(), sample=st.sampled_from(SAMPLES))
def test_a_mutated_picture_gives_pixels_or_an_image_error(
    scratch: Path, data: st.DataObject, sample: bytes
) -> None:
    content = bytearray(sample)
    places = st.integers(0, len(sample) - 1) | st.integers(0, 100)
    edits = st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=8)
    for place, value in data.draw(edits):
        content[place % len(content)] = value
    assert_pixels_or_refused(scratch, bytes(content))


@given(data=st.data(), sample=st.sampled_from(SAMPLES))
def test_a_picture_cut_anywhere_gives_pixels_or_an_image_error(
    scratch: Path, data: st.DataObject, sample: bytes
) -> None:
    end = data.draw(st.integers(0, len(sample) - 1))
    rest = data.draw(st.binary(max_size=20))
    assert_pixels_or_refused(scratch, sample[:end] + rest)


# ---- folders


def test_the_pictures_in_a_folder_come_sorted_and_without_other_files(tmp_path: Path) -> None:
    for name in ("b.JPG", "a.png", "c.webp", "notes.txt", ".hidden.jpg", "Thumbs.db", "jpg"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "d.png").write_bytes(b"")
    assert [path.name for path in pictures_in(tmp_path)] == ["a.png", "b.JPG", "c.webp"]
