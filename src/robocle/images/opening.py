"""Opening picture files: the formats that are read, and how large a picture may be.

A few kilobytes can describe a picture of any size, so the size is checked before a pixel is
decoded. The limits keep the memory for decoding a picture to about 1 GB. A file is recognised by
its first bytes. Kinds that are often given as pictures, and are none that robocle can read, have
one line that says what to do.
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
from robocle.images.square import MIN_SIDE

HEAD = 1024
"""How many bytes of a file are looked at."""

HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
AVIF_BRANDS = (b"avif", b"avis")

HEIC_ADVICE = "is a HEIC picture: pip install pillow-heif, or convert it to JPEG"
AVIF_ADVICE = "is an AVIF picture: pip install 'pillow>=11.3', or convert it to JPEG"
RAW_ADVICE = "is a camera RAW file: export it as JPEG"
VIDEO_ADVICE = "is a video: save some of its frames as JPEG files"

_STARTS = {
    b"%PDF": "is a PDF document: export the page as JPEG or PNG",
    b"%!PS": "is a PostScript document: export the page as JPEG or PNG",
    b"8BPS": "is a Photoshop document: export it as JPEG or PNG",
    b"PK\3\4": "is a ZIP archive: unpack it first",
    b"\xff\x0a": "is a JPEG XL picture: convert it to JPEG",
    b"\0\0\0\x0cJXL ": "is a JPEG XL picture: convert it to JPEG",
    b"FUJIFILMCCD-RAW": RAW_ADVICE,
    b"IIRO": RAW_ADVICE,
    b"IIRS": RAW_ADVICE,
    b"IIU\0": RAW_ADVICE,
    b"FOVb": RAW_ADVICE,
    b"\x1aE\xdf\xa3": VIDEO_ADVICE,
    b"\0\0\1\xba": VIDEO_ADVICE,
    b"\0\0\1\xb3": VIDEO_ADVICE,
}

_PICTURES = {b"\xff\xd8\xff": "JPEG", b"\x89PNG": "PNG", b"GIF8": "GIF", b"BM": "BMP",
             b"II*\0": "TIFF", b"MM\0*": "TIFF", b"RIFF": "WebP"}  # fmt: skip

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


def kind_of(head: bytes) -> str | None:
    """Return what a file is that starts like this, or None if its kind is not known.

    >>> kind_of(b"\\xff\\xd8\\xff\\xe0"), kind_of(b"%PDF-1.7")
    ('a JPEG picture', 'a PDF document')
    """
    if advice := advice_for(head):
        return advice.removeprefix("is ").partition(":")[0].partition(",")[0]
    picture = next((kind for start, kind in _PICTURES.items() if head.startswith(start)), None)
    return f"a {picture} picture" if picture else None


def is_heif(head: bytes) -> bool:
    """Return whether a file that starts like this is a HEIC or HEIF picture."""
    return head[4:8] == b"ftyp" and head[8:12] in HEIF_BRANDS and not is_avif(head)


def is_avif(head: bytes) -> bool:
    """Return whether a file that starts like this is an AVIF picture."""
    if head[4:8] != b"ftyp":
        return False
    brands = head[8 : max(16, int.from_bytes(head[:4], "big"))]
    return any(brand in brands for brand in AVIF_BRANDS)


def advice_for(head: bytes) -> str | None:
    """Return what a file is and what to do about it, or None if its kind is not known.

    Args:
        head: The first bytes of the file, up to HEAD of them.

    >>> advice_for(b"%PDF-1.7")
    'is a PDF document: export the page as JPEG or PNG'
    """
    if head[4:8] == b"ftyp":  # the family of formats that HEIC, AVIF, CR3 and MP4 belong to
        if is_avif(head):
            return AVIF_ADVICE
        if is_heif(head):
            return HEIC_ADVICE
        return RAW_ADVICE if head[8:12] == b"crx " else VIDEO_ADVICE
    if head[:4] == b"II*\0" and head[8:10] == b"CR":
        return RAW_ADVICE
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return VIDEO_ADVICE
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith(b"<") and b"<svg" in text:
        return "is an SVG drawing: export it as PNG"
    if text.startswith((b"<!doctype html", b"<html")):
        return "is a web page, not a picture: download the picture itself"
    return next((advice for start, advice in _STARTS.items() if head.startswith(start)), None)


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
    if isinstance(source, Path):
        require_regular_file(source)
        with source.open("rb") as file:
            yield _checked(file, str(source), name)
    else:
        yield _checked(source, "", name)


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
        for register in (Image.preinit, Image.init):  # the most common formats; all, much later
            if kind not in Image.OPEN:
                register()
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
