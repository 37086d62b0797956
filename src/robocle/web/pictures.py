"""Pictures from clients: format and size are checked before a pixel is decoded."""

import io

from PIL import Image

from robocle.errors import ImageError
from robocle.images.opening import opened
from robocle.web.limits import MAX_PICTURE_PIXELS

FORMATS = ("JPEG", "PNG", "WEBP")
STARTS = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG", b"RIFF": "WEBP"}


def require_picture(content: bytes) -> bytes:
    """Return the bytes of a picture that the server accepts.

    Only the header is read.

    Raises:
        ImageError: It is empty, no JPEG, PNG or WEBP picture, too large, too small or animated.

    >>> require_picture(b"GIF89a")
    Traceback (most recent call last):
    robocle.errors.ImageError: the picture is not JPEG, PNG or WEBP: convert it to one of these
    """
    if not content:
        raise ImageError("the picture is empty: send the bytes of a JPEG, PNG or WEBP file")
    if not any(content.startswith(start) for start in STARTS):
        raise ImageError("the picture is not JPEG, PNG or WEBP: convert it to one of these")
    try:
        with opened(io.BytesIO(content), "the picture") as image:
            _require_size(image)
    except ImageError:
        raise
    except Exception as error:  # a damaged file can fail in any way
        raise ImageError(f"the picture is damaged ({error}): take it again") from error
    return content


def _require_size(image: Image.Image) -> None:
    if image.format not in (*FORMATS, "MPO"):  # an MPO is a JPEG with further pictures
        raise ImageError("the picture is not JPEG, PNG or WEBP: convert it to one of these")
    width, height = image.size
    if width * height > MAX_PICTURE_PIXELS:
        raise ImageError(
            f"the picture is {width}x{height}, over {MAX_PICTURE_PIXELS / 1e6:.0f} million pixels: "
            "make it smaller first"
        )
