"""Images of ROS messages become the pictures that were taken, and bad ones are refused."""

import array
import io
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from refusal import Refusal
from robocle.errors import ImageError
from robocle.ros.encodings import ENCODINGS, compressed_bytes, decoded, picture_of, pixels_of

Photo = NDArray[np.uint8]


def encoded(photo: Photo, encoding: str) -> Photo:
    """The pixels in an encoding, by OpenCV."""
    codes = {
        "bgr8": cv2.COLOR_RGB2BGR,
        "8UC3": cv2.COLOR_RGB2BGR,
        "rgba8": cv2.COLOR_RGB2RGBA,
        "bgra8": cv2.COLOR_RGB2BGRA,
        "mono8": cv2.COLOR_RGB2GRAY,
        "8UC1": cv2.COLOR_RGB2GRAY,
        "yuv422": cv2.COLOR_RGB2YUV_UYVY,
        "uyvy": cv2.COLOR_RGB2YUV_UYVY,
        "yuv422_yuy2": cv2.COLOR_RGB2YUV_YUY2,
        "yuyv": cv2.COLOR_RGB2YUV_YUY2,
    }
    if encoding == "rgb8":
        return photo
    if encoding.startswith("bayer"):
        return mosaic(photo, encoding)
    if encoding.startswith("nv"):
        grey = encoded(photo, "yuyv")
        blue, red = grey[::2, 0::2, 1], grey[::2, 1::2, 1]
        pairs = (blue, red) if encoding == "nv12" else (red, blue)
        return np.concatenate([grey[..., 0], np.stack(pairs, -1).reshape(240, 640)])
    if encoding == "mono16":
        return np.stack([photo[..., 2], encoded(photo, "mono8")[..., 0]], -1)  # the low byte first
    found = np.asarray(cv2.cvtColor(photo, codes[encoding]), np.uint8)
    return found if found.ndim == 3 else found[..., None]


def mosaic(photo: Photo, encoding: str) -> Photo:
    """What the cells of a sensor measure, in their pattern, as "rggb" says row by row."""
    cells = np.empty((480, 640), np.uint8)
    for number, colour in enumerate(encoding[6:10]):
        place = slice(number // 2, None, 2), slice(number % 2, None, 2)
        cells[place] = photo[(*place, "rgb".index(colour))]
    return cells if encoding.endswith("8") else np.stack([np.full_like(cells, 9), cells], -1)


@pytest.mark.parametrize("padding", [0, 5])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_encoding_is_decoded_with_or_without_padding(
    encoding: str, padding: int, photo: Photo
) -> None:
    rows = encoded(photo, encoding)
    rows = rows.reshape(len(rows), -1)
    rows = np.pad(rows, ((0, 0), (0, padding)), constant_values=7)
    data = array.array("B", rows.tobytes())
    pixels = pixels_of(encoding, 480, 640, rows.shape[1], data)
    if pixels.ndim == 2:
        assert np.array_equal(pixels, cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY))
    elif encoding.startswith(("bayer", "nv")) or "y" in encoding:
        assert np.abs(pixels.astype(int) - photo).mean() < 4  # colours have less resolution
    else:
        assert np.array_equal(pixels, photo)


YUV = {"yuv422": cv2.COLOR_YUV2RGB_UYVY, "yuv422_yuy2": cv2.COLOR_YUV2RGB_YUY2,
       "nv12": cv2.COLOR_YUV2RGB_NV12, "nv21": cv2.COLOR_YUV2RGB_NV21}  # fmt: skip
BAYER = {"bayer_rggb": cv2.COLOR_BayerBG2RGB, "bayer_grbg": cv2.COLOR_BayerGB2RGB,
         "bayer_gbrg": cv2.COLOR_BayerGR2RGB, "bayer_bggr": cv2.COLOR_BayerRG2RGB}  # fmt: skip


