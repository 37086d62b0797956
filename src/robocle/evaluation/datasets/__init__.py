"""Data sets: folders of labelled pictures, listed without opening one.

    dataset("folder:layout=domains").examples(Path("office_caltech10"))

A data set is a layout; where it lies on this machine is the root. The listing is sorted, so it is
the same on every file system.
"""

from pathlib import Path
from typing import Protocol

from robocle.registry import Registry
from robocle.types import Example

__all__ = ["DATASETS", "Dataset", "dataset"]


class Dataset(Protocol):
    """What the rest of robocle needs of a data set."""

    def examples(self, root: Path | None = None) -> list[Example]:
        """All pictures under a root; without one, those that are shipped, if any."""
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
    """The data set a spec describes, such as "folder:layout=domains"."""
    return DATASETS.build(spec)
