"""A picture that cannot be used is refused in one line that says why, and quickly."""

import struct
import zlib
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from peak_memory import output_of
from picture_files import black_png, encoded, png, png_chunk
from refusal import Refusal
from robocle.errors import ImageError
from robocle.images.reading import to_pixels
from robocle.images.square import MIN_SIDE, ORIENTATION_TAG

SIDE = 224


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
    """Return a PNG with a comment that decompresses to more than Pillow accepts."""
    comment = b"note\0\0" + zlib.compress(bytes(2 * PngImagePlugin.MAX_TEXT_CHUNK))
    return png(32, 32, 8, 0, bytes(33 * 32), png_chunk(b"zTXt", comment))


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
    "animated.gif": (animation("GIF"), "has several frames"),
    "animated.webp": (animation("WEBP"), "has several frames"),
    "animated.png": (animation("PNG"), "has several frames"),
    "pages.tif": (animation("TIFF"), "has several frames"),
    "float.tif": (encoded(Image.new("F", (32, 32)), format="TIFF"), "floating-point"),
    "deep.tif": (encoded(Image.new("I", (32, 32), 1 << 20), format="TIFF"), "outside 0..65535"),
    "comment.png": (text_bomb(), "is damaged or cut off"),
    "script.eps": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 99 99\n", "is a PostScript"),
}


@pytest.mark.parametrize("name", REFUSED_FILES)
def test_an_unusable_file_is_refused_with_its_path(
    name: str, tmp_path: Path, refusal: Refusal
) -> None:
    content, why = REFUSED_FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    message = refusal(ImageError, lambda: to_pixels(path, SIDE))
    assert str(path) in message
    assert why in message


def test_a_folder_and_paths_of_no_file_are_refused(tmp_path: Path, refusal: Refusal) -> None:
    reasons = {
        str(tmp_path): "Is a directory",
        str(tmp_path / "nowhere.jpg"): "No such file or directory",
        "x" * 5000: "File name too long",
    }
    for path, reason in reasons.items():
        message = refusal(ImageError, partial(to_pixels, path, SIDE))
        assert message == f"cannot read {path}: {reason}"
    refusal(ImageError, lambda: to_pixels("a\0b.jpg", SIDE))


@pytest.mark.parametrize("size", [(20_000, 20_000), (12_000, 10_001)])
def test_a_decompression_bomb_is_refused_quickly_and_in_little_memory(
    size: tuple[int, int], tmp_path: Path
) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(black_png(*size))
    assert path.stat().st_size < 500_000
    program = """if True:
        import sys, time
        from peak_memory import peak_megabytes
        from robocle.errors import ImageError
        from robocle.images import to_pixels
        before = peak_megabytes()
        start = time.perf_counter()
        try:
            to_pixels(sys.argv[1], 224)
        except ImageError as error:
            print(error)
        print(time.perf_counter() - start)
        print(peak_megabytes() - before)
    """
    message, seconds, megabytes = output_of(program, path).splitlines()
    assert "over 120 million pixels" in message
    assert str(path) in message
    assert float(seconds) < 1
    assert float(megabytes) < 20


REFUSED_ARRAYS: dict[str, tuple[Any, str]] = {
    "complex": (np.zeros((32, 32, 3), np.complex64), "uint8 values"),
    "int64": (np.zeros((32, 32, 3), np.int64), "uint8 values"),
    "bool": (np.zeros((32, 32, 3), np.bool_), "uint8 values"),
    "text": (np.full((32, 32, 3), "a"), "uint8 values"),
    "object": (np.full((32, 32, 3), None), "uint8 values"),
    "one axis": (np.zeros(3072, np.uint8), "height x width x 3"),
    "no axis": (np.array(3, np.uint8), "height x width x 3"),
    "batch": (np.zeros((1, 32, 32, 3), np.uint8), "pictures of a batch one by one"),
    "two channels": (np.zeros((32, 32, 2), np.uint8), "height x width x 3"),
    "channels first": (np.zeros((3, 32, 32), np.uint8), "give array.transpose(1, 2, 0)"),
    "grey channel first": (np.zeros((1, 32, 32), np.float32), "give array.transpose(1, 2, 0)"),
    "empty": (np.zeros((0, 0, 3), np.uint8), "at least 16x16"),
    "no height": (np.zeros((0, 32, 3), np.uint8), "at least 16x16"),
    "no channel": (np.zeros((32, 32, 0), np.uint8), "height x width x 3"),
    "too small": (np.zeros((15, 32, 3), np.uint8), "at least 16x16"),
}


