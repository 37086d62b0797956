"""The pictures that are given to a command, and what happens to those that cannot be read."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from robocle.cli.app import plural, print_error
from robocle.errors import ImageError

Unreadable = Literal["refuse", "skip"]
"""What to do about pictures that cannot be read."""
SKIPPING = "--unreadable skip goes on without them"


def picture_files(
    paths: Iterable[Path], pictures_of: Callable[[Path], Sequence[Path]]
) -> list[Path]:
    """Return the given files and the pictures in the given folders.

    Args:
        paths: Files and folders.
        pictures_of: Returns the pictures of a folder.

    Raises:
        ImageError: A folder contains no picture.
    """
    found: list[Path] = []
    for path in paths:
        inside = pictures_of(path) if os.path.isdir(path) else [path]
        if not inside:
            raise ImageError(f"there is no picture in {path}: give files or their folder")
        found += inside
    return found


def list_unreadable(
    errors: Sequence[ImageError], given: int, unreadable: Unreadable, consequence: str
) -> None:
    """Print one line per picture that cannot be read.

    Args:
        errors: Why each of them cannot be read.
        given: How many pictures were given.
        unreadable: What to do about them.
        consequence: What follows if they are refused, and what to do.

    Raises:
        ImageError: They are refused, or no picture can be read.
    """
    if given == 1 and errors:
        raise errors[0]
    for error in errors:
        print_error(error)
    if not errors:
        return
    if len(errors) == given:
        raise ImageError(f"none of the {given} pictures can be read")
    if unreadable == "refuse":
        raise ImageError(
            f"{len(errors)} of {plural(given, 'picture')} cannot be read: {consequence}"
        )
