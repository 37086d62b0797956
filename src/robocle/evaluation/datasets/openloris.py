"""OpenLORIS-Object, as its authors lay it out.

    <root>/{train,test,validation}/<factor>/segment<1..9>/<category>_<NN>/<frame>.jpg

A folder of frames is one recording of one thing, and some are empty. Segments 1 to 3 of a factor
are its level 1, 4 to 6 level 2, 7 to 9 level 3.
"""

from collections.abc import Iterator
from pathlib import Path

from robocle.errors import DataError
from robocle.evaluation.datasets.tree import instance_of, listed, require_root, require_some
from robocle.types import Example

LAYOUT = "{train,test,validation}/<factor>/segment<1..9>/<category>_<NN>/*.jpg"
SPLITS = ("test", "train", "validation")
FACTORS = ("clutter", "illumination", "occlusion", "pixel")
SEGMENTS = tuple(f"segment{number}" for number in range(1, 10))


class OpenLoris:
    """OpenLORIS-Object: videos of 121 things under four factors at three levels."""

    def examples(self, root: Path | None = None) -> list[Example]:
        """All frames; split, factor (as domain), instance and video are told."""
        root = require_root(root, LAYOUT)
        present = listed(root).folders
        for split in ("train", "test"):
            if split not in present:
                raise DataError(f"there is no {split} folder in {root}: it should hold {LAYOUT}")
        found = [
            example
            for split in SPLITS
            if split in present
            for example in _recordings(root / split, split)
        ]
        return require_some(found, root, LAYOUT)


def level_of(example: Example) -> int:
    """How severe the factor is in a frame: 1, 2 or 3.

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
    """The folders in a folder, which may only be called so."""
    found = listed(folder).folders
    for name in found:
        if name not in known:
            raise DataError(
                f"{folder / name} is not of OpenLORIS: {folder} may hold {known[0]} to {known[-1]}"
            )
    return found
