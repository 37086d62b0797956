"""The pictures to check with: each has the label of the folder it lies in."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from robocle.classifiers.streaming import require_label
from robocle.errors import DataError, ImageError, LabelError
from robocle.images import pictures_in
from robocle.types import Example

FEWEST = 2
"""Pictures of a label, for one to be taught and one to be asked about."""


def labelled_pictures(paths: Iterable[Path]) -> list[Example]:
    """The given files and all pictures under the given folders, each once."""
    found: dict[str, Example] = {}
    for path in paths:
        if not os.path.exists(path):
            raise ImageError(f"cannot read {path}: No such file or directory")
        inside = list(_under(path, set())) if os.path.isdir(path) else [path]
        if not inside:
            raise ImageError(f"there is no picture in {path}")
        for picture in inside:
            found.setdefault(os.path.abspath(picture), Example(picture, _label_of(picture)))
    return list(found.values())


def require_enough(
    pictures: Iterable[Example], usable: Collection[Example], why_not: Sequence[str] = ()
) -> None:
    """Refuse pictures of which some cannot be taught while others are asked about.

    Why some are not usable is told.
    """
    labels = dict.fromkeys(picture.label for picture in pictures)
    if len(labels) < 2:
        raise DataError(
            f"all pictures are of {next(iter(labels))!r}: give pictures of two labels at least, "
            "a folder each, or a --state that knows others"
        )
    counts = Counter(picture.label for picture in usable)
    rare = ", ".join(repr(label) for label in labels if counts[label] < FEWEST)
    if rare:
        because = f" ({why_not[0]})" if why_not else ""
        raise DataError(
            f"there are too few pictures of {rare}{because}: give {FEWEST} of each label at least, "
            "or a --state that was taught others"
        )


def _under(folder: Path, visited: set[str]) -> Iterator[Path]:
    """The pictures in a folder and in its folders; a link back to one of them is not followed."""
    real = os.path.realpath(folder)
    if real in visited:
        return
    visited.add(real)
    yield from pictures_in(folder)
    for inner in sorted(folder.glob("[!.]*")):
        if inner.is_dir():
            yield from _under(inner, visited)


def _label_of(picture: Path) -> str:
    folder = os.path.dirname(os.path.abspath(picture))
    try:
        return require_label(os.path.basename(folder))
    except LabelError as error:
        raise LabelError(f"the folder of {picture} is no label: {error}") from error
