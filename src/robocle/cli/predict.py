"""The command that recognises pictures."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robocle.cli.app import StatePath, main, picture_files, print_error, progress
from robocle.cli.options import BoxOption, box_option, threads_option, unknown_option
from robocle.errors import ImageError

if TYPE_CHECKING:
    from robocle.embedding import Embedding
    from robocle.types import Prediction


@main.command()
@click.argument("state", type=StatePath)
@click.argument("images", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True,
              help="Print one JSON object per line, with all scores.")  # fmt: skip
@box_option
@threads_option
@unknown_option
def predict(state: Path, images: tuple[Path, ...], as_json: bool, box: BoxOption, threads: int,
            unknown: float) -> None:  # fmt: skip
    """Recognise the objects in IMAGES (files or folders) that STATE was taught.

    Prints the picture, the label, and the probability from 0 to 1 that the label is right. For an
    unknown object it prints "unknown", the probability that it is a taught object after all, and
    the nearest label.
    """
    from robocle.embedding import in_order
    from robocle.learner import Learner

    learner = Learner.load(state)
    failed = False

    def embedded(path: Path) -> "Embedding | ImageError":
        try:
            return learner.embed_for_prediction(path, box)
        except ImageError as error:
            return error

    files = picture_files(images)
    embeddings = progress(in_order(embedded, files, threads), "recognising", len(files))
    for path, embedding in zip(files, embeddings, strict=True):
        if isinstance(embedding, ImageError):
            print_error(embedding)
            failed = True
            continue
        found = learner.predict_embedding(embedding, unknown)
        if as_json:
            click.echo(json.dumps({"image": str(path), **vars(found)}, ensure_ascii=False))
        else:
            click.echo(_as_line(path, found))
    if failed:
        sys.exit(1)


def _as_line(path: Path, found: "Prediction") -> str:
    if found.label is None:
        return f"{path}\tunknown\t{found.known:.2f}\tmost like {found.nearest}"
    return f"{path}\t{found.label}\t{found.confidence:.2f}"
