"""Images: from a path, a PIL image or an array to the square pixels a backbone takes.

Teaching and predicting both come through here, so a picture always gets the same pixels. It is
resized straight to the square, with no crop: first halved, thirded... while that stays over the
target (a JPEG does this while decoding), then bilinear. That is three times faster than bilinear
alone.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from robocle.errors import ImageError
from robocle.types import Pixels

Picture = str | os.PathLike[str] | Image.Image | NDArray[np.uint8] | NDArray[np.uint16]

# Formats that are pictures and nothing else; no PostScript, no remote or vector formats. An MPO
# is opened as the JPEG it begins with.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM", "JPEG2000")
SUFFIXES = frozenset(
    (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm", ".jp2")
)
# Pictures of kinds that Pillow does not read by itself.
OTHER_PICTURES = frozenset((".heic", ".heif", ".avif", ".jxl", ".dng", ".cr2", ".nef", ".arw"))
# Names the way from picture to pixels: raise the number when that changes, states record it.
PREPROCESSING = "stretched-square/1"
MIN_SIDE = 16
MAX_PIXELS = 89_000_000  # just under where Pillow warns of a decompression bomb
ORIENTATION_TAG = 0x0112
_TURNS = {
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
    """A picture as a backbone gets it, and how large it was before."""

    pixels: Pixels
    """(side, side, 3) uint8 RGB, upright."""
    size: tuple[int, int]
    """Width and height, as stored."""


def to_pixels(picture: Picture, side: int) -> Pixels:
    """The picture as (side, side, 3) uint8 RGB, upright."""
    return read(picture, side).pixels


def read(picture: Picture, side: int) -> SquareImage:
    """The picture as (side, side, 3) uint8 RGB, upright, with the size it had."""
    if isinstance(picture, np.ndarray):
        image = _from_array(picture)
        return SquareImage(_resized(image, side), image.size)
    if isinstance(picture, Image.Image):
        return _from_image(picture, side, "the picture")
    if isinstance(picture, str | os.PathLike):
        return _from_file(Path(picture), side)
    raise ImageError(f"a picture is a path, a PIL image or an array, not {type(picture).__name__}")


def pictures_in(folder: Path) -> list[Path]:
    """The picture files directly in a folder, sorted by name; other files are passed over.

    A picture of a kind that cannot be read is refused, so that none is left out unsaid.
    """
    try:
        files = sorted(file for file in folder.iterdir() if not file.name.startswith("."))
    except OSError as error:
        raise ImageError(f"cannot read the folder {folder}: {error.strerror}") from error
    for file in files:
        if file.suffix.lower() in OTHER_PICTURES:
            raise ImageError(f"{file} cannot be read: export it as JPEG, or move it elsewhere")
    return [file for file in files if file.suffix.lower() in SUFFIXES]


def _from_file(path: Path, side: int) -> SquareImage:
    try:
        with Image.open(path, formats=FORMATS) as image:
            _require_usable(image, str(path))
            size = image.size  # before draft, which makes it smaller
            image.draft(image.mode, (side, side))
            return SquareImage(_upright(image, side, str(path)), size)
    except ImageError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ImageError(
            f"{path} is larger than {MAX_PIXELS / 1e6:.0f} million pixels: make it smaller first"
        ) from error
    except UnidentifiedImageError as error:
        kind = "is empty" if path.stat().st_size == 0 else "is not a picture robocle can read"
        raise ImageError(f"{path} {kind}: give a JPEG, PNG or WebP file") from error
    except Exception as error:  # a damaged file can fail in any way
        raise _unreadable(str(path), error) from error


def _from_image(image: Image.Image, side: int, name: str) -> SquareImage:
    # No draft here: it would shrink the caller's own image.
    try:
        _require_usable(image, name)
        return SquareImage(_upright(image, side, name), image.size)
    except ImageError:
        raise
    except Exception as error:  # a file that was opened but not read yet, as above
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: Exception) -> ImageError:
    if isinstance(error, OSError) and error.strerror:
        return ImageError(f"cannot read {name}: {error.strerror}")
    return ImageError(f"{name} is damaged or cut off ({error}): take it again")


def _upright(image: Image.Image, side: int, name: str) -> Pixels:
    turn = _TURNS.get(image.getexif().get(ORIENTATION_TAG, 1))
    pixels = _resized(_to_rgb(image, name), side)
    # Turned after resizing: on the square it is the same, and costs a hundredth.
    return pixels if turn is None else np.asarray(Image.fromarray(pixels).transpose(turn))


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
        return Image.fromarray(_eight_bit(np.asarray(image), name)).convert("RGB")
    if image.mode == "F":
        raise ImageError(f"{name} has floating-point pixels: save it with 8 or 16 bits")
    if image.has_transparency_data:
        return _on_white(image.convert("RGBA"))
    return image.convert("RGB")


def _on_white(image: Image.Image) -> Image.Image:
    """Transparent parts become white, whatever colour lies hidden under them."""
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image).convert("RGB")


def _eight_bit(values: NDArray[np.integer], name: str) -> NDArray[np.uint8]:
    if values.min() < 0 or values.max() > 0xFFFF:
        raise ImageError(f"{name} has pixel values outside 0..65535: save it with 8 or 16 bits")
    return (values >> 8).astype(np.uint8)


def _from_array(array: NDArray[np.uint8] | NDArray[np.uint16]) -> Image.Image:
    described = f"{array.dtype} array of shape {array.shape}"
    values = array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array
    if not (values.ndim == 2 or (values.ndim == 3 and values.shape[2] in (3, 4))):
        raise ImageError(f"cannot use an {described}: give height x width x 3, RGB")
    if values.dtype not in (np.uint8, np.uint16):
        raise ImageError(f"cannot use an {described}: give uint8 values from 0 to 255")
    if min(values.shape[:2]) < MIN_SIDE:
        raise ImageError(f"cannot use an {described}: give at least {MIN_SIDE}x{MIN_SIDE} pixels")
    eight = _eight_bit(values, "the array") if values.dtype == np.uint16 else values
    return _to_rgb(Image.fromarray(np.ascontiguousarray(eight)), "the array")


def _resized(image: Image.Image, side: int) -> Pixels:
    small = image.resize((side, side), Image.Resampling.BILINEAR, reducing_gap=1.0)
    return np.asarray(small)
