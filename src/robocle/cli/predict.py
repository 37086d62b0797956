"""The commands that recognise objects in pictures: predict, find."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocle._internal.wording import as_json as in_json
from robocle._internal.wording import in_words, printable
from robocle.cli.app import FolderPath, PicturePath, StatePath, main
from robocle.cli.options import (
    BoxOption,
    box_option,
    false_accept_option,
    threads_option,
    unreadable_option,
)
from robocle.cli.output import activity, box_text, echo_above_bar
from robocle.cli.pictures import Unreadable, loaded_learner, picture_files, readable
from robocle.errors import ImageError, RobocleError

if TYPE_CHECKING:
    from robocle.learner.finding import Find
    from robocle.types import Prediction


@main.command(short_help="Recognise the objects in pictures.")
@click.argument("state", type=StatePath)
@click.argument("pictures", nargs=-1, required=True, type=PicturePath)
@click.option("--top", type=click.IntRange(1), metavar="N",
              help="Print the N best labels, each with its confidence.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True,
              help="Print one JSON object per line, with all scores.")  # fmt: skip
@click.option("--prediction-views", metavar="VIEWS",
              help="The views of the pictures, instead of those of the state: "
              "centre:shares=0.8 looks once, centre:shares=1/0.6 twice.")  # fmt: skip
@unreadable_option
@box_option
@threads_option
@false_accept_option
def predict(state: Path, pictures: tuple[Path, ...], top: int | None, as_json: bool,
            unreadable: Unreadable, box: BoxOption, threads: int | None,
            false_accept: float, prediction_views: str | None) -> None:  # fmt: skip
    """Recognise the objects of STATE in PICTURES (files, or folders with subfolders).

    Prints the picture, the label, and the probability from 0 to 1 that the label is right. A label
    that is not sure is printed as "probably mug" or, below 0.5, "perhaps mug": teach another
    picture of the object in that place. For an unknown object it prints "unknown", the probability
    of that, and the nearest label. Probabilities do not depend on --false-accept. With --top, the
    best labels follow, each with its confidence.

    Pictures that cannot be read are listed, and the others are recognised.
    """
    with activity("starting"):
        from robocle.images import pictures_under
        from robocle.learner.embedding import Embedder

    learner = loaded_learner(state, prediction_views=prediction_views)
    embedder = Embedder(learner.pipeline, "prediction")
    # A learner that never says "unknown" is never sure, either.
    is_judged = learner.unknown_below() is not None
    files = picture_files(pictures, pictures_under)
    # One at a time, so that each line is printed as soon as it can be.
    embeddings = embedder.embed_each(files, [box] * len(files), batch_size=1, threads=threads)
    consequence = "the others were recognised; with --unreadable skip the exit code is 0"
    for path, embedding in readable(files, embeddings, "recognising", unreadable, consequence):
        found = learner.predict_embedding(embedding, false_accept=false_accept)
        line = _as_json(path, found, top) if as_json else _as_line(path, found, top, is_judged)
        echo_above_bar(line, err=False)


@main.command(short_help="Find taught objects in pictures.")
@click.argument("state", type=StatePath)
@click.argument("pictures", nargs=-1, required=True, type=PicturePath)
@click.option(
    "--finder",
    required=True,
    metavar="FINDER",
    help="The finder of the boxes: any exported detector, such as onnx:picodet.onnx.",
)
@click.option(
    "--most",
    type=click.IntRange(1, 64),
    default=8,
    show_default=True,
    metavar="N",
    help="The number of boxes to look at, at most, besides the whole picture.",
)
@click.option(
    "--draw",
    type=FolderPath,
    metavar="FOLDER",
    help="Write the pictures with the boxes drawn into them to FOLDER.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@unreadable_option
@false_accept_option
def find(state: Path, pictures: tuple[Path, ...], finder: str, most: int, draw: Path | None,
         as_json: bool, unreadable: Unreadable, false_accept: float) -> None:  # fmt: skip
    """Find the objects of STATE in PICTURES (files, or folders with subfolders).

    The finder says where an object is, and STATE which one it is. Prints one line per object: the
    picture, the box as x,y,width,height in pixels, and the label as `robocle predict` prints it.
    Unknown objects come last.
    """
    with activity("starting"):
        from robocle.images import pictures_under

    files = picture_files(pictures, pictures_under)
    places = _places(files, draw) if draw else {}
    learner = loaded_learner(state, finder)
    is_judged = learner.unknown_below() is not None

    def found_in(path: Path) -> "list[Find] | ImageError":
        try:
            return learner.find(path, most=most, false_accept=false_accept)
        except ImageError as error:
            return error

    consequence = "objects were looked for in the others; with --unreadable skip the exit code is 0"
    for path, finds in readable(files, map(found_in, files), "finding", unreadable, consequence):
        for each in finds:
            values = {"picture": str(path), **each.as_values()}
            fields = [
                printable(path),
                box_text(each.box),
                *_words(each.prediction, None, is_judged),
            ]
            echo_above_bar(in_json(values) if as_json else "\t".join(fields), err=False)
        if draw:
            _draw(path, finds, places[path])


def _places(files: Sequence[Path], folder: Path) -> dict[Path, Path]:
    """Return where each picture is drawn to: names that several have get numbers."""
    with _writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
    originals = {os.path.realpath(path) for path in files}
    places: dict[Path, Path] = {}
    for path in dict.fromkeys(files):
        names = chain([path.stem], (f"{path.stem}-{number}" for number in count(2)))
        place = next(each for name in names if (each := folder / f"{name}.png") not in places)
        if os.path.realpath(place) in originals:
            raise RobocleError(f"{place} is one of the pictures: draw to another folder")
        places[place] = path
    return {path: place for place, path in places.items()}


def _draw(path: Path, finds: "list[Find]", place: Path) -> None:
    from robocle.images.drawing import drawn, upright_image

    known = [each for each in finds if each.prediction.label is not None]
    texts = [(each.box, f"{each.prediction.likelihood} {each.prediction.label}".strip())
             for each in known]  # fmt: skip
    with _writing_to(place.parent):
        drawn(upright_image(path), texts).save(place)


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RobocleError(f"cannot write to {folder}: {error.strerror}") from error


def _as_json(path: Path, found: "Prediction", top: int | None) -> str:
    # The confidences are as many numbers as the scores; --top has those that matter.
    names = [each.name for each in fields(found) if each.name != "confidences"]
    values: dict[str, Any] = {"picture": str(path), "verdict": found.verdict}
    values |= {name: getattr(found, name) for name in names}
    values["unknown_probability"] = found.unknown_probability
    if top:
        values["top"] = dict(found.top(top))
    return in_json(values)


def _as_line(path: Path, found: "Prediction", top: int | None, is_judged: bool) -> str:
    return "\t".join([printable(path), *_words(found, top, is_judged)])


def _words(found: "Prediction", top: int | None, is_judged: bool) -> list[str]:
    """Return the fields of a line that say what was recognised."""
    best = [f"{label}\t{confidence:.2f}" for label, confidence in found.top(top or 1)]
    if found.label is not None:
        first = f"{found.likelihood} {best[0]}" if is_judged and not found.sure else best[0]
        return [first, *best[1:]]
    nearest = best if top else [] if found.nothing else [f"most like {found.nearest}"]
    said = in_words(None, found.verdict, found.nothing)
    return [said, f"{found.unknown_probability:.2f}", *nearest]
