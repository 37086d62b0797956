"""The command that recognises pictures."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robocle.cli.app import StatePath, complain, main, picture_files, progress
from robocle.errors import ImageError
from robocle.recognition.calibration import DEFAULT_UNKNOWN, LARGEST_UNKNOWN

if TYPE_CHECKING:
    from robocle.types import Prediction

unknown_option = click.option(
    "--unknown", type=click.FloatRange(0, LARGEST_UNKNOWN), default=DEFAULT_UNKNOWN,
    show_default=True, help="About which share of the known things, met as they were taught, may "
    "be called unknown. 0: nothing is called unknown.",
)  # fmt: skip


@main.command()
@click.argument("state", type=StatePath)
@click.argument("images", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, with all scores.")
@unknown_option
def predict(state: Path, images: tuple[Path, ...], as_json: bool, unknown: float) -> None:
    """Recognise the pictures IMAGES (files or folders) with what STATE was taught.

    Prints the picture, the label or "unknown", and how likely the label is right, from 0 to 1. For
    an unknown thing that is how likely it is known after all, and what it is most like follows.
    """
    from robocle.learner import Learner

    learner = Learner.load(state)
    failed = False
    for path in progress(picture_files(images), "looking"):
        try:
            prediction = learner.predict(path, unknown)
        except ImageError as error:
            complain(error)
            failed = True
            continue
        if as_json:
            record = {"image": str(path), **vars(prediction)}
            click.echo(json.dumps(record, ensure_ascii=False))
        else:
            click.echo(_as_line(path, prediction))
    if failed:
        sys.exit(1)


def _as_line(path: Path, seen: "Prediction") -> str:
    if seen.label is None:
        return f"{path}\tunknown\t{seen.known:.2f}\tmost like {seen.nearest}"
    return f"{path}\t{seen.label}\t{seen.confidence:.2f}"
