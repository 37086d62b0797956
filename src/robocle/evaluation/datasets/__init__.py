"""Data sets: folders of labelled pictures, listed without opening any.

    dataset("folder:layout=domains").examples(Path("office_caltech10"))

A data set is a layout of folders; its root is where it is stored on this machine. The listing is
sorted, so it is the same on every file system. A new data set is one class and one line in
`DATASETS`.
"""

from pathlib import Path
from typing import ClassVar, Protocol

from robocle.registry import Registry
from robocle.types import Example

__all__ = ["DATASETS", "Dataset", "dataset"]


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
