"""Picture files built byte by byte, for tests of what can be read and what is refused."""

import struct
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robocle.images.square import ORIENTATION_TAG


def encoded(image: Image.Image, **options: Any) -> bytes:
    """Return the file that Pillow writes for an image."""
    file = BytesIO()
    image.save(file, **options)
    return file.getvalue()


# How an upright picture is stored for each EXIF orientation. The comments say where in the upright
# picture row 0 and column 0 of the stored one are.
ORIENTATIONS: dict[int, Callable[[NDArray[np.uint8]], NDArray[np.uint8]]] = {
    1: lambda upright: upright,  # top, left
    2: lambda upright: upright[:, ::-1],  # top, right
    3: lambda upright: upright[::-1, ::-1],  # bottom, right
    4: lambda upright: upright[::-1],  # bottom, left
    5: lambda upright: upright.transpose(1, 0, 2),  # left, top
    6: lambda upright: upright.transpose(1, 0, 2)[::-1],  # right, top
    7: lambda upright: upright.transpose(1, 0, 2)[::-1, ::-1],  # right, bottom
    8: lambda upright: upright.transpose(1, 0, 2)[:, ::-1],  # left, bottom
}


def encoded_with_orientation(upright: NDArray[np.uint8], orientation: int, **options: Any) -> bytes:
    """Return the file of a camera that was held in an orientation and recorded it."""
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    stored = np.ascontiguousarray(ORIENTATIONS[orientation](upright))
    return encoded(Image.fromarray(stored), exif=exif, **options)


def png(width: int, height: int, depth: int, kind: int, rows: bytes, *extra: bytes) -> bytes:
    """Return a PNG with these rows of samples; `kind` is the colour type, `extra` are chunks."""
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    chunks = [png_chunk(b"IHDR", header), *extra, png_chunk(b"IDAT", zlib.compress(rows, 1))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + png_chunk(b"IEND", b"")


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """Return one chunk of a PNG."""
    checksum = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + checksum


def black_png(width: int, height: int) -> bytes:
    """Return a PNG with one bit per pixel, which is small however many pixels it has."""
    return png(width, height, 1, 0, bytes((width // 8 + 1) * height))
