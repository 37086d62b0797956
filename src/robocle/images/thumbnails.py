"""Small copies of pictures as data URLs, for pages that stand alone."""

import base64
import io

from PIL import Image

from robocle.types import Pixels

SHOWN_SIDE = 112


def jpeg_address(content: bytes) -> str:
    """A JPEG's bytes as an address for a page."""
    return "data:image/jpeg;base64," + base64.b64encode(content).decode()


def thumbnail(pixels: Pixels) -> str:
    """A small copy of a picture, as an address for a page."""
    small = Image.fromarray(pixels).resize((SHOWN_SIDE, SHOWN_SIDE))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=80)
    return jpeg_address(buffer.getvalue())
