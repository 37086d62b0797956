"""Picture files built byte by byte, for tests of what can be read and what is refused."""

import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image


def encoded(image: Image.Image, **options: Any) -> bytes:
    """Return the file that Pillow writes for an image."""
    file = BytesIO()
    image.save(file, **options)
    return file.getvalue()


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
