"""From a decoded picture to a square of RGB pixels, upright.

The picture is reduced by an integer factor to a size that is still larger than the square, then
resized bilinearly. A picture that is not RGB is converted strip by strip: the result is the same as
that of converting the whole picture first, but no second copy of it is made.
"""

import math

import numpy as np
from PIL import Image

from robocle.errors import ImageError
from robocle.images.arrays import eight_bit
from robocle.images.boxes import Region, whole_pixels
from robocle.types import Pixels

ORIENTATION_TAG = 0x0112
STRIP_PIXELS = 1_000_000
_TRANSPOSITIONS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
Corners = tuple[int, int, int, int]


def orientation(image: Image.Image) -> int:
    """Return the EXIF orientation of a picture, 1 to 8."""
    found = image.getexif().get(ORIENTATION_TAG, 1)
    return int(found) if found in _TRANSPOSITIONS else 1


def upright_square(
    image: Image.Image, side: int, name: str, region: Region | None = None
) -> Pixels:
    """Return a picture, or a region of it, as (side, side, 3) uint8 RGB, upright.

    Args:
        image: The picture as it is stored.
        side: The side of the square, in pixels.
        name: What to call the picture in an error.
        region: The region to use, in pixels of the stored picture.

    Raises:
        ImageError: The pixels have values that cannot be used.
    """
    turn = _TRANSPOSITIONS.get(orientation(image))
    width, height = image.size
    left, top, right, bottom = whole_pixels(region or (0, 0, width, height))
    small = _resized(image, side, (left, top, min(right, width), min(bottom, height)), name)
    # Rotated after resizing: for a square the result is the same, at a hundredth of the cost.
    return np.asarray(small if turn is None else small.transpose(turn))


def _resized(image: Image.Image, side: int, corners: Corners, name: str) -> Image.Image:
    """Do what `Image.resize` does with a reducing_gap of 1, strip by strip if need be."""
    left, top, right, bottom = corners
    width, height = right - left, bottom - top
    factors = max(width // side, 1), max(height // side, 1)
    if _is_plain_rgb(image):
        reduced = image.reduce(factors, corners)
    else:
        reduced = _reduced_by_strips(image, factors, corners, name)
    used = (0, 0, width / factors[0], height / factors[1])
    return reduced.resize((side, side), Image.Resampling.BILINEAR, used)


def _reduced_by_strips(
    image: Image.Image, factors: tuple[int, int], corners: Corners, name: str
) -> Image.Image:
    left, top, right, bottom = corners
    across, down = factors
    size = math.ceil((right - left) / across), math.ceil((bottom - top) / down)
    reduced = Image.new("RGB", size)
    rows = down * max(STRIP_PIXELS // ((right - left) * down), 1)
    for start in range(top, bottom, rows):
        strip = image.crop((left, start, right, min(start + rows, bottom)))
        reduced.paste(_to_rgb(strip, name).reduce(factors), (0, (start - top) // down))
    return reduced


def _is_plain_rgb(image: Image.Image) -> bool:
    return image.mode == "RGB" and "transparency" not in image.info


def _to_rgb(image: Image.Image, name: str) -> Image.Image:
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
