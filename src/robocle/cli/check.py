"""Commands that test: check a user's own objects, demo ours, data check whether data are whole."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robocle.cli.app import FolderPath, PicturePath, StatePath, main, plural, print_error
from robocle.cli.options import false_accept_option, unreadable_option
from robocle.cli.output import activity, echo, echo_json, echo_lines, progress
from robocle.cli.pictures import SKIPPING, Unreadable, list_unreadable, reading_errors
from robocle.errors import ImageError
from robocle.spec import parse_spec

if TYPE_CHECKING:
    from robocle.evaluation.data_check import DataCheck

MOST = 10
"""How many missing parts and empty files of data are listed."""


@main.command(short_help="Test your own objects under other conditions.")
@click.argument("pictures", nargs=-1, required=True, type=PicturePath)
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
def check(pictures: tuple[Path, ...], state: Path | None, out: Path | None, seed: int, draws: int,
          unreadable: Unreadable, false_accept: float, as_json: bool) -> None:  # fmt: skip
    """Test how well your own objects are recognised under other lighting, turned, noisy or blurred.

    PICTURES are pictures or folders of pictures. The label of a picture is the name of its folder.
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
        from robocle.reports import require_page_path
        from robocle.reports.check import as_text, as_values, write_report

    if out:
        require_page_path(out)
    if states := [path for path in pictures if path.suffix == ".robocle" and path.is_file()]:
        raise click.UsageError(f"{states[0]} is a state: give it as --state {states[0]}")
    given = labelled_pictures(pictures)
    evaluator = Evaluator(Conditions(seed, draws), progress, false_accept)
    with activity("loading the backbone"):
        learner = Learner.load(state) if state else Learner()
    # All are read before the first is tested, because testing takes much longer.
    paths = [each.path for each in given]
    found = reading_errors(paths, learner.backbone.input_size, "reading")
    errors = [error for error in found if error]
    list_unreadable(errors, len(given), unreadable, f"nothing was tested; {SKIPPING}")
    readable = [each for each, error in zip(given, found, strict=True) if not error]
    if state:
        result = check_state(str(state), learner, readable, evaluator)
    else:
        result = check_by_cross_validation(learner.backbone, readable, evaluator)
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
    list_unreadable(vanished, len(readable), unreadable, f"the others were tested; {SKIPPING}")


@main.command(short_help="Teach 29 objects that come with robocle, and test them.")
@click.option("--out", type=StatePath, default="robocle-demo.html", show_default=True,
              help="The page to write, with explanations and pictures.")  # fmt: skip
@click.option("--pictures", type=FolderPath, metavar="FOLDER",
              help="Run nothing; write a few of the pictures to a new FOLDER, to try robocle "
              "with.")  # fmt: skip
def demo(out: Path, pictures: Path | None) -> None:
    """Teach 5 pictures of each of 29 objects, then test them under other conditions.

    The pictures come with robocle. Prints the accuracy of five methods, and how many objects are
    called unknown.
    """
    with activity("starting"):
        from robocle.demo.run import run_demo
        from robocle.reports import require_page_path
        from robocle.reports.demo import as_text, write_report

    if pictures:
        _write_pictures(pictures)
        return
    require_page_path(out)
    result = run_demo(progress)
    echo_lines(as_text(result))
    echo_lines(f"\n{result.seconds:.0f} seconds")
    write_report(result, out)
    echo(f"the page with explanations and pictures is {out}")


def _write_pictures(folder: Path) -> None:
    from robocle.demo import write_samples

    count = write_samples(folder)
    echo(f"wrote {count} pictures to {folder}")
    echo(f"  {folder / 'teach'}  one folder per label, to be taught")
    echo(f"  {folder / 'test'}   the same objects in other conditions, and one more object")


@main.group(short_help="Check the data of experiments.")
def data() -> None:
    """Check the data of experiments."""


@data.command("check", short_help="List the content of a data folder, and what can be run with it.")
@click.argument("dataset")
@click.argument("folder", type=FolderPath)
@click.option("--objects", is_flag=True, help="Also list every object with its pictures.")
def check_data(dataset: str, folder: Path, objects: bool) -> None:
    """List the content of FOLDER, missing parts, and the experiments that can be run with it.

    DATASET is a name or a spec that `robocle parts` lists: openloris, fsiol, core50, home, or
    folder for pictures of your own. No picture is opened.
    """
    with activity("listing"):
        from robocle.evaluation.data_check import DataCheck
        from robocle.reports.tables import text_table

        checked = DataCheck(dataset, folder)
        pictures = len(checked.examples)
    echo(f"{dataset} in {folder}: {plural(pictures, 'picture')}")
    for kind, counts in checked.counts.items():
        if objects or kind != "object":
            shown = {"class": 2, "object": 1}.get(kind, 3)  # the others are 1 in each row
            rows = [(name, *(n or "-" for n in sizes[:shown])) for name, sizes in counts.items()]
            columns = ["pictures", "objects", "classes"][:shown]
            echo_lines("\n" + text_table(rows, [kind, *columns]))
    _print_gaps("missing", checked.missing)
    _print_gaps("empty files", [str(path) for path in checked.empty])
    _print_runnable(checked)


def _print_gaps(what: str, gaps: list[str]) -> None:
    if gaps:
        rest = f" and {len(gaps) - MOST} more" if len(gaps) > MOST else ""
        echo_lines(f"\n{what}: {'; '.join(gaps[:MOST])}{rest}")


def _print_runnable(checked: "DataCheck") -> None:
    from robocle.reports.tables import text_table

    rows = [
        (
            each.experiment,
            each.study,
            f"no: {each.reason}"
            if each.reason
            else f"yes: {each.taught} pictures taught, {each.tested} tested",
        )
        for each in checked.runnable
    ]
    echo_lines("\n" + text_table(rows, ["experiment", "study", "can be run"], align="lll"))
    for caution in sorted({each.caution for each in checked.runnable if each.caution}):
        echo(f"not the paper's data: {caution}")
    runs = [each for each in checked.runnable if not each.reason]
    if runs and runs[0].experiment == "comparison":
        echo(
            f"run: robocle bench comparison --dataset {checked.spec} --data {checked.root} "
            f"--scenario {runs[0].study}"
        )
    elif runs:
        number = runs[0].experiment.removeprefix("table")
        name = parse_spec(checked.spec).name
        echo(f"run: robocle paper {number} --data {name}={checked.root}")
