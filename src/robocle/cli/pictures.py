"""The pictures that a command is given (files, folders, frames of a bag), and their labels."""

import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from robocle._internal.wording import listed, printable
from robocle.cli.app import plural, print_error
from robocle.cli.options import BoxOption
from robocle.cli.output import activity, progress
from robocle.errors import ImageError, LabelError

if TYPE_CHECKING:
    from robocle.bags import Bag, BagFrame, Intervals
    from robocle.learner import Learner

Result = TypeVar("Result")
Labelled = tuple[Path, str]
"""A picture and its label."""
Unreadable = Literal["refuse", "skip"]
"""What to do about pictures that cannot be read."""
SKIPPING = "--unreadable skip goes on without them"
ORDER = "give STATE LABEL PICTURES, in this order"
ANYWAY = "; taught all the same"
"""What follows the fault of a picture if --poor is warn."""
JITTER = 1e-3
"""Seconds by which a frame may be early."""
LISTED = 3
"""How many frames are named that are skipped or poor; the others are counted."""


def loaded_learner(
    state: Path, finder: str | None = None, prediction_views: str | None = None
) -> "Learner":
    """Return the learner of a state that is only read, with the finder of an option."""
    with activity("loading the backbone"):
        from robocle.learner import Learner

        learner = Learner.load(state, prediction_views=prediction_views)
        if finder:
            from robocle.finders import finder as finder_of

            learner.finder = finder_of(finder)
    return learner


def opened_after_embedding(
    state: Path, embedded_by: "Learner", given: Mapping[str, Any]
) -> "Learner":
    """Return the learner of a new state, when pictures were embedded by one in memory.

    Args:
        state: The state. Another program may have created it since.
        embedded_by: The learner in memory.
        given: The specs of parts that the user gave.

    Raises:
        StateError: The state of the other program has another pipeline, or other parts than given.
    """
    from robocle.learner import Learner

    parts = embedded_by.parts
    specs = {**given, "pooling": parts.pooling, "views": parts.views}
    specs.pop("backbone", None)
    return Learner.open(state, embedded_by.backbone, **specs)


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


def readable(
    files: Sequence[Path],
    outcomes: Iterable[Result | ImageError],
    title: str,
    unreadable: Unreadable,
    consequence: str,
) -> Iterator[tuple[Path, Result]]:
    """Yield the pictures that can be read with their outcomes, and list the others at the end.

    Args:
        files: The pictures.
        outcomes: What became of each of them, in their order, or why it cannot be read.
        title: What is done to them, to show the progress.
        unreadable: What to do about pictures that cannot be read.
        consequence: As in `list_unreadable`, which also raises its errors.
    """
    errors = []
    for path, outcome in zip(files, progress(outcomes, title, len(files)), strict=True):
        if isinstance(outcome, ImageError):
            errors.append(outcome)
        else:
            yield path, outcome
    list_unreadable(errors, len(files), unreadable, consequence)


def reading_errors(
    paths: Sequence[Path], side: int, title: str, box: BoxOption = None
) -> list[ImageError | None]:
    """Read pictures, and return why each of them cannot be read, or None."""
    from robocle.images import read

    errors: list[ImageError | None] = []
    for path in progress(paths, title):
        try:
            read(path, side, box)
            errors.append(None)
        except ImageError as error:
            errors.append(error)
    return errors


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


def lessons_of(what: tuple[str, ...]) -> list[Labelled]:
    """Return the pictures to teach with their labels, in the order in which they are taught.

    Args:
        what: A folder of label folders, or several label folders; or a label, and then files and
            folders of its pictures.

    Raises:
        LabelError: A label cannot be used.
        ImageError: A folder cannot be listed, or contains no picture.
    """
    from robocle.classifiers.labels import require_label
    from robocle.images import pictures_in

    if "" in what:
        raise ImageError("a label or a path is empty: give STATE LABEL PICTURES, or STATE FOLDER")
    paths = [Path(each) for each in what]
    if len(what) == 1:
        return _lessons_of_folders(_label_folders(paths[0]))
    are_inside = all(each.is_relative_to(paths[0]) for each in paths[1:])
    # As a shell expands pictures/*. In `teach STATE mug mug/front mug/back`, mug is the label.
    if all(os.path.isdir(each) for each in what) and not are_inside:
        return _lessons_of_folders(list(dict.fromkeys(paths)))
    label = require_label(what[0])
    _require_no_path(label, paths[1:])
    for path in filter(os.path.isdir, paths[1:]):
        if not pictures_in(path) and (advice := _label_folders_in(path)):
            raise ImageError(f"there is no picture in {path}: leave out {label!r}, and {advice}")
    return [(path, label) for path in picture_files(paths[1:], pictures_in)]


def _require_no_path(label: str, pictures: Sequence[Path]) -> None:
    """Require that a label is no path: an argument may be missing, or a shell expanded a pattern.

    A folder called like the label may exist if all of its pictures are in it.
    """
    from robocle.images import SUFFIXES

    path = Path(label)
    if os.path.isdir(path) and not all(each.is_relative_to(path) for each in pictures):
        raise LabelError(
            f"{label!r} is a folder, not a label: give STATE LABEL PICTURES, or only folders, each "
            "with the name of its label",
            label,
        )
    if path.suffix.lower() in {*SUFFIXES, ".robocle"} or (path.name != label and path.is_file()):
        raise LabelError(f"{label!r} is a file, not a label: {ORDER}", label)


