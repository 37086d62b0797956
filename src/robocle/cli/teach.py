"""The command that teaches pictures."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocle.cli.app import StatePath, main, picture_files, plural, print_error, progress
from robocle.cli.options import BoxOption, box_option, threads_option
from robocle.errors import ImageError, LabelError, QualityError, StateError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from robocle.embedding import Embedder, Embedding
    from robocle.images.quality import Gate

Lesson = tuple[Path, str]
"""A picture and its label."""


@main.command()
@click.argument("state", type=StatePath)
@click.argument("what", nargs=-1, required=True, metavar="LABEL IMAGES... | FOLDER")
@click.option("--backbone", help="The backbone of a new state.")
@click.option("--pooling", help="The pooling of a new state.")
@click.option("--classifier", help="The classifier of a new state.")
@click.option("--views", help="The views of a new state.")
@click.option("--gate", type=click.Choice(["warn", "refuse", "off"]), default="warn",
              show_default=True, help="What to do about pictures that are dark, blurred, small, or "
              "near-duplicates of the previous one.")  # fmt: skip
@box_option
@threads_option
def teach(state: Path, what: tuple[str, ...], gate: "Gate", box: BoxOption, threads: int,
          **parts: str | None) -> None:  # fmt: skip
    """Teach STATE the pictures IMAGES (files or folders) of one object, called LABEL.

    With a single FOLDER, each of its subfolders is a label with its pictures. STATE is created if
    it does not exist. If a picture cannot be read, none is taught.
    """
    from robocle.learner import Learner

    lessons = _lessons(what)
    given = {name: spec for name, spec in parts.items() if spec}
    # The state is not locked while the pictures are embedded, which takes most of the time.
    embedder, last_embedding = _embedder(state, given)
    embeddings = list(
        progress(
            embedder.embed_many(
                [path for path, _ in lessons], [box] * len(lessons), threads=threads
            ),
            "embedding",
            len(lessons),
        )
    )
    _check(lessons, embeddings, gate, last_embedding)
    given.pop("backbone", None)
    with Learner.open(state, embedder.pipeline.backbone, **given) as learner, learner.step():
        _point_out_similar({label for _, label in lessons}, learner.labels)
        for embedding, (_, label) in zip(embeddings, lessons, strict=True):
            learner.teach_embedding(embedding, label)
    taught = list(dict.fromkeys(label for _, label in lessons))
    click.echo(f"taught {plural(len(lessons), 'picture')} of {', '.join(taught)}; {state} knows "
               f"{plural(len(learner.labels), 'label')}")  # fmt: skip


def _embedder(
    state: Path, parts: dict[str, str]
) -> "tuple[Embedder, Callable[[str], NDArray[Any] | None]]":
    """Return an embedder for a state, and a function that returns a label's last embedding."""
    from robocle.embedding import Embedder
    from robocle.learner import Learner
    from robocle.pipeline import Pipeline
    from robocle.store import last_taught, read_state

    if not os.path.exists(state):  # unlike state.exists(), no error for a name that is too long
        return Embedder(Learner(**parts).pipeline, "teaching"), lambda label: None
    if parts:
        raise StateError(
            f"{state} exists and keeps its parts: leave out --{next(iter(parts))}, "
            "or teach a new state"
        )
    stored = read_state(state)
    pipeline = Pipeline.of_state(str(state), stored.parts)
    return Embedder(pipeline, "teaching"), lambda label: last_taught(stored.history, label)


def _check(
    lessons: list[Lesson],
    embeddings: "list[Embedding]",
    gate: "Gate",
    last_embedding: "Callable[[str], NDArray[Any] | None]",
) -> None:
    """Print the faults of pictures; with the gate `refuse`, raise for the first poor picture."""
    from robocle.images.gate import QualityGate

    checks = QualityGate(gate, last_embedding)
    for (path, label), embedding in zip(lessons, embeddings, strict=True):
        try:
            found = checks.check(embedding.complaints, embedding.values, label)
        except QualityError as error:
            raise QualityError(f"{path}: {error}", error.complaints) from error
        for complaint in found:
            print_error(f"{path}: {complaint}")


def _point_out_similar(labels: set[str], known: tuple[str, ...]) -> None:
    """Say which new labels differ from known ones in upper and lower case only."""
    from robocle.classifiers.labels import similar_label

    for label in sorted(labels.difference(known)):
        if similar := similar_label(label, known):
            print_error(f"{label!r} is a new label: there is also {similar!r}")


def _lessons(what: tuple[str, ...]) -> list[Lesson]:
    """Return the pictures to teach with their labels, in order."""
    from robocle.classifiers.labels import require_label
    from robocle.images import SUFFIXES

    if len(what) == 1:
        return _lessons_of_folder(Path(what[0]))
    label, *images = what
    label = require_label(label)
    if Path(label).suffix.lower() in {*SUFFIXES, ".robocle"}:
        raise LabelError(
            f"{label!r} is a file, not a label: give STATE LABEL IMAGES, in this order", label
        )
    return [(path, label) for path in picture_files([Path(image) for image in images])]


def _lessons_of_folder(folder: Path) -> list[Lesson]:
    from robocle.classifiers.labels import require_label
    from robocle.images import pictures_in

    if not folder.is_dir():
        raise ImageError(f"give pictures of {str(folder)!r} to teach, or a folder of label folders")
    labels = sorted(path for path in folder.glob("[!.]*") if path.is_dir())
    lessons = {label.name: pictures_in(label) for label in labels}
    if not lessons:
        raise ImageError(f"{folder} has no label folders with pictures: <label>/<picture>.jpg")
    for name, pictures in lessons.items():
        if not pictures:
            raise ImageError(f"there is no picture of {name!r} in {folder / name}")
    return [(path, require_label(name)) for name, pictures in lessons.items() for path in pictures]
