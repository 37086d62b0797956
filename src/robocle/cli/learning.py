"""Commands that teach, ask and look into a state."""

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocle.cli.app import StatePath, complain, counted, main, progress
from robocle.errors import ImageError, LabelError, StateError

if TYPE_CHECKING:
    from robocle.learner import Learner


@main.command()
@click.argument("state", type=StatePath)
@click.argument("what", nargs=-1, required=True, metavar="LABEL IMAGES... | FOLDER")
@click.option("--backbone", help="The backbone of a new state.")
@click.option("--pooling", help="The pooling of a new state.")
@click.option("--classifier", help="The classifier of a new state.")
def teach(state: Path, what: tuple[str, ...], **parts: str | None) -> None:
    """Teach the pictures IMAGES (files or folders) of one object LABEL to STATE.

    With a single FOLDER, each of its subfolders is a label with its pictures. STATE is made if it
    is not there. All pictures are taught, or, if one cannot be read, none.
    """
    from robocle.learner import Learner

    lessons = _lessons(what)
    given = {name: spec for name, spec in parts.items() if spec}
    looking = _opened(state, given)  # not locked: looking takes its time
    vectors = [(looking.embed(path), label) for path, label in progress(lessons, "looking")]
    given.pop("backbone", None)
    with Learner.open(state, looking.backbone, **given) as learner:
        for vector, label in vectors:
            learner.teach_vector(vector, label)
    taught = list(dict.fromkeys(label for _, label in lessons))
    click.echo(f"taught {counted(len(lessons), 'picture')} of {', '.join(taught)}; {state} knows "
               f"{counted(len(learner.labels), 'label')}")  # fmt: skip


@main.command()
@click.argument("state", type=StatePath)
@click.argument("images", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, with all scores.")
def predict(state: Path, images: tuple[Path, ...], as_json: bool) -> None:
    """Recognise the pictures IMAGES (files or folders) with what STATE was taught.

    Prints the picture, the label, and the label's share among all labels that are known. The share
    is not calibrated yet: it is high for wrong answers too.
    """
    from robocle.learner import Learner

    learner = Learner.load(state)
    failed = False
    for path in progress(_pictures(images), "looking"):
        try:
            prediction = learner.predict(path)
        except ImageError as error:
            complain(error)
            failed = True
            continue
        if as_json:
            record = {"image": str(path), **vars(prediction)}
            click.echo(json.dumps(record, ensure_ascii=False))
        else:
            click.echo(f"{path}\t{prediction.label or 'unknown'}\t{prediction.confidence:.2f}")
    if failed:
        sys.exit(1)


@main.command()
@click.argument("state", type=StatePath)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def inspect(state: Path, as_json: bool) -> None:
    """Show what STATE knows: labels, counts, sizes and parts."""
    from robocle.store import read_state

    stored = read_state(state)
    try:
        counts = stored.counts
    except StateError as error:
        raise StateError(f"{state} is damaged: {error}") from error
    summary = {
        "labels": counts,
        "parts": vars(stored.parts),
        "arrays": {name: list(array.shape) for name, array in sorted(stored.arrays.items())},
        "undoable": len(stored.history),
        "bytes": state.stat().st_size,
    }
    click.echo(json.dumps(summary, ensure_ascii=False) if as_json else _as_text(state, summary))


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
    if Path(label).suffix.lower() in {*SUFFIXES, ".robocle"}:
        raise LabelError(
            f"{label!r} is a file, not a label: give STATE LABEL IMAGES, in this order"
        )
    return [(path, label) for path in _pictures([Path(image) for image in images])]


def _pictures(paths: Iterable[Path]) -> list[Path]:
    """The given files, and the pictures of the given folders."""
    from robocle.images import pictures_in

    found: list[Path] = []
    for path in paths:
        inside = pictures_in(path) if os.path.isdir(path) else [path]
        if not inside:
            raise ImageError(f"there is no picture in {path}")
        found += inside
    return found


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


def _as_text(state: Path, summary: dict[str, Any]) -> str:
    labels, parts = summary["labels"], summary["parts"]
    lines = [f"{state}: {counted(len(labels), 'label')}, {sum(labels.values())} pictures, "
             f"{summary['bytes'] / 1e6:.2f} MB"]  # fmt: skip
    lines += [f"  {count:>5}  {label}" for label, count in labels.items()]
    lines += [f"{'can be undone':<14} {counted(summary['undoable'], 'operation')}"]
    lines += [f"{name:<14} {value}" for name, value in parts.items()]
    lines += [
        f"{name:<14} {' x '.join(map(str, shape))}" for name, shape in summary["arrays"].items()
    ]
    return "\n".join(lines)
