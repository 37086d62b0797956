"""Reading: converts a picture of any kind to the square pixels that a backbone takes.

Teaching and prediction both use this module, so a picture always results in the same pixels. It is
resized to the square without cropping: first reduced by an integer factor to a size that is still
larger than the target (a JPEG is reduced while it is decoded), then resized bilinearly. This is
three times as fast as bilinear resizing alone.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robocle.errors import ImageError
from robocle.images.boxes import Box, Region, Size, region_of, scaled, whole_pixels
from robocle.images.opening import opened, require_usable
from robocle.images.square import MIN_SIDE, image_from_array, orientation, upright_square
from robocle.types import Pixels

Picture = str | os.PathLike[str] | bytes | bytearray | BinaryIO | Image.Image | NDArray[Any]
"""A path, the bytes of a file, a file object, a PIL image, or an array from a camera."""

# The version of this preprocessing. States record it: increase the number when the pixels change.
PREPROCESSING = "stretched-square/1"


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
    return _from_file(*_source(picture), side, box)


def _source(picture: Picture) -> tuple[Path | io.BytesIO, str]:
    """Return the file of a picture that is neither an array nor a PIL image, and its name."""
    if isinstance(picture, str | os.PathLike):
        return Path(picture), str(picture)
    if isinstance(picture, bytes | bytearray | memoryview):
        return io.BytesIO(picture), "the picture"
    if hasattr(picture, "read"):
        return io.BytesIO(_content(picture)), "the picture"
    raise ImageError(
        "a picture must be a path, bytes, a file object, a PIL image or an array, not "
        f"{type(picture).__name__}{_conversion(picture)}"
    )


def decoded(picture: Picture) -> tuple[Image.Image | NDArray[Any], Size]:
    """Decode a picture once, to read several regions of it.

    Returns:
        A picture that `read` takes, and its width and height when it is upright.

    Raises:
        ImageError: The picture cannot be used.
    """
    if isinstance(picture, np.ndarray):
        height, width = picture.shape[:2] if picture.ndim > 1 else (0, 0)
        return picture, (width, height)
    image = picture if isinstance(picture, Image.Image) else _loaded(picture)
    width, height = image.size
    return image, (width, height) if orientation(image) < 5 else (height, width)


def _conversion(picture: object) -> str:
    if hasattr(picture, "permute"):  # PyTorch
        return ": give tensor.permute(1, 2, 0).numpy()"
    if hasattr(picture, "__array__") or isinstance(picture, list):
        return ": give numpy.asarray(...) of it, height x width x 3"
    return ""


def _content(file: Any) -> bytes:
    try:
        content = file.read()
    except (OSError, ValueError) as error:  # a device that fails, or a file that was closed
        raise ImageError(f"cannot read {file!r}: {error}") from error
    if not isinstance(content, bytes):
        raise ImageError(f"{file!r} does not return bytes: open it in binary mode")
    return content


def _loaded(picture: Picture) -> Image.Image:
    source, name = _source(picture)
    with _refused(name), opened(source, name) as image:
        image.load()
        return image


def _from_file(source: Path | io.BytesIO, name: str, side: int, box: Box | None) -> SquareImage:
    with _refused(name), opened(source, name) as image:
        _make_tiff_upright(image)
        size, region = image.size, _region(image, box, name)  # before draft reduces it
        image.draft(image.mode, _enough_for(region, size, side))
        return _square(image, side, name, size, region)


def _from_image(image: Image.Image, side: int, box: Box | None, name: str) -> SquareImage:
    # No draft here: it would shrink the caller's own image.
    with _refused(name):
        require_usable(image, name)
        _make_tiff_upright(image)
        return _square(image, side, name, image.size, _region(image, box, name))


@contextmanager
def _refused(name: str) -> Iterator[None]:
    """Raise an ImageError for whatever fails: a damaged file can do so in any way."""
    try:
        yield
    except ImageError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ImageError(f"{name} has too many pixels: make it smaller first") from error
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            raise ImageError(f"cannot read {name}: {error.strerror}") from error
        raise ImageError(f"{name} is damaged or cut off ({error}): take it again") from error


def _make_tiff_upright(image: Image.Image) -> None:
    if image.format == "TIFF":
        image.load()  # makes it upright, unlike the loading of other formats


def _square(
    image: Image.Image, side: int, name: str, size: Size, region: Region | None
) -> SquareImage:
    """Return a picture, or a region of it before it was reduced from a size, as a square."""
    if region is None:
        return SquareImage(upright_square(image, side, name), size)
    reduced = scaled(region, size, image.size)
    return SquareImage(upright_square(image, side, name, reduced), _size_of(region))


def _region(image: Image.Image, box: Box | None, name: str) -> Region | None:
    if box is None:
        return None
    return region_of(box, image.size, orientation(image), smallest=MIN_SIDE, name=name)


def _enough_for(region: Region | None, size: Size, side: int) -> Size:
    """Return the minimum size of the whole picture at which a region has the side of the square."""
    if region is None:
        return side, side
    width, height = _size_of(region)
    return side * size[0] // width + 1, side * size[1] // height + 1


def _size_of(region: Region) -> Size:
    left, top, right, bottom = whole_pixels(region)
    return right - left, bottom - top
