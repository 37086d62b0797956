"""Images of ROS messages as pictures that a learner takes.

The functions take the fields of `sensor_msgs/Image` and `sensor_msgs/CompressedImage`, so messages
of rclpy and of recorded bags are read alike.
"""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.errors import ImageError
from robocle.images.opening import opened

Bytes = NDArray[np.uint8]
RosPicture = Bytes | bytes
"""Pixels, or the bytes of a JPEG or PNG file."""
Decode = Callable[[Bytes], Bytes]
"""From (height, width, bytes per pixel) to RGB or grey pixels."""

LARGEST_SIDE = 32_768
# Rec. 601 with studio swing, as cameras send YUV: what Cb and Cr add to red, green and blue.
_LUMA = 255 / 219
_RED_CR, _GREEN_CB, _GREEN_CR, _BLUE_CB = 1.596, -0.391, -0.813, 2.018


def _from_yuv(luma: Bytes, chroma: Bytes) -> Bytes:
    """Return RGB pixels; Cb and Cr take turns along a row, one pair for two pixels."""
    if luma.shape[1] % 2:
        raise ImageError(f"a YUV 4:2:2 image needs an even width, not {luma.shape[1]}")
    grey = np.maximum(luma.astype(np.float32) - 16, 0) * np.float32(_LUMA)
    blue = np.repeat(chroma[:, 0::2].astype(np.float32) - 128, 2, axis=1)
    red = np.repeat(chroma[:, 1::2].astype(np.float32) - 128, 2, axis=1)
    channels = (
        grey + np.float32(_RED_CR) * red,
        grey + np.float32(_GREEN_CB) * blue + np.float32(_GREEN_CR) * red,
        grey + np.float32(_BLUE_CB) * blue,
    )
    pixels = np.empty((*luma.shape, 3), np.uint8)
    for number, channel in enumerate(channels):
        pixels[..., number] = np.rint(channel).clip(0, 255)
    return pixels


ENCODINGS: dict[str, tuple[int, Decode]] = {
    "rgb8": (3, lambda raw: raw),
    "bgr8": (3, lambda raw: raw[..., ::-1]),
    "rgba8": (4, lambda raw: raw[..., :3]),
    "bgra8": (4, lambda raw: raw[..., 2::-1]),
    "mono8": (1, lambda raw: raw[..., 0]),
    "8UC1": (1, lambda raw: raw[..., 0]),
    "8UC3": (3, lambda raw: raw[..., ::-1]),
    "yuv422": (2, lambda raw: _from_yuv(luma=raw[..., 1], chroma=raw[..., 0])),
    "uyvy": (2, lambda raw: _from_yuv(luma=raw[..., 1], chroma=raw[..., 0])),
    "yuv422_yuy2": (2, lambda raw: _from_yuv(luma=raw[..., 0], chroma=raw[..., 1])),
    "yuyv": (2, lambda raw: _from_yuv(luma=raw[..., 0], chroma=raw[..., 1])),
}
"""The bytes per pixel of each encoding, and how to decode it. OpenCV's 8UC3 is BGR."""


def pixels_of(encoding: str, height: int, width: int, step: int, data: Any) -> Bytes:
    """Return the pixels of a raw image.

    Args:
        encoding: The encoding, such as "bgr8".
        height: Rows.
        width: Columns.
        step: Bytes per row, which may end with padding.
        data: The bytes: `bytes`, an `array`, or a numpy array.

    Returns:
        (height, width, 3) RGB, or (height, width) for a grey image.

    Raises:
        ImageError: The encoding is not supported, or the data does not fit the size.

    Example:
        >>> pixels_of("bgr8", 1, 2, 6, bytes([255, 0, 0, 0, 0, 255])).tolist()
        [[[0, 0, 255], [255, 0, 0]]]
    """
    if encoding not in ENCODINGS:
        raise ImageError(
            f"the image has the encoding {encoding!r}: convert it to one of {', '.join(ENCODINGS)}"
        )
    size, decode = ENCODINGS[encoding]
    if not (0 < height <= LARGEST_SIDE and 0 < width <= LARGEST_SIDE):
        raise ImageError(f"the image has {width}x{height} pixels: check the camera driver")
    if step < width * size:
        raise ImageError(
            f"the image has {step} bytes per row, and {width} pixels of {encoding} need "
            f"{width * size}: check the camera driver"
        )
    found = np.frombuffer(data, np.uint8)
    if len(found) < height * step - (step - width * size):
        raise ImageError(
            f"the image is truncated: it has {len(found)} bytes, and {height} rows of {step} need "
            f"{height * step}"
        )
    rows = np.lib.stride_tricks.as_strided(found, (height, width, size), (step, size, 1))
    return decode(rows)


def compressed_bytes(kind: str, data: Any) -> bytes:
    """Return the file in a compressed image.

    Args:
        kind: The field `format`, such as "jpeg" or "bgr8; png compressed bgr8".
        data: The bytes: `bytes`, an `array`, or a numpy array.

    Raises:
        ImageError: The image is empty, a depth image, or neither JPEG nor PNG.
    """
    if "compressedDepth" in kind:
        raise ImageError(f"the image has the format {kind!r}, which is depth: use a colour topic")
    content = bytes(memoryview(data))
    if not content:
        raise ImageError("the compressed image is empty")
    if not content.startswith((b"\xff\xd8", b"\x89PNG")):
        raise ImageError(f"the compressed image of format {kind!r} is neither JPEG nor PNG")
    return content


def picture_of(message: Any) -> RosPicture:
    """Return the image of a message as a picture that a learner takes.

    Args:
        message: A `sensor_msgs/Image` or `sensor_msgs/CompressedImage`, of rclpy or of a bag.

    Raises:
        ImageError: The image cannot be used.
    """
    if hasattr(message, "format"):
        return compressed_bytes(message.format, message.data)
    return pixels_of(message.encoding, message.height, message.width, message.step, message.data)


def decoded(picture: RosPicture) -> Bytes:
    """Return the pixels of an image, so that it is decoded only once for several boxes.

    Raises:
        ImageError: The image cannot be read.
    """
    if isinstance(picture, np.ndarray):
        return picture
    try:
        with opened(io.BytesIO(picture), "the image") as image:
            return np.asarray(image.convert("RGB"))
    except ImageError:
        raise
    except Exception as error:  # a damaged file can fail in any way
        raise ImageError(f"the image is damaged or cut off ({error})") from error
