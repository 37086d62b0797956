"""Opening picture files: which formats are read, and how large a picture may be.

A few kilobytes can describe a picture of any size, so the size is checked before a pixel is
decoded. The limits keep the memory for decoding a picture to about 1 GB.
"""

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, BinaryIO

from PIL import Image, UnidentifiedImageError

from robocle.errors import ImageError
from robocle.images.arrays import MIN_SIDE
from robocle.images.kinds import HEAD, RAW_ADVICE, advice_for, is_heif

# Raster formats only: no PostScript, no vector formats, no remote files. An MPO file is opened as
# the JPEG that it starts with. AVIF and HEIF are read where Pillow has a plug-in.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM", "JPEG2000", "AVIF", "HEIF")

MAX_PIXELS = 120_000_000
"""The largest picture. Decoding takes 4 bytes per pixel, for compressed TIFF 8."""
MAX_JPEG_PIXELS = 210_000_000
"""The largest JPEG. It is decoded at a reduced scale, unless a box needs all pixels."""
# The decoders of these formats take 16, 25, 10 and 10 bytes per pixel.
SMALLER_LIMITS = {
    "WEBP": 60_000_000,
    "JPEG2000": 40_000_000,
    "AVIF": 80_000_000,
    "HEIF": 80_000_000,
}
WITH_PREVIEWS = ("MPO", "HEIF")  # photographs that may hold further pictures: the first one counts
DNG_VERSION_TAG, SUBFILE_TAG = 0xC612, 0x00FE


@contextmanager
def opened(source: Path | BinaryIO, name: str) -> Iterator[Image.Image]:
    """Open a picture file; its pixels are not decoded yet.

    Args:
        source: A path, or a file in memory.
        name: What to call the picture in an error.

    Raises:
        ImageError: The file is no picture that can be read, too small, too large or animated.
        OSError: The file cannot be opened.
    """
    if not isinstance(source, Path):
        yield _checked(source, "", name)
        return
    require_regular_file(source)
    with source.open("rb") as file:
        yield _checked(file, str(source), name)


def require_regular_file(path: Path) -> None:
    """Refuse pipes and devices, which may wait for ever or never end.

    Raises:
        ImageError: It is a pipe or a device, or cannot be found.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise ImageError(f"cannot read {path}: {error.strerror}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # opening a folder says what is wrong
        raise ImageError(f"{path} is a pipe or a device, not a file: give a picture file")


def require_usable(image: Image.Image, name: str) -> None:
    """Check the size of a picture and that it is a single one.

    Raises:
        ImageError: It is too small, too large or animated.
    """
    width, height = image.size
    if min(width, height) < MIN_SIDE:
        raise ImageError(f"{name} is {width}x{height}: give at least {MIN_SIDE}x{MIN_SIDE} pixels")
    limit = most_pixels(image)
    if width * height > limit:
        raise ImageError(
            f"{name} is {width}x{height}, over {limit / 1e6:.0f} million pixels: "
            "make it smaller first"
        )
    # The frames are not counted: in a TIFF, each frame is searched for from the first one.
    if getattr(image, "is_animated", False) and image.format not in WITH_PREVIEWS:
        raise ImageError(f"{name} has several frames: give a single picture, not an animation")


def most_pixels(image: Image.Image) -> int:
    """Return how many pixels a picture of this format may have."""
    kind = image.format or ""
    # A progressive JPEG is kept in memory as a whole, whatever the scale.
    if kind in ("JPEG", "MPO") and "progressive" not in image.info:
        return MAX_JPEG_PIXELS
    return SMALLER_LIMITS.get(kind, MAX_PIXELS)


def _checked(file: IO[bytes], filename: str, name: str) -> Image.Image:
    head = file.read(HEAD)
    if not head:
        raise ImageError(f"{name} is empty: give a JPEG or PNG file")
    image = _decoder(file, filename, head)
    if image is None:
        problem = advice_for(head) or "is not a picture robocle can read: give a JPEG or PNG file"
        raise ImageError(f"{name} {problem}")
    if image.format == "TIFF" and _is_raw(image):
        raise ImageError(f"{name} {RAW_ADVICE}")
    require_usable(image, name)
    return image


def _decoder(file: IO[bytes], filename: str, head: bytes) -> Image.Image | None:
    """Open a file with the first of the formats that accepts it.

    This is `Image.open` without its limit of pixels, which is the same for all formats and can
    only be changed for the whole program.
    """
    if is_heif(head):
        _register_heif()
    for kind in FORMATS:
        if kind not in Image.OPEN:
            Image.preinit()  # the most common formats; all others take much longer
        if kind not in Image.OPEN:
            Image.init()
        if kind not in Image.OPEN:
            continue
        factory, accept = Image.OPEN[kind]
        try:
            accepted = accept is None or accept(head[:16])
            if accepted and not isinstance(accepted, str):  # text says why not
                file.seek(0)
                return factory(file, filename)
        except (SyntaxError, IndexError, TypeError, struct.error, UnidentifiedImageError):
            continue  # as Image.open: not this format after all
    return None


def _register_heif() -> None:
    with suppress(ImportError):  # a HEIC picture is then refused with the advice to install it
        import_module("pillow_heif").register_heif_opener()


def _is_raw(image: Image.Image) -> bool:
    """Return whether a TIFF is a camera RAW file, whose first picture is a small preview."""
    tags = getattr(image, "tag_v2", {})
    return DNG_VERSION_TAG in tags or tags.get(SUBFILE_TAG, 0) == 1
