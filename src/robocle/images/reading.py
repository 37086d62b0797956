"""Reading: converts a picture of any kind to the square pixels that a backbone takes.

Teaching and prediction both use this module, so a picture always results in the same pixels. It is
resized to the square without cropping: first reduced by an integer factor to a size that is still
larger than the target (a JPEG is reduced while it is decoded), then resized bilinearly. This is
three times as fast as bilinear resizing alone.
"""

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from robocle.errors import ImageError
from robocle.images.arrays import MIN_SIDE, eight_bit, image_from_array
from robocle.images.boxes import Box, Region, region_of, scaled, whole_pixels
from robocle.types import Pixels

Picture = str | os.PathLike[str] | bytes | bytearray | BinaryIO | Image.Image | NDArray[Any]
"""A path, the bytes of a file, a file object, a PIL image, or an array from a camera."""

# Raster formats only: no PostScript, no vector formats, no remote files. An MPO file is opened as
# the JPEG that it starts with.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM", "JPEG2000")
SUFFIXES = frozenset(
    (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm", ".jp2")
)
# Picture formats that Pillow cannot read without plug-ins.
OTHER_PICTURES = frozenset((".heic", ".heif", ".avif", ".jxl", ".dng", ".cr2", ".nef", ".arw"))
# The version of this preprocessing. States record it: increase the number when the pixels change.
PREPROCESSING = "stretched-square/1"
MAX_PIXELS = 89_000_000  # just below the size at which Pillow warns of a decompression bomb
ORIENTATION_TAG = 0x0112
_TRANSPOSITIONS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@dataclass(frozen=True, slots=True)
class SquareImage:
    """A picture as a backbone takes it, and its original size."""

    pixels: Pixels
    """(side, side, 3) uint8 RGB, upright."""
    size: tuple[int, int]
    """Width and height of the picture, or of the region that a box covers, as stored."""


def to_pixels(picture: Picture, side: int, box: Box | None = None) -> Pixels:
    """Return a picture as (side, side, 3) uint8 RGB, upright.

    Args:
        picture: A path, the bytes of a file, a file object, a PIL image, or an RGB array.
        side: The side of the square, in pixels.
        box: (x, y, width, height) of the region to use, in pixels of the upright picture.

    Returns:
        The pixels.

    Raises:
        ImageError: The picture cannot be used.

    >>> to_pixels(np.zeros((480, 640, 3), np.uint8), side=224).shape
    (224, 224, 3)
    """
    return read(picture, side, box).pixels


def read(picture: Picture, side: int, box: Box | None = None) -> SquareImage:
    """Return a picture as square pixels, together with its original size.

    The arguments and errors are those of `to_pixels`.
    """
    if isinstance(picture, np.ndarray):
        return _from_image(image_from_array(picture), side, box, "the array")
    if isinstance(picture, Image.Image):
        return _from_image(picture, side, box, "the picture")
    if isinstance(picture, str | os.PathLike):
        return _from_file(Path(picture), side, box, str(picture))
    if isinstance(picture, bytes | bytearray | memoryview):
        return _from_file(io.BytesIO(picture), side, box, "the picture")
    if hasattr(picture, "read"):
        return _from_file(io.BytesIO(_content(picture)), side, box, "the picture")
    raise ImageError(
        "a picture must be a path, bytes, a file object, a PIL image or an array, not "
        f"{type(picture).__name__}"
    )


def pictures_in(folder: Path) -> list[Path]:
    """Return the picture files directly in a folder, sorted by name; other files are ignored.

    Raises:
        ImageError: The folder cannot be listed, or contains a picture in a format that cannot be
            read, which would otherwise be skipped silently.
    """
    try:
        files = sorted(file for file in folder.iterdir() if not file.name.startswith("."))
    except OSError as error:
        raise ImageError(f"cannot read the folder {folder}: {error.strerror}") from error
    for file in files:
        if file.suffix.lower() in OTHER_PICTURES:
            raise ImageError(f"{file} cannot be read: export it as JPEG, or move it elsewhere")
    return [file for file in files if file.suffix.lower() in SUFFIXES]


def _content(file: Any) -> bytes:
    try:
        content = file.read()
    except (OSError, ValueError) as error:  # a device that fails, or a file that was closed
        raise ImageError(f"cannot read {file!r}: {error}") from error
    if not isinstance(content, bytes):
        raise ImageError(f"{file!r} does not return bytes: open it in binary mode")
    return content


def _from_file(source: Path | io.BytesIO, side: int, box: Box | None, name: str) -> SquareImage:
    try:
        with Image.open(source, formats=FORMATS) as image:
            _require_usable(image, name)
            size, region = image.size, _region(image, box, name)  # before draft reduces it
            image.draft(image.mode, _enough_for(region, size, side))
            if region is None:
                return SquareImage(_upright(image, side, name), size)
            reduced = scaled(region, size, image.size)
            return SquareImage(_upright(image, side, name, reduced), _size_of(region))
    except ImageError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ImageError(
            f"{name} is larger than {MAX_PIXELS / 1e6:.0f} million pixels: make it smaller first"
        ) from error
    except UnidentifiedImageError as error:
        problem = "is empty" if _is_empty(source) else "is not a picture robocle can read"
        raise ImageError(f"{name} {problem}: give a JPEG, PNG or WebP file") from error
    except Exception as error:  # a damaged file can fail in any way
        raise _unreadable(name, error) from error


def _from_image(image: Image.Image, side: int, box: Box | None, name: str) -> SquareImage:
    # No draft here: it would shrink the caller's own image.
    try:
        _require_usable(image, name)
        region = _region(image, box, name)
        size = image.size if region is None else _size_of(region)
        return SquareImage(_upright(image, side, name, region), size)
    except ImageError:
        raise
    except Exception as error:  # the caller's file may have been opened but not read yet
        raise _unreadable(name, error) from error


def _region(image: Image.Image, box: Box | None, name: str) -> Region | None:
    if box is None:
        return None
    return region_of(box, image.size, _orientation(image), smallest=MIN_SIDE, name=name)


def _enough_for(region: Region | None, size: tuple[int, int], side: int) -> tuple[int, int]:
    """Return the minimum size of the whole picture at which a region has the side of the square."""
    if region is None:
        return side, side
    width, height = _size_of(region)
    return side * size[0] // width + 1, side * size[1] // height + 1


def _size_of(region: Region) -> tuple[int, int]:
    left, top, right, bottom = whole_pixels(region)
    return right - left, bottom - top


def _is_empty(source: Path | io.BytesIO) -> bool:
    return not (source.stat().st_size if isinstance(source, Path) else source.getbuffer().nbytes)


def _unreadable(name: str, error: Exception) -> ImageError:
    if isinstance(error, OSError) and error.strerror:
        return ImageError(f"cannot read {name}: {error.strerror}")
    return ImageError(f"{name} is damaged or cut off ({error}): take it again")


def _orientation(image: Image.Image) -> int:
    found = image.getexif().get(ORIENTATION_TAG, 1)
    return int(found) if found in _TRANSPOSITIONS else 1


def _upright(image: Image.Image, side: int, name: str, region: Region | None = None) -> Pixels:
    turn = _TRANSPOSITIONS.get(_orientation(image))
    used = image if region is None else image.crop(whole_pixels(region))
    small = _to_rgb(used, name).resize((side, side), Image.Resampling.BILINEAR, reducing_gap=1.0)
    # Rotated after resizing: for a square the result is the same, at a hundredth of the cost.
    return np.asarray(small if turn is None else small.transpose(turn))


def _require_usable(image: Image.Image, name: str) -> None:
    width, height = image.size
    if min(width, height) < MIN_SIDE:
        raise ImageError(f"{name} is {width}x{height}: give at least {MIN_SIDE}x{MIN_SIDE} pixels")
    if width * height > MAX_PIXELS:
        raise ImageError(
            f"{name} is {width}x{height}, over {MAX_PIXELS / 1e6:.0f} million pixels: "
            "make it smaller first"
        )
    frames = getattr(image, "n_frames", 1)
    if frames > 1 and image.format != "MPO":  # an MPO is a photograph with previews inside
        raise ImageError(f"{name} has {frames} frames: give a single picture, not an animation")


def _to_rgb(image: Image.Image, name: str) -> Image.Image:
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode.startswith("I"):
        return Image.fromarray(eight_bit(np.asarray(image), name)).convert("RGB")
    if image.mode == "F":
        raise ImageError(f"{name} has floating-point pixels: save it with 8 or 16 bits")
    if image.has_transparency_data:
        return _on_white(image.convert("RGBA"))
    return image.convert("RGB")


def _on_white(image: Image.Image) -> Image.Image:
    """Make transparent areas white, whatever colour is stored under them."""
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image).convert("RGB")
