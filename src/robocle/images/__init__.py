"""Images: from any kind of picture to the square pixels a backbone takes."""

from robocle.images.reading import (
    PREPROCESSING,
    SUFFIXES,
    Picture,
    SquareImage,
    pictures_in,
    read,
    to_pixels,
)

__all__ = [
    "PREPROCESSING",
    "SUFFIXES",
    "Picture",
    "SquareImage",
    "pictures_in",
    "read",
    "to_pixels",
]
