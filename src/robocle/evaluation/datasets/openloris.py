"""OpenLORIS-Object, in its original layout or in that of its authors' benchmark.

    <root>/{train,test,validation}/<factor>/segment<1..9>/<category>_<NN>/<frame>.jpg
    <root>/<factor>/{train,test,validation}/task<1..9>/<category>_<NN>/<frame>.jpg

The authors' script copies segment n of a factor to task n, so both are listed alike. A folder of
frames is one recording of one object; some are empty. Segments 1 to 3 of a factor are level 1,
segments 4 to 6 level 2, and segments 7 to 9 level 3.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, get_args

from robocle.errors import DataError
from robocle.evaluation.datasets import instance_of, listed, require_root, require_some
from robocle.spec import Described, require_choice
from robocle.types import Example

LAYOUT = "{train,test,validation}/<factor>/segment<1..9>/<category>_<NN>/*.jpg"
SPLITS = ("test", "train", "validation")
FACTORS = ("clutter", "illumination", "occlusion", "pixel")
SEGMENTS = tuple(f"segment{number}" for number in range(1, 10))
TASKS = tuple(f"task{number}" for number in range(1, 10))
OBJECTS = 121
Tested = Literal["test", "validation"]


class OpenLoris(Described):
    """OpenLORIS-Object: videos of 121 objects under four factors at three levels."""

    default_root: ClassVar[Path | None] = None

    def __init__(self, tested: Tested = "test") -> None:
        """Choose the folder that is tested: the base code tests test, the paper says train-val."""
        require_choice("tested", tested, get_args(Tested))
        self.tested = tested

    def examples(self, root: Path | None = None) -> list[Example]:
        """Return all frames with their split, factor (as domain), instance and video.

        With tested=validation, the frames of the folder validation are the test split, and those of
        the folder test are left out.
        """
        root = require_root(root, LAYOUT)
        parts = _parts(root) if self.tested == "test" else _validated(_parts(root), root)
        found = [example for part in parts for example in _recordings(part)]
        return require_some(found, root, LAYOUT)

    def missing(self, examples: list[Example]) -> list[str]:
        """Return which splits, factors and segments have no frames, and how many objects lack."""
        objects = {example.instance for example in examples}
        few = f"{OBJECTS - len(objects)} of {OBJECTS} objects"
        gone = [few] if len(objects) < OBJECTS else []
        places = {(each.path.parts[-5:-2], each.video.split("/")[1]) for each in examples}
        for split in (split for split in SPLITS if self.tested == "test" or split != "test"):
            of_split = {segment for parts, segment in places if split in parts}
            if not of_split:
                gone.append(f"the folder {split}")
                continue
            for factor in FACTORS:
                of_factor = {s for parts, s in places if {split, factor} <= {*parts}}
                lost = [segment for segment in SEGMENTS if segment not in of_factor]
                if lost:
                    gone.append(f"{split}/{factor}: {', '.join(lost)}")
        return gone


class _Part(NamedTuple):
    """The recordings of one split and factor."""

    split: str
    factor: str
    folder: Path
    names: tuple[str, ...]
    """The names of the folders of segments 1 to 9."""


def level_of(example: Example) -> int:
    """Return how severe the factor is in a frame: 1, 2 or 3.

    Example:
        >>> level_of(Example(Path("0.jpg"), "mug", video="pixel/segment4/mug_01"))
        2
    """
    _, segment, _ = example.video.split("/")
    return SEGMENTS.index(segment) // 3 + 1


def _is_benchmark(root: Path) -> bool:
    """Return whether factors are above splits, as in the authors' benchmark."""
    present = set(listed(root).folders)
    if present & {"train", "test"}:
        return False
    if "sequence" in present and not present & {*FACTORS}:
        raise DataError(
            f"the tasks in {root / 'sequence'} do not tell which factor and segment they are: give "
            f"a folder with the layout {LAYOUT}"
        )
    return bool(present & {*FACTORS})


def _parts(root: Path) -> list[_Part]:
    """Return the recordings of each split and factor, split by split."""
    if not _is_benchmark(root):
        return [
            _Part(split, factor, root / split / factor, SEGMENTS)
            for split in _splits(root)
            for factor in _known(root / split, FACTORS)
        ]
    parts = [
        _Part(split, factor, root / factor / split, TASKS)
        for factor in FACTORS
        if factor in listed(root).folders
        for split in _splits(root / factor)
    ]
    return sorted(parts, key=lambda part: SPLITS.index(part.split))


def _validated(parts: list[_Part], root: Path) -> list[_Part]:
    """Return the parts with those of validation in place of those of test."""
    if not any(part.split == "validation" for part in parts):
        raise DataError(f"there is no validation folder in {root}: use openloris:tested=test")
    kept = [part for part in parts if part.split != "test"]
    return [part._replace(split="test") if part.split == "validation" else part for part in kept]


def _splits(folder: Path) -> list[str]:
    """Return the splits in a folder, which must include train and test."""
    present = listed(folder).folders
    for split in ("train", "test"):
        if split not in present:
            raise DataError(
                f"there is no {split} folder in {folder}: the expected layout is {LAYOUT}"
            )
    return [split for split in SPLITS if split in present]


def _recordings(part: _Part) -> Iterator[Example]:
    for name in _known(part.folder, part.names):
        segment = SEGMENTS[part.names.index(name)]
        for instance in listed(part.folder / name).folders:
            yield from _frames(part.folder / name / instance, part.split, part.factor, segment)


def _frames(folder: Path, split: str, factor: str, segment: str) -> Iterator[Example]:
    instance, video = folder.name, f"{factor}/{segment}/{folder.name}"
    label, _ = instance_of(folder)
    for name in listed(folder).pictures:
        yield Example(folder / name, label, split, instance, factor, video)


def _known(folder: Path, known: tuple[str, ...]) -> list[str]:
    """Return the subfolders of a folder, which must have one of the known names."""
    found = listed(folder).folders
    for name in found:
        if known is FACTORS and name in TASKS:
            raise DataError(
                f"{folder / name} is a task of one factor: give the folder that has the factor "
                f"folders, such as {folder.parents[1]}"
            )
        if name not in known:
            raise DataError(
                f"{folder / name} is not part of OpenLORIS: the folders of {folder} are "
                f"{known[0]} to {known[-1]}"
            )
    return found
