"""The command that tries how recognition holds in other conditions."""

import json
import sys
from pathlib import Path

import click

from robocle.cli.app import StatePath, complain, main, plural, progress
from robocle.cli.predict import unknown_option
from robocle.errors import RobocleError


@main.command()
@click.argument("images", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--state", type=StatePath,
              help="Ask this state, which is only read. Without it, learners are taught in memory, "
              "each asked about pictures that were left out of what it was taught.")  # fmt: skip
@click.option("--out", type=StatePath, metavar="FILE.html",
              help="Also write a page with plots and small copies of a few pictures.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True,
              help="Which changes are drawn: the same seed gives the same figures.")  # fmt: skip
@click.option("--draws", type=click.IntRange(1, 100), default=3, show_default=True,
              help="How often a picture is changed in each condition.")  # fmt: skip
@unknown_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with all counts.")
def check(images: tuple[Path, ...], state: Path | None, out: Path | None, seed: int, draws: int,
          unknown: float, as_json: bool) -> None:  # fmt: skip
    """Try how your own things are recognised in other light, turned, grainy and out of focus.

    IMAGES are pictures, or folders with them; the folder a picture lies in is its label. Each is
    asked about as it is, and changed: illum, geom, noise, blur. Nothing is kept. A state that was
    taught these very pictures looks better than it is: give it others.
    """
    from robocle.evaluation.check.conditions import Conditions
    from robocle.evaluation.check.exams import Asking, check_by_leaving_out, check_state
    from robocle.evaluation.check.pictures import labelled_pictures
    from robocle.learner import Learner
    from robocle.reports.check_page import write_report
    from robocle.reports.check_table import as_text, as_values

    if out:
        _require_page(out)
    pictures = labelled_pictures(images)
    asking = Asking(Conditions(seed, draws), progress, unknown)
    learner = Learner.load(state) if state else Learner()
    if state:
        result = check_state(str(state), learner, pictures, asking)
    else:
        result = check_by_leaving_out(learner.backbone, pictures, asking)
    for about in (*result.unreadable, *result.copies):
        complain(about)
    if as_json:
        asked_with = {"seed": seed, "draws": draws, "unknown": unknown}
        click.echo(json.dumps(as_values(result) | asked_with, ensure_ascii=False))
    else:
        click.echo(as_text(result))
    if out:
        write_report(result, asking.conditions, learner.backbone, out)
    if out and not as_json:
        click.echo(f"\nthe page with plots and pictures is in {out}")
    if result.unreadable:
        complain(f"{plural(len(result.unreadable), 'picture')} could not be read")
        sys.exit(1)


def _require_page(out: Path) -> None:
    """Refuse now rather than after the work is done, and never write over something else."""
    from robocle.reports.benchmark import require_report_extra

    require_report_extra()
    if out.suffix.lower() not in (".html", ".htm"):
        raise RobocleError(f"{out} is no name for a page: give --out a name that ends in .html")
    if not out.absolute().parent.is_dir():
        raise RobocleError(f"cannot write {out}: there is no folder {out.parent}")
