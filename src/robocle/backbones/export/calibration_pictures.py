"""Calibration pictures: drawn from a folder, and kept apart from those that test the result."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robocle.errors import DataError
from robocle.evaluation.datasets import dataset
from robocle.evaluation.datasets.tree import listed
from robocle.evaluation.scenarios import scenario
from robocle.images import to_pixels
from robocle.randomness import keyed_rng
from robocle.types import Example, Pixels

FEWEST, MOST = 16, 200
SHARE = 3  # of a small folder, a third calibrates: the rest may test
BATCH = 4
FEW_SHOTS = "class_iid:shots=5,few=skip"
# Enough to tell half a point, in a minute.
CHECKED, PER_LABEL = 1000, 25


@dataclass(frozen=True)
class Check:
    """Labelled pictures to test a backbone with, and what they are."""

    examples: tuple[Example, ...]
    described: str


def calibration_pictures(folder: Path) -> list[Path]:
    """Some of the pictures in a folder and in its folders, the same ones each time."""
    found = sorted(_pictures_under(folder))
    if len(found) < FEWEST:
        raise DataError(
            f"{folder} holds {len(found)} pictures, and calibrating needs {FEWEST}: give a folder "
            "with pictures like those that the camera will see"
        )
    wanted = min(MOST, max(FEWEST, len(found) // SHARE))
    order = keyed_rng(0, "calibration").permutation(len(found))[:wanted]
    return [found[place] for place in sorted(order)]


def pixel_batches(pictures: Sequence[Path], side: int) -> Iterator[Pixels]:
    """The pictures' pixels, a few at a time."""
    for start in range(0, len(pictures), BATCH):
        yield np.stack([to_pixels(path, side) for path in pictures[start : start + BATCH]])


def check_pictures(folder: Path, calibrated: Sequence[Path]) -> Check:
    """Labelled pictures that did not calibrate: the folder's own, else the rendered home's."""
    used = set(calibrated)
    own = [example for example in _labelled(folder) if example.path not in used]
    if _can_test(own):
        return Check(_some_of_each(own), f"{folder}, without the calibration pictures")
    return Check(_some_of_each(dataset("home").examples()), "the rendered home")


def _pictures_under(folder: Path) -> Iterator[Path]:
    inside = listed(folder)
    yield from (folder / name for name in inside.pictures)
    for name in inside.folders:
        if not (folder / name).is_symlink():  # a link may lead back here
            yield from _pictures_under(folder / name)


def _labelled(folder: Path) -> list[Example]:
    try:
        return dataset("folder").examples(folder)
    except DataError:  # not laid out by labels, which is all right
        return []


def _can_test(examples: Sequence[Example]) -> bool:
    """Whether at least two labels have pictures enough to be taught and asked."""
    try:
        return len(scenario(FEW_SHOTS).stream(examples, seed=0).steps) > 1
    except DataError:
        return False


def _some_of_each(examples: Sequence[Example]) -> tuple[Example, ...]:
    """As many pictures of each label and split, drawn by chance."""
    wanted = max(PER_LABEL, CHECKED // len({example.label for example in examples}))
    kept: Counter[tuple[str, str]] = Counter()
    chosen = []
    for place in keyed_rng(0, "check").permutation(len(examples)):
        example = examples[place]
        group = (example.label, example.split)
        kept[group] += 1
        if kept[group] <= wanted:
            chosen.append(example)
    return tuple(sorted(chosen, key=lambda example: str(example.path)))
