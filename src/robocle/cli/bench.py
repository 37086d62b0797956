"""Commands for experiments: bench runs one, report shows results, parts lists the specs."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocle.cli.app import FolderPath, StatePath, main, plural
from robocle.cli.options import unreadable_option
from robocle.cli.output import activity, echo, echo_lines, progress
from robocle.errors import DataError
from robocle.registry import Registry

if TYPE_CHECKING:
    from robocle.evaluation.experiment import Experiment


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a command that runs an experiment."""
    for option in reversed(RUN_OPTIONS):
        command = option(command)
    return command


RUN_OPTIONS = (
    click.option("--data", multiple=True, metavar="[NAME=]DIR",
                 help="The data folder; with NAME=, the folder of one data set."),
    click.option("--study", "studies", multiple=True, metavar="NAME",
                 help="Run only this study. May be given several times."),
    click.option("--backbone", "backbones", multiple=True, metavar="SPEC",
                 help="Use this backbone instead. May be given several times."),
    click.option("--seeds", type=click.IntRange(1, 1000), help="The number of random orderings."),
    click.option("--jobs", type=click.IntRange(1, 1024), default=1, show_default=True,
                 help="The number of processes on this machine."),
    click.option("--dask", default="", metavar="ADDRESS", help="Run on a Dask cluster instead."),
    unreadable_option,
    click.option("--out", type=StatePath,
                 help="The results file.  [default: results/EXPERIMENT.jsonl]"),
)  # fmt: skip


@main.command(short_help="Run an experiment and report its results.")
@click.argument("experiment")
@click.option("--dataset", metavar="SPEC", help="Run on this data set instead.")
@click.option("--scenario", metavar="SPEC",
              help="Use this scenario instead, such as class_iid:shots=5.")  # fmt: skip
@run_options
def bench(experiment: str, dataset: str | None, scenario: str | None, **options: Any) -> None:
    """Run EXPERIMENT (a .toml file, or one that comes with robocle) and report its results.

    An interrupted run continues where it stopped; nothing is computed twice. `robocle parts` lists
    the data sets and scenarios.
    """
    with activity("starting"):
        from robocle.evaluation.experiment_file import load_experiment

    chosen = load_experiment(experiment).only(options["studies"])
    changed = chosen.changed(dataset=dataset, scenario=scenario)
    run_and_report(changed, Path(experiment).stem, options)


def run_and_report(experiment: "Experiment", name: str, options: Mapping[str, Any]) -> None:
    """Run an experiment with the options of a command, and write its report.

    Args:
        experiment: What to run.
        name: The name of the results file, unless an option names one.
        options: The values of `RUN_OPTIONS`.
    """
    with activity("starting"):
        from robocle.backbones import require_backbone
        from robocle.evaluation.parallel import Workers
        from robocle.evaluation.run_experiment import run_experiment
        from robocle.reports.benchmark import write_report
        from robocle.reports.pages import require_report_extra

    require_report_extra()
    for spec in options["backbones"]:
        require_backbone(spec)
    seeds = tuple(range(options["seeds"] or 0))
    results = options["out"] or Path("results") / f"{name}.jsonl"
    run, trials = run_experiment(
        experiment.changed(backbones=options["backbones"], seeds=seeds),
        named_roots(options["data"]),
        results,
        progress,
        workers=Workers(options["jobs"], options["dask"]),
        unreadable=options["unreadable"],
    )
    rest = ", the others had results already" if run < trials else ""
    echo(f"{run} of {plural(trials, 'trial')} run{rest}; results in {results}")
    for page in write_report(results, results.parent):
        echo(f"report in {page}")


@main.command(short_help="Write a report of results as Markdown, LaTeX and HTML.")
@click.argument("results", type=StatePath)
@click.option("--out", type=FolderPath,
              help="The folder for the reports. [default: that of RESULTS]")  # fmt: skip
def report(results: Path, out: Path | None) -> None:
    """Write a report of RESULTS as Markdown, LaTeX and one HTML page."""
    from robocle.reports.benchmark import as_markdown, build_report, write_report
    from robocle.reports.pages import require_report_extra

    require_report_extra()
    echo_lines(as_markdown(build_report(results)))
    for page in write_report(results, out or results.parent):
        echo(f"report in {page}")


def named_roots(data: Iterable[str]) -> dict[str, str]:
    """Return the folder of each data set that --data options name.

    Raises:
        DataError: There is no such folder.
    """
    return dict(_named_root(each) for each in data)


def _named_root(text: str) -> tuple[str, str]:
    """Return the data set and the folder of a --data option; "" stands for all data sets."""
    name, equals, root = ("", "", text) if os.path.isdir(text) else text.rpartition("=")
    if not os.path.isdir(root):
        raise DataError(f"there is no folder {root}: give --data {name + equals}DIR")
    return name, os.path.abspath(root)


@main.command(short_help="List everything that a spec can name.")
def parts() -> None:
    """List everything that a spec can name, with its options and their defaults.

    These are the parts of a learner (backbones, views, poolings, classifiers, finders) and the
    building blocks of experiments (data sets, scenarios, corruptions).
    """
    from robocle.reports.tables import text_table

    for registry in _registries():
        echo(f"{registry.kind}s")
        echo_lines(text_table(_rows(registry), align="ll", indent=2))


def _registries() -> tuple[Registry[Any], ...]:
    from robocle.backbones import BACKBONES
    from robocle.classifiers import CLASSIFIERS
    from robocle.evaluation.corruptions import CORRUPTIONS
    from robocle.evaluation.datasets import DATASETS
    from robocle.evaluation.scenarios import SCENARIOS
    from robocle.finders import FINDERS
    from robocle.images.views import VIEWS
    from robocle.poolings import POOLINGS

    return (BACKBONES, VIEWS, POOLINGS, CLASSIFIERS, FINDERS, DATASETS, SCENARIOS, CORRUPTIONS)


def _rows(registry: Registry[Any]) -> list[list[str]]:
    """One row per name, and a second one for its spec if it has options."""
    rows = []
    for name in registry.names():
        rows.append([name, registry.summary(name)])
        if registry.usage(name) != name:
            rows.append(["", registry.usage(name)])
    return rows
