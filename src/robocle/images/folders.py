"""Folders of pictures: which of their files are pictures, by the endings of their names."""

import os
from collections.abc import Iterator
from pathlib import Path

from robocle.errors import ImageError

# The last two lines have formats that not every Pillow reads, and camera RAW files. A folder with
# such files must not look as if it had fewer pictures: they are listed, and refused when read.
SUFFIXES = frozenset(
    (
        *(".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm"),
        *(".pgm", ".jp2", ".jpe", ".jfif"),
        *(".avif", ".heic", ".heif", ".hif", ".jxl"),
        *(".dng", ".cr2", ".cr3", ".nef", ".arw", ".orf", ".rw2", ".raf", ".pef", ".srw"),
    )
)
"""The endings of the names of pictures, in lower case."""


def pictures_in(folder: Path) -> list[Path]:
    """Return the picture files directly in a folder, sorted by name; other files are ignored.

    Raises:
        ImageError: The folder cannot be listed.
    """
    return [path for path in _listed(folder) if _is_picture(path)]


def pictures_under(folder: Path) -> list[Path]:
    """Return the picture files in and below a folder; hidden files and folders are ignored.

    The pictures of a folder come before those of its subfolders, each sorted by name. No folder is
    visited twice, so symbolic links may form a loop.

    Raises:
        ImageError: A folder cannot be listed.
    """
    return list(_under(folder, set()))


def _under(folder: Path, visited: set[str]) -> Iterator[Path]:
    real = os.path.realpath(folder)
    if real in visited:
        return
    visited.add(real)
    inside = _listed(folder)
    yield from filter(_is_picture, inside)
    for path in inside:
        if path.is_dir():
            yield from _under(path, visited)


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.is_dir()


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise ImageError(f"cannot read the folder {folder}: {error.strerror}") from error