def _label_folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, each with the pictures of one label."""
    from robocle.images import pictures_in

    if os.path.isfile(folder):
        raise ImageError(f"{folder} is a file: give its label as well, as in STATE LABEL {folder}")
    if not os.path.isdir(folder):  # unlike folder.is_dir(), no error for a name that is too long
        raise ImageError(
            f"there is no folder {folder}: give a folder of label folders, or STATE LABEL PICTURES"
        )
    found = sorted(path for path in folder.glob("[!.]*") if path.is_dir())
    beside = pictures_in(folder)
    if not found:
        raise ImageError(
            f"{folder} has no label folders with pictures: <label>/<picture>.jpg"
            + (f"; to teach its pictures, give STATE LABEL {folder}" if beside else "")
        )
    if beside:
        print_error(
            f"ignored {plural(len(beside), 'picture')} beside the label folders of {folder}, such "
            f"as {beside[0].name}: move each into the folder of its label"
        )
    return found


def _lessons_of_folders(folders: list[Path]) -> list[Labelled]:
    """Return the pictures of folders, each labelled with the name of its folder."""
    from robocle.classifiers.labels import require_label
    from robocle.images import pictures_in

    lessons = []
    for folder in folders:
        pictures = pictures_in(folder)
        if not pictures:
            advice = _label_folders_in(folder)
            missing = f"there is no picture of {folder.name!r} in {folder}"
            raise ImageError(f"{missing}: {advice}" if advice else missing)
        label = require_label(folder.name)
        lessons += [(path, label) for path in pictures]
    return lessons


def _label_folders_in(folder: Path) -> str:
    """Return the advice to teach the folders in or below a folder, if they have pictures."""
    from robocle.images import pictures_under

    found = next((path.parent.parent for path in pictures_under(folder)), None)
    if found is None:
        return ""
    inner = sorted({path.parent.name for path in pictures_under(found)})
    are = "is a label" if len(inner) == 1 else "are labels"
    return f"teach {found}, if {listed(inner, 'other', 3)} {are}"


def spelled_as_known(lessons: list[Labelled], known: Iterable[str], state: Path) -> list[Labelled]:
    """Return the lessons, with the labels as they are known already if the user prefers that.

    A new label that differs from another one in upper and lower case only is probably the same. On
    a terminal the user is asked; otherwise a line says how to join the two.
    """
    taken, instead = list(known), dict[str, str]()
    for label in dict.fromkeys(label for _, label in lessons):
        similar = _similar_label(label, taken)
        question = f"there is a label {similar!r}: teach {label!r} as {similar!r}?"
        if similar and sys.stdin.isatty() and click.confirm(printable(question), True, err=True):
            instead[label] = similar
            continue
        point_out_similar(label, taken, state)
        taken.append(label)
    return [(path, instead.get(label, label)) for path, label in lessons]


def point_out_similar(label: str, known: Iterable[str], state: Path) -> None:
    """Warn if a new label differs from a known one in upper and lower case only."""
    if similar := _similar_label(label, known):
        command = shlex.join(["robocle", "rename", str(state), label, similar])
        print_error(f"{label!r} and {similar!r} are two labels: `{command}` joins them")


def _similar_label(label: str, known: Iterable[str]) -> str | None:
    from robocle.classifiers.labels import similar_label

    return None if label in known else similar_label(label, known)


class UsedFrames:
    """The frames of a bag that a command uses, and those that it skips."""

    def __init__(
        self, recording: "Bag", topic: str | None, labels: "Intervals | str | None", every: float
    ) -> None:
        self._recording, self._topic = recording, recording.image_topic(topic)
        self._labels, self._every = labels, every
        self._noted: Counter[str] = Counter()
        self.count = 0
        """How many frames have a label that is used, or were to be recognised."""

    def read(self, title: str) -> "Iterator[BagFrame]":
        """Yield the frames that can be read and have a label, if there are any labels."""
        count = self._recording.count(self._topic)
        last: dict[str | None, float] = {}
        for frame in progress(self._recording.frames(self._topic, self._labels), title, count):
            is_early = frame.seconds - last.get(frame.label, -float("inf")) < self._every - JITTER
            if is_early or (self._labels and frame.label is None):
                continue
            last[frame.label] = frame.seconds
            self.count += 1
            if isinstance(frame.picture, ImageError):
                self.note("skipped", frame, frame.picture)
            else:
                yield frame

    def each(
        self, frames: "Iterable[BagFrame]", use: "Callable[[Any], Result]"
    ) -> "Iterator[tuple[BagFrame, Result]]":
        """Yield frames with what a function returns for their pictures, if it can use them."""
        for frame in frames:
            try:
                found = use(frame.picture)
            except ImageError as error:
                self.note("skipped", frame, error)
            else:
                yield frame, found

    def note(self, what: str, frame: "BagFrame", why: object) -> None:
        """Count a frame that is skipped or poor, and say why for the first ones."""
        self._noted[what] += 1
        if self._noted[what] <= LISTED:
            after = ANYWAY if what == "poor" else ""
            print_error(f"the frame at {frame.seconds:.2f} s is {what}: {why}{after}")

    def print_counts(self) -> None:
        """Say how many frames were skipped or poor, if not all of them were named."""
        for what, count in self._noted.items():
            if count > LISTED:
                print_error(f"{count} frames are {what} in all")
