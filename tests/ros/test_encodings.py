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
    found = np.asarray(cv2.cvtColor(photo, codes[encoding]), np.uint8)
    return found if found.ndim == 3 else found[..., None]


@pytest.mark.parametrize("padding", [0, 5])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_encoding_is_decoded_with_or_without_padding(
    encoding: str, padding: int, photo: Photo
) -> None:
    rows = encoded(photo, encoding).reshape(480, -1)
    rows = np.pad(rows, ((0, 0), (0, padding)), constant_values=7)
    data = array.array("B", rows.tobytes())
    pixels = pixels_of(encoding, 480, 640, rows.shape[1], data)
    if pixels.ndim == 2:
        assert np.array_equal(pixels, cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY))
    elif "y" in encoding:
        assert np.abs(pixels.astype(int) - photo).mean() < 3  # chroma has half the resolution
    else:
        assert np.array_equal(pixels, photo)


@pytest.mark.parametrize(
    ("encoding", "code"),
    [("yuv422", cv2.COLOR_YUV2RGB_UYVY), ("yuv422_yuy2", cv2.COLOR_YUV2RGB_YUY2)],
)
def test_yuv_is_decoded_as_opencv_does(encoding: str, code: int) -> None:
    raw = np.random.default_rng(0).integers(0, 256, (48, 64, 2), np.uint8)
    expected = np.asarray(cv2.cvtColor(raw, code), int)
    found = pixels_of(encoding, 48, 64, 128, raw.tobytes()).astype(int)
    assert np.abs(found - expected).max() <= 2


def test_the_last_row_need_not_be_padded() -> None:
    assert pixels_of("mono8", 2, 3, 4, bytes(range(7))).tolist() == [[0, 1, 2], [4, 5, 6]]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (("bayer_rggb8", 4, 4, 4, bytes(16)), "bayer_rggb8"),
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
