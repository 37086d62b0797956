"""Trees of folders: what lies in them by name, sorted, and what the names say.

Names starting with a dot, and files that are not pictures, do not count.
"""

import os
from pathlib import Path
from typing import NamedTuple

from robocle.classifiers.streaming import require_label
from robocle.errors import DataError, LabelError
from robocle.images import SUFFIXES
from robocle.types import Example


class Listing(NamedTuple):
    """The names of the folders and of the pictures in a folder."""

    folders: list[str]
    pictures: list[str]


def listed(folder: Path) -> Listing:
    """What lies in a folder."""
    found = Listing([], [])
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir():
                    found.folders.append(entry.name)
                elif os.path.splitext(entry.name)[1].lower() in SUFFIXES:
                    found.pictures.append(entry.name)
    except OSError as error:
        raise DataError(f"cannot list {folder}: {error.strerror}") from error
    found.folders.sort()
    found.pictures.sort()
    return found


def require_root(root: Path | None, layout: str) -> Path:
    """Refuse to go on without a root."""
    if root is None:
        raise DataError(f"give the folder that holds the data: {layout}")
    if not os.path.isdir(root):
        raise DataError(f"there is no folder {root}: it should hold {layout}")
    return root


def require_some(examples: list[Example], root: Path, layout: str) -> list[Example]:
    """Refuse a root without pictures."""
    if not examples:
        raise DataError(f"there are no pictures in {root} laid out as {layout}")
    return examples


def label_of(folder: Path) -> str:
    """A folder's name, if it can be a label."""
    try:
        return require_label(folder.name)
    except LabelError as error:
        raise DataError(f"a folder in {folder.parent} does not name a class: {error}") from error


def instance_of(folder: Path) -> tuple[str, int]:
    """The category and number that an instance folder's name says.

    >>> instance_of(Path("paper_cutter_01"))
    ('paper_cutter', 1)
    """
    category, _, number = folder.name.rpartition("_")
    if not (category and is_number(number)):
        raise DataError(f"{folder} is not named <category>_<number>, such as paper_cutter_01")
    return label_of(folder.with_name(category)), int(number)


def numbered(folder: Path) -> list[tuple[int, Path]]:
    """The pictures of a folder that are named by numbers, in the order of the numbers."""
    found = []
    for name in listed(folder).pictures:
        stem = os.path.splitext(name)[0]
        if not is_number(stem):
            raise DataError(f"{folder / name} is not named by a number, such as 12.jpg")
        found.append((int(stem), folder / name))
    return sorted(found)


def is_number(text: str) -> bool:
    """Whether a name is made of the digits 0 to 9."""
    return text.isascii() and text.isdecimal()
