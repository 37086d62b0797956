"""Data sets: folders of labelled pictures, listed without opening any.

    dataset("folder:layout=domains").examples(Path("office_caltech10"))

A data set is a layout of folders; its root is where it is stored on this machine. The listing is
sorted, so it is the same on every file system. Names that start with a dot and files that are not
pictures are ignored. A new data set is one class and one line in `DATASETS`; the functions that
list folders and read names are here.
"""

import os
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

from robocle.classifiers.labels import plain_label, require_object
from robocle.errors import DataError, LabelError
from robocle.images import SUFFIXES
from robocle.registry import Registry
from robocle.types import Example


class Dataset(Protocol):
    """The interface of a data set."""

    default_root: ClassVar[Path | None]
    """The folder of pictures that come with robocle; None if a root must be given."""

    def examples(self, root: Path | None = None) -> list[Example]:
        """Return all pictures under a root, sorted by path.

        Args:
            root: The folder of the data set. Without one, the default root.

        Raises:
            DataError: The folder is missing or has another layout.
        """
        ...


DATASETS: Registry[Dataset] = Registry(
    "dataset",
    {
        "openloris": "robocle.evaluation.datasets.openloris:OpenLoris",
        "fsiol": "robocle.evaluation.datasets.fsiol:Fsiol",
        "core50": "robocle.evaluation.datasets.core50:Core50",
        "folder": "robocle.evaluation.datasets.folder:Folder",
        "home": "robocle.evaluation.datasets.home:Home",
    },
)


def dataset(spec: str) -> Dataset:
    """Return the data set that a spec describes.

    Args:
        spec: Such as "folder:layout=domains".

    Raises:
        SpecError: The spec names an unknown data set or option.

    Example:
        >>> dataset("folder:layout=domains")
        Folder(layout='domains')
    """
    return DATASETS.build(spec)


class Listing(NamedTuple):
    """The names of the folders and of the pictures in a folder."""

    folders: list[str]
    pictures: list[str]


def listed(folder: Path) -> Listing:
    """Return the subfolders and pictures of a folder, sorted by name.

    Raises:
        DataError: The folder cannot be read.
    """
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
    """Return the root of a data set.

    Raises:
        DataError: There is no root, or no such folder.
    """
    if root is None:
        raise DataError(f"give the folder of the data set; the expected layout is {layout}")
    if not os.path.isdir(root):
        raise DataError(
            f"there is no folder {root}: give the folder of the data set; the expected layout is "
            f"{layout}"
        )
    return root


def require_some(examples: list[Example], root: Path, layout: str) -> list[Example]:
    """Return the pictures of a data set.

    Raises:
        DataError: There are none.
    """
    if not examples:
        raise DataError(f"there are no pictures in {root} with the layout {layout}")
    return examples


def label_of(folder: Path) -> str:
    """Return the name of a folder as a label.

    Raises:
        DataError: It cannot be a label.
    """
    try:
        return require_object(plain_label(folder.name))
    except LabelError as error:
        raise DataError(f"the name of a folder in {folder.parent} is no label: {error}") from error


def instance_of(folder: Path) -> tuple[str, int]:
    """Return the category and the number in the name of an instance folder.

    Example:
        >>> instance_of(Path("paper_cutter_01"))
        ('paper_cutter', 1)
    """
    category, _, number = folder.name.rpartition("_")
    if not (category and is_number(number)):
        raise DataError(
            f"{folder} is not named <category>_<number>, such as paper_cutter_01: rename it"
        )
    return label_of(folder.with_name(category)), int(number)


def numbered(folder: Path) -> list[tuple[int, Path]]:
    """Return the pictures of a folder and the numbers that they are named by, in order."""
    found = []
    for name in listed(folder).pictures:
        stem = os.path.splitext(name)[0]
        if not is_number(stem):
            raise DataError(f"{folder / name} is not named by a number, such as 12.jpg: rename it")
        found.append((int(stem), folder / name))
    return sorted(found)


def is_number(text: str) -> bool:
    """Return whether a name consists of the digits 0 to 9."""
    return text.isascii() and text.isdecimal()
