"""What `teach` is given: pictures with their labels, in the order in which they are taught."""

import os
from pathlib import Path

from robocle.cli.app import plural, print_error
from robocle.cli.pictures import picture_files
from robocle.errors import ImageError, LabelError

Lesson = tuple[Path, str]
"""A picture and its label."""


def lessons_of(what: tuple[str, ...]) -> list[Lesson]:
    """Return the pictures to teach with their labels.

    Args:
        what: A folder of label folders; or a label, and then files and folders of its pictures.

    Raises:
        LabelError: A label cannot be used.
        ImageError: A folder cannot be listed, or contains no picture.
    """
    from robocle.classifiers.labels import require_label
    from robocle.images import SUFFIXES, pictures_in

    if "" in what:
        raise ImageError("a label or a path is empty: give STATE LABEL IMAGES, or STATE FOLDER")
    if len(what) == 1:
        return _lessons_of_folder(Path(what[0]))
    label, *images = what
    label = require_label(label)
    if Path(label).suffix.lower() in {*SUFFIXES, ".robocle"}:
        raise LabelError(
            f"{label!r} is a file, not a label: give STATE LABEL IMAGES, in this order", label
        )
    files = picture_files([Path(image) for image in images], pictures_in)
    return [(path, label) for path in files]


def _lessons_of_folder(folder: Path) -> list[Lesson]:
    from robocle.images import pictures_in

    _require_folder(folder)
    labels = sorted(path for path in folder.glob("[!.]*") if path.is_dir())
    lessons = {label.name: pictures_in(label) for label in labels}
    beside = pictures_in(folder)
    if not lessons:
        raise ImageError(
            f"{folder} has no label folders with pictures: <label>/<picture>.jpg"
            + (f"; to teach its pictures, give STATE LABEL {folder}" if beside else "")
        )
    for name, pictures in lessons.items():
        if not pictures:
            raise ImageError(f"there is no picture of {name!r} in {folder / name}")
    if beside:
        print_error(
            f"ignored {plural(len(beside), 'picture')} beside the label folders of {folder}, such "
            f"as {beside[0].name}: move each into the folder of its label"
        )
    return [
        (path, _label_of_folder(folder / name))
        for name, pictures in lessons.items()
        for path in pictures
    ]


def _require_folder(folder: Path) -> None:
    if os.path.isfile(folder):
        raise ImageError(f"{folder} is a file: give its label, too, as in STATE LABEL {folder}")
    if not os.path.isdir(folder):  # unlike folder.is_dir(), no error for a name that is too long
        raise ImageError(
            f"there is no folder {folder}: give a folder of label folders, or STATE LABEL IMAGES"
        )


def _label_of_folder(folder: Path) -> str:
    from robocle.classifiers.labels import require_label

    try:
        return require_label(folder.name)
    except LabelError as error:
        raise LabelError(f"the folder {folder}: {error}", folder.name) from error