@pytest.mark.parametrize("name", REFUSED_ARRAYS)
def test_an_unusable_array_is_refused_with_its_shape_and_dtype(name: str, refusal: Refusal) -> None:
    array, why = REFUSED_ARRAYS[name]
    message = refusal(ImageError, lambda: to_pixels(array, SIDE))
    assert f"{array.dtype} array of shape {array.shape}" in message
    assert why in message


class Tensor:
    """A picture as PyTorch has it."""

    def permute(self, *_: int) -> "Tensor":
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.zeros((3, 32, 32))


OTHER_VALUES: list[tuple[Any, str]] = [
    (None, "not NoneType"),
    (3, "not int"),
    ([[0.0, 1.0]], "not list: give numpy.asarray"),
    (Tensor(), "not Tensor: give tensor.permute(1, 2, 0).numpy()"),
    (b"", "is empty"),
    (b"bytes", "is not a picture"),
]


@pytest.mark.parametrize(("value", "expected"), OTHER_VALUES)
def test_another_value_is_refused_with_its_type_or_the_conversion(
    value: Any, expected: str, refusal: Refusal
) -> None:
    assert expected in refusal(ImageError, lambda: to_pixels(value, SIDE))


def test_a_file_that_is_closed_or_opened_as_text_is_refused(
    tmp_path: Path, refusal: Refusal
) -> None:
    (tmp_path / "note.txt").write_text("a mug")
    with (tmp_path / "note.txt").open() as file:
        text: Any = file
        assert "binary mode" in refusal(ImageError, lambda: to_pixels(text, SIDE))
    assert "closed" in refusal(ImageError, lambda: to_pixels(text, SIDE))


def test_an_unusable_pil_image_is_refused(refusal: Refusal) -> None:
    assert "is 8x8" in refusal(ImageError, lambda: to_pixels(Image.new("RGB", (8, 8)), SIDE))
    with Image.open(BytesIO(animation("GIF"))) as animated:
        assert "several frames" in refusal(ImageError, lambda: to_pixels(animated, SIDE))
    with Image.open(BytesIO(JPEG[:-100])) as truncated:
        assert "cut off" in refusal(ImageError, lambda: to_pixels(truncated, SIDE))
    closed = Image.new("RGB", (32, 32))
    closed.close()
    refusal(ImageError, lambda: to_pixels(closed, SIDE))


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
    assert "divide by the largest possible value, such as 255" in message


# ---- random bytes


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A path to write to; hypothesis does not allow `tmp_path`."""
    return tmp_path_factory.mktemp("scratch") / "picture"


def assert_read_or_refused(path: Path, content: bytes) -> None:
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


@given(data=st.data(), sample=st.sampled_from(SAMPLES))
@pytest.mark.parametrize("how", ["random", "mutated", "truncated"])
def test_a_damaged_picture_has_pixels_or_is_refused(
    how: str, scratch: Path, data: st.DataObject, sample: bytes
) -> None:
    content = bytearray(sample)
    if how == "random":
        content = content[: data.draw(st.sampled_from([0, 24]))] + data.draw(
            st.binary(max_size=400)
        )
    elif how == "truncated":
        end = data.draw(st.integers(0, len(sample) - 1))
        content = content[:end] + data.draw(st.binary(max_size=20))
    else:
        places = st.integers(0, len(sample) - 1) | st.integers(0, 100)
        edits = st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=8)
        for place, value in data.draw(edits):
            content[place % len(content)] = value
    assert_read_or_refused(scratch, bytes(content))
