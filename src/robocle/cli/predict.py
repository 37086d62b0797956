"""The command that recognises pictures."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocle._internal.wording import as_json, printable
from robocle.cli.app import PicturePath, StatePath, main
from robocle.cli.options import (
    BoxOption,
    box_option,
    false_accept_option,
    threads_option,
    unreadable_option,
)
from robocle.cli.output import activity, echo_above_bar, progress
from robocle.cli.pictures import Unreadable, list_unreadable, picture_files
from robocle.errors import ImageError

if TYPE_CHECKING:
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
    """Recognise the objects in PICTURES (files, or folders with subfolders) that STATE was taught.

    Prints the picture, the label, and the probability from 0 to 1 that the label is right. A label
    that is not certain is printed as "probably mug" or, below 0.5, "perhaps mug": teach a picture
    of it there. For an unknown object it prints "unknown", the probability that it is a taught
    object after all, and the nearest label. Probabilities do not depend on --false-accept. With
    --top, the best labels follow, each with its confidence.

    Pictures that cannot be read are listed, and the others are recognised.
    """
    with activity("starting"):
        from robocle.images import pictures_under
        from robocle.learner import Learner
        from robocle.learner.embedding import Embedder

    with activity("loading the backbone"):
        learner = Learner.load(state, prediction_views=prediction_views)
        embedder = Embedder(learner.pipeline, "prediction")

    # A learner that never says "unknown" is never sure, either.
    is_judged = learner.unknown_below() is not None
    files = picture_files(pictures, pictures_under)
    errors = []
    # One at a time, so that each line is printed as soon as it can be.
    embeddings = embedder.embed_each(files, [box] * len(files), batch_size=1, threads=threads)
    shown = progress(embeddings, "recognising", len(files))
    for path, embedding in zip(files, shown, strict=True):
        if isinstance(embedding, ImageError):
            errors.append(embedding)
            continue
        found = learner.predict_embedding(embedding, false_accept=false_accept)
        line = _as_json(path, found, top) if as_json else _as_line(path, found, top, is_judged)
        echo_above_bar(line, err=False)
    consequence = "the others were recognised; with --unreadable skip the exit code is 0"
    list_unreadable(errors, len(files), unreadable, consequence)


def _as_json(path: Path, found: "Prediction", top: int | None) -> str:
    # The confidences are as many numbers as the scores; --top has those that matter.
    names = [each.name for each in fields(found) if each.name != "confidences"]
    values: dict[str, Any] = {"picture": str(path)} | {name: getattr(found, name) for name in names}
    if top:
        values["top"] = dict(found.top(top))
    return as_json(values)


def _as_line(path: Path, found: "Prediction", top: int | None, is_judged: bool) -> str:
    best = [f"{label}\t{confidence:.2f}" for label, confidence in found.top(top or 1)]
    if found.label is not None:
        words = f"{found.likelihood} {best[0]}" if is_judged and not found.sure else best[0]
        return "\t".join([printable(path), words, *best[1:]])
    nearest = best if top else [found.nothing or f"most like {found.nearest}"]
    return "\t".join([printable(path), "unknown", f"{found.known_probability:.2f}", *nearest])
