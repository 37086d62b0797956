"""The command that checks how well a user's own objects are recognised under other conditions."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robocle.cli.app import PicturePath, StatePath, main, print_error
from robocle.cli.options import false_accept_option, unreadable_option
from robocle.cli.output import echo_json, echo_lines
from robocle.cli.pictures import SKIPPING, Unreadable, list_unreadable
from robocle.cli.progress import activity, progress
from robocle.errors import ImageError

if TYPE_CHECKING:
    from robocle.types import Example


@main.command(short_help="Test your own objects under other conditions.")
@click.argument("images", nargs=-1, required=True, type=PicturePath)
@click.option("--state", type=StatePath,
              help="Test this state, which is only read. Without it, learners are taught in memory "
              "and each is tested on pictures that it was not taught.")  # fmt: skip
@click.option("--out", type=StatePath, metavar="FILE.html",
              help="Also write a page with tables and small copies of a few pictures.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True,
              help="Seed of the corruptions. Equal seeds give equal results.")  # fmt: skip
@click.option("--draws", type=click.IntRange(1, 100), default=3, show_default=True,
              help="How many random variants of each corruption to test per picture.")  # fmt: skip
@unreadable_option
@false_accept_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with all counts.")
def check(images: tuple[Path, ...], state: Path | None, out: Path | None, seed: int, draws: int,
          unreadable: Unreadable, false_accept: float, as_json: bool) -> None:  # fmt: skip
    """Test how well your own objects are recognised under other lighting, turned, noisy or blurred.

    IMAGES are pictures or folders of pictures. The label of a picture is the name of its folder.
    Each picture is tested clean and under corruptions that simulate other conditions. Nothing is
    stored. Test a state on pictures that it was not taught: results on taught pictures are too
    optimistic.
    """
    with activity("starting"):
        from robocle.evaluation.check import (
            Evaluator,
            check_by_cross_validation,
            check_state,
            labelled_pictures,
        )
        from robocle.evaluation.check_result import Conditions
        from robocle.learner import Learner
        from robocle.reports.check import as_text, as_values, write_report
        from robocle.reports.pages import require_page_path

    if out:
        require_page_path(out)
    given = labelled_pictures(images)
    evaluator = Evaluator(Conditions(seed, draws), progress, false_accept)
    with activity("loading the backbone"):
        learner = Learner.load(state) if state else Learner()
    pictures, errors = _readable(given, learner.backbone.input_size, unreadable)
    if state:
        result = check_state(str(state), learner, pictures, evaluator)
    else:
        result = check_by_cross_validation(learner.backbone, pictures, evaluator)
    vanished = [ImageError(message) for message in result.unreadable]  # since they were read
    result = replace(result, unreadable=tuple(map(str, (*errors, *vanished))))
    for message in result.copies:
        print_error(message)
    if as_json:
        options = {"seed": seed, "draws": draws, "false_accept": false_accept}
        echo_json(as_values(result) | options)
    else:
        echo_lines(as_text(result))
    if out:
        write_report(result, evaluator.conditions, learner.backbone, out)
    if out and not as_json:
        echo_lines(f"\nthe page with tables and pictures is {out}")
    list_unreadable(vanished, len(pictures), unreadable, f"the others were tested; {SKIPPING}")


def _readable(
    pictures: "Sequence[Example]", side: int, unreadable: Unreadable
) -> "tuple[list[Example], list[ImageError]]":
    """Return the pictures that can be read, and why the others cannot.

    All are read before the first is tested, because testing takes much longer.
    """
    from robocle.images import read

    readable: list[Example] = []
    errors: list[ImageError] = []
    for picture in progress(pictures, "reading", len(pictures)):
        try:
            read(picture.path, side)
            readable.append(picture)
        except ImageError as error:
            errors.append(error)
    list_unreadable(errors, len(pictures), unreadable, f"nothing was tested; {SKIPPING}")
    return readable, errors
