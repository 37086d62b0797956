"""Images: from any kind of picture to the square pixels a backbone takes."""

from robocle.images.folders import SUFFIXES, pictures_in, pictures_under
from robocle.images.reading import PREPROCESSING, Picture, SquareImage, read, to_pixels

__all__ = [
    "PREPROCESSING",
    "SUFFIXES",
    "Picture",
    "SquareImage",
    "pictures_in",
    "pictures_under",
    "read",
    "to_pixels",
]
