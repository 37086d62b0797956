"""Images of ROS messages as pictures that a learner takes.

The functions take the fields of `sensor_msgs/Image` and `sensor_msgs/CompressedImage`, so messages
of rclpy and of recorded bags are read alike.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.errors import ImageError
from robocle.images import reading

Bytes = NDArray[np.uint8]
RosPicture = Bytes | bytes
"""Pixels, or the bytes of a JPEG or PNG file."""
Decode = Callable[[Bytes], Bytes]
"""From (height, width, bytes per pixel) to RGB or grey pixels."""

LARGEST_SIDE = 32_768
# Rec. 601 with studio swing, as cameras send YUV: what Cb and Cr add to red, green and blue.
_LUMA = 255 / 219
_RED_CR, _GREEN_CB, _GREEN_CR, _BLUE_CB = 1.596, -0.391, -0.813, 2.018


def _from_yuv(luma: Bytes, blue: Bytes, red: Bytes) -> Bytes:
    """Return RGB pixels of brightness, Cb and Cr, all of one size."""
    grey = np.maximum(luma.astype(np.float32) - 16, 0) * np.float32(_LUMA)
    blue_part, red_part = blue.astype(np.float32) - 128, red.astype(np.float32) - 128
    channels = (
        grey + np.float32(_RED_CR) * red_part,
        grey + np.float32(_GREEN_CB) * blue_part + np.float32(_GREEN_CR) * red_part,
        grey + np.float32(_BLUE_CB) * blue_part,
    )
    pixels = np.empty((*luma.shape, 3), np.uint8)
    for number, channel in enumerate(channels):
        pixels[..., number] = np.rint(channel).clip(0, 255)
    return pixels


def _from_yuv422(raw: Bytes, luma: int) -> Bytes:
    """Return RGB pixels; Cb and Cr take turns along a row, one pair for two pixels.

    Args:
        raw: Two bytes per pixel.
        luma: Which of the two is the brightness.
    """
    if raw.shape[1] % 2:
        raise ImageError(f"a YUV 4:2:2 image needs an even width, not {raw.shape[1]}")
    chroma = raw[..., 1 - luma]
    blue, red = (np.repeat(chroma[:, first::2], 2, axis=1) for first in (0, 1))
    return _from_yuv(raw[..., luma], blue, red)


def _from_yuv420(raw: Bytes, blue: int) -> Bytes:
    """Return RGB pixels of a plane with the brightness, above one with a quarter of the colours.

    Args:
        raw: The rows of both planes, one byte per pixel.
        blue: Which byte of a pair is Cb: 0 for NV12, 1 for NV21.
    """
    if raw.shape[0] % 3 or raw.shape[1] % 2:
        raise ImageError("a YUV 4:2:0 image needs an even width and an even height")
    height = raw.shape[0] * 2 // 3
    pairs = raw[height:, :, 0].reshape(height // 2, -1, 2).repeat(2, axis=0).repeat(2, axis=1)
    return _from_yuv(raw[:height, :, 0], pairs[..., blue], pairs[..., 1 - blue])


def _from_bayer(raw: Bytes, red: tuple[int, int]) -> Bytes:
    """Return RGB pixels; what a sensor cell does not measure is the mean of its neighbours.

    Args:
        raw: One byte per cell.
        red: The row and column of the first red cell.
    """
    height, width = raw.shape[:2]
    if min(height, width) < 2:
        raise ImageError(f"a Bayer image needs two rows and columns, not {width}x{height}")
    (row, column), cells = red, raw[..., 0].astype(np.uint16)
    planes = np.zeros((3, height, width), np.uint16)
    for plane, (first_row, first_column) in ((0, red), (2, (1 - row, 1 - column))):
        planes[plane, first_row::2, first_column::2] = cells[first_row::2, first_column::2]
    planes[1] = cells - planes[0] - planes[2]
    padded = np.pad(planes, ((0, 0), (1, 1), (1, 1)), mode="reflect")  # keeps the pattern
    across = padded[:, :, :-2] + 2 * padded[:, :, 1:-1] + padded[:, :, 2:]
    sums = across[:, :-2] + 2 * across[:, 1:-1] + across[:, 2:]
    green = padded[1]
    sums[1] = (
        4 * planes[1] + green[:-2, 1:-1] + green[2:, 1:-1] + green[1:-1, :-2] + green[1:-1, 2:]
    )
    return np.ascontiguousarray(np.moveaxis((sums + 2) // 4, 0, -1).astype(np.uint8))


@dataclass(frozen=True)
class Encoding:
    """How the bytes of an image become pixels."""

    size: int
    """Bytes per pixel in a row."""
    decode: Decode
    sixteen: bool = False
    """Whether each value has two bytes, of which the high one is used."""
    planes: float = 1.0
    """Rows of bytes per row of pixels."""


_BAYER = {"rggb": (0, 0), "grbg": (0, 1), "gbrg": (1, 0), "bggr": (1, 1)}
ENCODINGS: dict[str, Encoding] = {
    "rgb8": Encoding(3, lambda raw: raw),
    "bgr8": Encoding(3, lambda raw: raw[..., ::-1]),
    "rgba8": Encoding(4, lambda raw: raw[..., :3]),
    "bgra8": Encoding(4, lambda raw: raw[..., 2::-1]),
    "mono8": Encoding(1, lambda raw: raw[..., 0]),
    "mono16": Encoding(2, lambda raw: raw[..., 0], sixteen=True),
    "8UC1": Encoding(1, lambda raw: raw[..., 0]),
    "8UC3": Encoding(3, lambda raw: raw[..., ::-1]),
    "yuv422": Encoding(2, partial(_from_yuv422, luma=1)),
    "uyvy": Encoding(2, partial(_from_yuv422, luma=1)),
    "yuv422_yuy2": Encoding(2, partial(_from_yuv422, luma=0)),
    "yuyv": Encoding(2, partial(_from_yuv422, luma=0)),
    "nv12": Encoding(1, partial(_from_yuv420, blue=0), planes=1.5),
    "nv21": Encoding(1, partial(_from_yuv420, blue=1), planes=1.5),
    **{
        f"bayer_{name}{bits}": Encoding(bits // 8, partial(_from_bayer, red=red), bits == 16)
        for name, red in _BAYER.items()
        for bits in (8, 16)
    },
}
"""The encodings that are read. OpenCV's 8UC3 is BGR."""


