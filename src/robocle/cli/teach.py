"""The command that teaches pictures."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocle.cli.app import StatePath, complain, main, picture_files, plural, progress
from robocle.errors import ImageError, LabelError, QualityError, StateError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from robocle.learner import Learner


@main.command()
@click.argument("state", type=StatePath)
@click.argument("what", nargs=-1, required=True, metavar="LABEL IMAGES... | FOLDER")
@click.option("--backbone", help="The backbone of a new state.")
@click.option("--pooling", help="The pooling of a new state.")
@click.option("--classifier", help="The classifier of a new state.")
@click.option("--views", help="How a new state looks at what it is taught: plain, or centre.")
@click.option("--gate", type=click.Choice(["warn", "refuse", "off"]), default="warn",
              show_default=True, help="What to do about pictures that are dark, blurred, small, or "
              "the last one again.")  # fmt: skip
def teach(state: Path, what: tuple[str, ...], gate: str, **parts: str | None) -> None:
    """Teach the pictures IMAGES (files or folders) of one object LABEL to STATE.

    With a single FOLDER, each of its subfolders is a label with its pictures. STATE is made if it
    is not there. All pictures are taught, or, if one cannot be read, none.
    """
    from robocle.learner import Learner

    lessons = _lessons(what)
    given = {name: spec for name, spec in parts.items() if spec}
    looking = _opened(state, given)  # not locked: looking takes its time
    vectors = list(_looked_at(looking, lessons, gate))
    given.pop("backbone", None)
    with Learner.open(state, looking.backbone, **given) as learner:
        for vector, label in vectors:
            learner.teach_embedding(vector, label)
    taught = list(dict.fromkeys(label for _, label in lessons))
    click.echo(f"taught {plural(len(lessons), 'picture')} of {', '.join(taught)}; {state} knows "
               f"{plural(len(learner.labels), 'label')}")  # fmt: skip


def _looked_at(
    learner: "Learner", lessons: Iterable[tuple[Path, str]], gate: str
) -> Iterator[tuple["NDArray[Any]", str]]:
    """The vector and label of each lesson; a poor picture is complained of, or refused."""
    last: dict[str, NDArray[Any] | None] = {}
    for path, label in progress(lessons, "looking"):
        lesson = learner.look(path)
        before = last.get(label, learner.last_embedding(label))
        try:
            found = lesson.pass_gate(gate, before)
        except QualityError as error:
            raise QualityError(f"{path}: {error}", error.complaints) from error
        for complaint in found:
            complain(f"{path}: {complaint}")
        last[label] = lesson.vector
        yield lesson.vector, label


def _lessons(what: tuple[str, ...]) -> list[tuple[Path, str]]:
    """What to teach: (picture, label), in order."""
    from robocle.classifiers.streaming import require_label
    from robocle.images import SUFFIXES, pictures_in

    if len(what) == 1:
        folder = Path(what[0])
        if not folder.is_dir():
            raise ImageError(f"give pictures of {what[0]!r} to teach, or a folder of label folders")
        labels = sorted(path for path in folder.glob("[!.]*") if path.is_dir())
        lessons = {label.name: pictures_in(label) for label in labels}
        if not lessons:
            raise ImageError(f"{folder} has no label folders with pictures: <label>/<picture>.jpg")
        for name, pictures in lessons.items():
            if not pictures:
                raise ImageError(f"there is no picture of {name!r} in {folder / name}")
        return [(path, name) for name, pictures in lessons.items() for path in pictures]
    label, *images = what
    require_label(label)
    if label == "unknown":
        raise LabelError(
            "'unknown' is what predict says of things it does not know: choose another"
        )
    if Path(label).suffix.lower() in {*SUFFIXES, ".robocle"}:
        raise LabelError(
            f"{label!r} is a file, not a label: give STATE LABEL IMAGES, in this order"
        )
    return [(path, label) for path in picture_files([Path(image) for image in images])]


def _opened(state: Path, parts: dict[str, str]) -> "Learner":
    """The learner in a file, or a new one."""
    from robocle.learner import Learner

    if not os.path.exists(state):  # unlike state.exists(), no error for a name that is too long
        return Learner(**parts)
    if parts:
        raise StateError(
            f"{state} exists and keeps its parts: leave out --{next(iter(parts))}, "
            "or teach a new state"
        )
    return Learner.load(state)
