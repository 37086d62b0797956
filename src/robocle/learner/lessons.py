"""Lessons: pictures with one label each."""

from collections.abc import Iterable, Sized
from itertools import islice
from typing import TypeVar

from robocle._internal.wording import plural
from robocle.classifiers.labels import require_labels
from robocle.errors import FeatureError

Item = TypeVar("Item")


def require_lessons(
    pictures: Iterable[Item], labels: Iterable[str]
) -> tuple[Iterable[Item], list[str]]:
    """Return pictures and their checked labels, before the pictures are read.

    Args:
        pictures: The pictures. If they and the labels come without a number, all are fetched.
        labels: The labels. No more of them are fetched than needed: they may never end.

    Raises:
        LabelError: A label cannot be used.
        FeatureError: The numbers of pictures and labels differ.

    >>> from itertools import repeat
    >>> require_lessons(["1.jpg", "2.jpg"], repeat("mug"))
    Traceback (most recent call last):
    robocle.errors.FeatureError: there are 2 pictures and more labels: give one label per picture
    """
    if isinstance(labels, Sized):
        checked = require_labels(labels)
        if isinstance(pictures, Sized):
            require_one_label_each(len(pictures), len(checked))
        return pictures, checked
    if not isinstance(pictures, Sized):
        pictures = list(pictures)
    rest = iter(labels)
    checked = require_labels(islice(rest, len(pictures)))
    if next(rest, None) is not None:
        raise FeatureError(
            f"there are {plural(len(pictures), 'picture')} and more labels: give one label per "
            "picture"
        )
    require_one_label_each(len(pictures), len(checked))
    return pictures, checked


def require_one_label_each(pictures: int, labels: int) -> None:
    """Require as many labels as pictures.

    Raises:
        FeatureError: There are more or fewer.
    """
    if pictures != labels:
        counts = f"{plural(pictures, 'picture')} and {plural(labels, 'label')}"
        raise FeatureError(f"there are {counts}: give one label per picture")
