"""Pictures for int8: some calibrate the quantisation, others test the result."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robocle._internal.randomness import keyed_rng
from robocle._internal.wording import plural
from robocle.errors import DataError
from robocle.evaluation.datasets import dataset
from robocle.evaluation.datasets.tree import listed
from robocle.evaluation.scenarios import scenario
from robocle.images import to_pixels
from robocle.types import Example, Pixels

FEWEST, MOST = 16, 200
DIVISOR = 3  # a third of the pictures in a small folder calibrates, so that the others can test
BATCH = 4
FEW_SHOTS = "class_iid:shots=5,few=skip"
# Enough pictures to detect a difference of half a point, and few enough to test in a minute.
CHECKED, PER_LABEL = 1000, 25


@dataclass(frozen=True)
class Check:
    """Labelled pictures to test a backbone with."""

    examples: tuple[Example, ...]
    described: str
    """Which pictures these are, for the report."""


def calibration_pictures(folder: Path) -> list[Path]:
    """Draw pictures from a folder and its subfolders, always the same ones.

    Raises:
        DataError: The folder cannot be read, or has too few pictures.
    """
    found = sorted(_pictures_under(folder))
    if len(found) < FEWEST:
        raise DataError(
            f"{folder} has {plural(len(found), 'picture')}, but calibration needs {FEWEST}: give "
            "a folder with pictures like those that the camera will take"
        )
    wanted = min(MOST, max(FEWEST, len(found) // DIVISOR))
    order = keyed_rng(0, "calibration").permutation(len(found))[:wanted]
    return [found[index] for index in sorted(order)]


def pixel_batches(pictures: Sequence[Path], side: int) -> Iterator[Pixels]:
    """Yield the pixels of pictures in small batches (n, side, side, 3)."""
    for start in range(0, len(pictures), BATCH):
        yield np.stack([to_pixels(path, side) for path in pictures[start : start + BATCH]])


def check_pictures(folder: Path, calibrated: Sequence[Path]) -> Check:
    """Return labelled pictures that were not used for calibration.

    Args:
        folder: The folder that the calibration pictures are from.
        calibrated: The calibration pictures.

    Returns:
        The other pictures of the folder if it is sorted by label and has enough of them. Otherwise
        those of the rendered home that comes with robocle.
    """
    used = set(calibrated)
    own = [example for example in _labelled(folder) if example.path not in used]
    if _can_test(own):
        return Check(_some_of_each(own), f"{folder}, without the calibration pictures")
    return Check(_some_of_each(dataset("home").examples()), "the rendered home")


def _pictures_under(folder: Path) -> Iterator[Path]:
    inside = listed(folder)
    yield from (folder / name for name in inside.pictures)
    for name in inside.folders:
        if not (folder / name).is_symlink():  # a link could lead back to this folder
            yield from _pictures_under(folder / name)


def _labelled(folder: Path) -> list[Example]:
    try:
        return dataset("folder").examples(folder)
    except DataError:  # not sorted by label, which is allowed
        return []


def _can_test(examples: Sequence[Example]) -> bool:
    """Return whether at least two labels have enough pictures to be taught and tested."""
    try:
        return len(scenario(FEW_SHOTS).stream(examples, seed=0).steps) > 1
    except DataError:
        return False


def _some_of_each(examples: Sequence[Example]) -> tuple[Example, ...]:
    """Draw the same number of pictures for each label and split at random."""
    wanted = max(PER_LABEL, CHECKED // len({example.label for example in examples}))
    kept: Counter[tuple[str, str]] = Counter()
    chosen = []
    for index in keyed_rng(0, "check").permutation(len(examples)):
        example = examples[index]
        group = (example.label, example.split)
        kept[group] += 1
        if kept[group] <= wanted:
            chosen.append(example)
    return tuple(sorted(chosen, key=lambda example: str(example.path)))