def pixels_of(
    encoding: str, height: int, width: int, step: int, data: Any, big_endian: bool = False
) -> Bytes:
    """Return the pixels of a raw image.

    Args:
        encoding: The encoding, such as "bgr8".
        height: Rows.
        width: Columns.
        step: Bytes per row, which may end with padding.
        data: The bytes: `bytes`, an `array`, or a numpy array.
        big_endian: Whether the high byte of a value of 16 bits is the first.

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
    known = ENCODINGS[encoding]
    if not (0 < height <= LARGEST_SIDE and 0 < width <= LARGEST_SIDE):
        raise ImageError(f"the image has {width}x{height} pixels: check the camera driver")
    if step < width * known.size:
        raise ImageError(
            f"the image has {step} bytes per row, and {width} pixels of {encoding} need "
            f"{width * known.size}: check the camera driver"
        )
    found, rows = np.frombuffer(data, np.uint8), int(height * known.planes)
    if len(found) < rows * step - (step - width * known.size):
        raise ImageError(
            f"the image is truncated: it has {len(found)} bytes, and {rows} rows of {step} need "
            f"{rows * step}"
        )
    raw = np.lib.stride_tricks.as_strided(found, (rows, width, known.size), (step, known.size, 1))
    if known.sixteen:
        raw = raw[..., :1] if big_endian else raw[..., 1:]
    return known.decode(raw)


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
    size = message.height, message.width, message.step
    return pixels_of(message.encoding, *size, message.data, bool(message.is_bigendian))


def decoded(picture: RosPicture) -> Bytes:
    """Return the pixels of an image, so that it is decoded only once for several boxes.

    Raises:
        ImageError: The image cannot be read.
    """
    image, _ = reading.decoded(picture)
    return image if isinstance(image, np.ndarray) else np.asarray(image.convert("RGB"))