@pytest.mark.parametrize("encoding", YUV)
def test_yuv_is_decoded_as_opencv_does(encoding: str) -> None:
    shape = (72, 64) if encoding.startswith("nv") else (48, 64, 2)
    raw = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    expected = np.asarray(cv2.cvtColor(raw, YUV[encoding]), int)
    found = pixels_of(encoding, 48, 64, raw[0].size, raw.tobytes()).astype(int)
    assert np.abs(found - expected).max() <= 2


@pytest.mark.parametrize("encoding", BAYER)
def test_bayer_patterns_are_decoded_as_opencv_does(encoding: str) -> None:
    raw = np.random.default_rng(0).integers(0, 256, (48, 64), np.uint8)
    expected = np.asarray(cv2.cvtColor(raw, BAYER[encoding]))
    found = pixels_of(f"{encoding}8", 48, 64, 64, raw.tobytes())
    assert np.array_equal(found[1:-1, 1:-1], expected[1:-1, 1:-1])
    wide = (raw.astype(np.uint16) * 256 + 7).astype(">u2").tobytes()
    assert np.array_equal(pixels_of(f"{encoding}16", 48, 64, 128, wide, big_endian=True), found)


def test_the_last_row_need_not_be_padded() -> None:
    assert pixels_of("mono8", 2, 3, 4, bytes(range(7))).tolist() == [[0, 1, 2], [4, 5, 6]]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (("32FC1", 4, 4, 16, bytes(64)), "32FC1"),
        (("bayer_rggb8", 1, 4, 4, bytes(4)), "two rows"),
        (("nv12", 3, 4, 4, bytes(24)), "even height"),
        (("nv12", 4, 4, 4, bytes(16)), "6 rows"),
        (("rgb8", 0, 0, 0, b""), "0x0 pixels"),
        (("rgb8", 4, 0, 12, bytes(48)), "0x4 pixels"),
        (("rgb8", 4, 4, 11, bytes(48)), "11 bytes per row"),
        (("rgb8", 4, 4, 12, bytes(47)), "truncated"),
        (("rgb8", 4, 4, 12, b""), "truncated"),
        (("rgb8", 100_000, 4, 12, bytes(48)), "4x100000"),
        (("yuv422", 4, 3, 6, bytes(24)), "even width"),
    ],
)
def test_an_image_that_does_not_fit_its_size_is_refused(
    fields: tuple[str, int, int, int, bytes], words: str, refusal: Refusal
) -> None:
    assert words in refusal(ImageError, lambda: pixels_of(*fields))


@given(
    st.sampled_from([*ENCODINGS, "", "16UC1"]),
    st.integers(-2, 9),
    st.integers(-2, 9),
    st.integers(-2, 40),
    st.binary(max_size=300),
)
def test_any_fields_are_an_image_or_an_error(
    encoding: str, height: int, width: int, step: int, data: bytes
) -> None:
    with suppress(ImageError):
        pixels = pixels_of(encoding, height, width, step, data)
        assert pixels.shape[:2] == (height, width)
        pixels.sum()  # reads all of it


def file_of(photo: Photo, kind: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(photo).save(file, kind)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_compressed_images_are_passed_on_as_files(kind: str, photo: Photo) -> None:
    content = file_of(photo, kind)
    message = SimpleNamespace(
        format=f"bgr8; {kind.lower()} compressed bgr8", data=array.array("B", content)
    )
    assert picture_of(message) == content
    assert np.abs(decoded(content).astype(int) - photo).mean() < 4


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("jpeg", b"", "empty"),
        ("jpeg", b"no jpeg", "neither"),
        ("16UC1; compressedDepth", b"\x89PNG", "depth"),
    ],
)
def test_compressed_images_that_are_none_are_refused(
    kind: str, data: bytes, words: str, refusal: Refusal
) -> None:
    assert words in refusal(ImageError, lambda: compressed_bytes(kind, data))


@pytest.mark.parametrize("end", [100, 3000])
def test_a_truncated_file_is_refused(end: int, photo: Photo, refusal: Refusal) -> None:
    cut: Any = file_of(photo, "PNG")[:end]
    assert refusal(ImageError, lambda: decoded(cut))
