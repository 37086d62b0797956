"""The pictures of a check: the label of a picture is the name of its folder."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from robocle.classifiers.labels import require_label
from robocle.errors import DataError, ImageError, LabelError
from robocle.images import pictures_under
from robocle.types import Example

FEWEST = 2
"""How many pictures a label must have: one to teach and one to test."""


def labelled_pictures(paths: Iterable[Path]) -> list[Example]:
    """Return the given files and all pictures in and below the given folders, each once.

    Args:
        paths: Picture files, folders of pictures, or folders of such folders.

    Raises:
        ImageError: A path does not exist, or contains no picture.
        LabelError: The name of a picture's folder cannot be a label.
    """
    found: dict[str, Example] = {}
    for path in paths:
        if not os.path.exists(path):
            raise ImageError(f"cannot read {path}: No such file or directory")
        inside = pictures_under(path) if os.path.isdir(path) else [path]
        if not inside:
            raise ImageError(f"there is no picture in {path}")
        for picture in inside:
            found.setdefault(os.path.abspath(picture), Example(picture, _label_of(picture)))
    return list(found.values())


def require_enough(
    pictures: Iterable[Example], usable: Collection[Example], why_not: Sequence[str] = ()
) -> None:
    """Check that there are enough pictures to teach some of each label and test the others.

    Args:
        pictures: All given pictures.
        usable: Those that can be read and are no copies.
        why_not: Why the others are not usable, for the message.

    Raises:
        DataError: There is one label only, or a label with fewer than two usable pictures.
    """
    labels = dict.fromkeys(picture.label for picture in pictures)
    if len(labels) < 2:
        raise DataError(
            f"all pictures are of {next(iter(labels))!r}: give pictures of at least two labels, "
            "one folder per label, or a --state that knows other labels"
        )
    counts = Counter(picture.label for picture in usable)
    rare = ", ".join(repr(label) for label in labels if counts[label] < FEWEST)
    if rare:
        because = f" ({why_not[0]})" if why_not else ""
        raise DataError(
            f"there are too few pictures of {rare}{because}: give at least {FEWEST} of each label, "
            "or a --state that was taught other pictures"
        )


def _label_of(picture: Path) -> str:
    folder = os.path.dirname(os.path.abspath(picture))
    try:
        return require_label(os.path.basename(folder))
    except LabelError as error:
        raise LabelError(
            f"the name of the folder of {picture} cannot be a label: {error}"
        ) from error
