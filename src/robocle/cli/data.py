"""The command that checks a folder of data before an experiment is run with it."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robocle.cli.app import FolderPath, main, plural
from robocle.cli.output import activity, echo, echo_lines
from robocle.spec import parse_spec

if TYPE_CHECKING:
    from robocle.evaluation.data_check import DataCheck, Runnable

MOST = 10
"""How many missing parts and empty files are listed."""


@main.group(short_help="Check the data of experiments.")
def data() -> None:
    """Check the data of experiments."""


@data.command(short_help="Say what a folder of data holds and what can be run with it.")
@click.argument("dataset")
@click.argument("folder", type=FolderPath)
@click.option("--objects", is_flag=True, help="Also list every object with its pictures.")
def check(dataset: str, folder: Path, objects: bool) -> None:
    """Say what FOLDER holds, what is missing, and which experiments can be run with it.

    DATASET is a name or a spec that `robocle parts` lists: openloris, fsiol, core50, home, or
    folder for pictures of your own. No picture is opened.
    """
    with activity("listing"):
        from robocle.evaluation.data_check import DataCheck

        checked = DataCheck(dataset, folder)
        pictures = len(checked.examples)
    echo(f"{dataset} in {folder}: {plural(pictures, 'picture')}")
    _print_counts(checked, () if objects else ("object",))
    _print_gaps("missing", checked.missing)
    _print_gaps("empty files", [str(path) for path in checked.empty])
    _print_runnable(checked)


def _print_counts(checked: "DataCheck", left_out: Collection[str]) -> None:
    from robocle.reports.tables import text_table

    for kind, counts in checked.counts.items():
        if kind not in left_out:
            rows = [(name, *(size or "-" for size in sizes)) for name, sizes in counts.items()]
            echo_lines("\n" + text_table(rows, [kind, "pictures", "objects", "classes"]))


def _print_gaps(what: str, gaps: list[str]) -> None:
    if gaps:
        rest = f" and {len(gaps) - MOST} more" if len(gaps) > MOST else ""
        echo_lines(f"\n{what}: {'; '.join(gaps[:MOST])}{rest}")


def _print_runnable(checked: "DataCheck") -> None:
    from robocle.reports.tables import text_table

    rows = [(each.experiment, each.study, _in_words(each)) for each in checked.runnable]
    echo_lines("\n" + text_table(rows, ["experiment", "study", "can be run"], align="lll"))
    cautions = {each.caution for each in checked.runnable if each.caution}
    for caution in sorted(cautions):
        echo(f"not the paper's data: {caution}")
    name = parse_spec(checked.spec).name
    runs = [each for each in checked.runnable if not each.reason]
    if runs and runs[0].experiment == "comparison":
        echo(
            f"run: robocle bench comparison --dataset {checked.spec} --data {checked.root} "
            f"--scenario {runs[0].study}"
        )
    elif runs:
        number = runs[0].experiment.removeprefix("table")
        echo(f"run: robocle paper {number} --data {name}={checked.root}")


def _in_words(run: "Runnable") -> str:
    if run.reason:
        return f"no: {run.reason}"
    return f"yes: {run.taught} pictures taught, {run.tested} tested"
