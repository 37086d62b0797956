"""OpenLORIS-Object, in its original layout.

    <root>/{train,test,validation}/<factor>/segment<1..9>/<category>_<NN>/<frame>.jpg

A folder of frames is one recording of one object; some are empty. Segments 1 to 3 of a factor are
level 1, segments 4 to 6 level 2, and segments 7 to 9 level 3.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from robocle.errors import DataError
from robocle.evaluation.datasets.tree import instance_of, listed, require_root, require_some
from robocle.spec import Described
from robocle.types import Example

LAYOUT = "{train,test,validation}/<factor>/segment<1..9>/<category>_<NN>/*.jpg"
SPLITS = ("test", "train", "validation")
FACTORS = ("clutter", "illumination", "occlusion", "pixel")
SEGMENTS = tuple(f"segment{number}" for number in range(1, 10))


class OpenLoris(Described):
    """OpenLORIS-Object: videos of 121 objects under four factors at three levels."""

    default_root: ClassVar[Path | None] = None

    def examples(self, root: Path | None = None) -> list[Example]:
        """Return all frames with their split, factor (as domain), instance and video."""
        root = require_root(root, LAYOUT)
        present = listed(root).folders
        for split in ("train", "test"):
            if split not in present:
                raise DataError(
                    f"there is no {split} folder in {root}: the expected layout is {LAYOUT}"
                )
        found = [
            example
            for split in SPLITS
            if split in present
            for example in _recordings(root / split, split)
        ]
        return require_some(found, root, LAYOUT)


def level_of(example: Example) -> int:
    """Return how severe the factor is in a frame: 1, 2 or 3.

    Example:
        >>> level_of(Example(Path("0.jpg"), "mug", video="pixel/segment4/mug_01"))
        2
    """
    _, segment, _ = example.video.split("/")
    return SEGMENTS.index(segment) // 3 + 1


def _recordings(folder: Path, split: str) -> Iterator[Example]:
    for factor in _known(folder, FACTORS):
        for segment in _known(folder / factor, SEGMENTS):
            for instance in listed(folder / factor / segment).folders:
                yield from _frames(folder / factor / segment / instance, split, factor, segment)


def _frames(folder: Path, split: str, factor: str, segment: str) -> Iterator[Example]:
    instance, video = folder.name, f"{factor}/{segment}/{folder.name}"
    label, _ = instance_of(folder)
    for name in listed(folder).pictures:
        yield Example(folder / name, label, split, instance, factor, video)


def _known(folder: Path, known: tuple[str, ...]) -> list[str]:
    """Return the subfolders of a folder, which must have one of the known names."""
    found = listed(folder).folders
    for name in found:
        if name not in known:
            raise DataError(
                f"{folder / name} is not part of OpenLORIS: the folders of {folder} are "
                f"{known[0]} to {known[-1]}"
            )
    return found
