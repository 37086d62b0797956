"""Commands for experiments: bench and paper run one, report shows results, parts lists specs."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from robocle.cli.app import FolderPath, StatePath, main, plural
from robocle.cli.options import unreadable_option, with_parameters
from robocle.cli.output import activity, echo, echo_lines, progress
from robocle.errors import DataError, RobocleError, SpecError
from robocle.registry import Registry

if TYPE_CHECKING:
    from robocle.evaluation.experiment import Experiment


EXPERIMENTS = {str(number): f"table{number}" for number in range(1, 7)}
EXPERIMENTS |= {"figure2": "moments", "figure5": "per_step"}
"""What the paper calls them, and their experiments."""
RENDERED = {
    "dataset": "home",
    "scenario": "class_iid:shots=5",
    "backbones": ("efficientnet_lite0",),
}
"""What --rendered runs on."""

run_options = with_parameters(
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
        options: The values of `run_options`.
    """
    with activity("starting"):
        from robocle.backbones import require_backbone
        from robocle.evaluation.parallel import Workers
        from robocle.evaluation.run_experiment import run_experiment
        from robocle.reports import require_report_extra
        from robocle.reports.benchmark import report_paths, write_report

    require_report_extra()
    results = options["out"] or Path("results") / f"{name}.jsonl"
    report_paths(results, results.parent)
    for spec in options["backbones"]:
        require_backbone(spec)
    seeds = tuple(range(options["seeds"] or 0))
    try:
        run, trials = run_experiment(
            experiment.changed(backbones=options["backbones"], seeds=seeds),
            named_roots(options["data"]),
            results,
            progress,
            workers=Workers(options["jobs"], options["dask"]),
            unreadable=options["unreadable"],
        )
    except KeyboardInterrupt as error:
        error.args = ("interrupted: the same command continues",)
        raise
    rest = ", the others had results already" if run < trials else ""
    echo(f"{run} of {plural(trials, 'trial')} run{rest}; results in {results}")
    for page in write_report(results, results.parent):
        echo(f"report in {page}")


@main.command(short_help="Run a table or figure of the paper.")
@click.argument("which", type=click.Choice(list(EXPERIMENTS)))
@click.option("--rendered", is_flag=True,
              help="Run on the rendered pictures that come with robocle instead.")  # fmt: skip
@run_options
def paper(which: str, rendered: bool, **options: Any) -> None:
    """Run a table of the paper (1 to 6), or a figure, beside the paper's numbers.

    figure2 shows the distributions of the moments, figure5 the accuracy after each class. An
    interrupted run continues where it stopped. Missing data and backbones are named and skipped.
    """
    with activity("starting"):
        from robocle.evaluation.experiment_file import load_experiment

    name = EXPERIMENTS[which]
    experiment = load_experiment(name).only(options["studies"])
    if rendered and options["data"]:
        raise click.UsageError("--rendered runs on the pictures of robocle: leave out --data")
    if rendered:
        experiment, name = experiment.changed(**RENDERED), f"{name}-rendered"
    else:
        _require_data(experiment, options["data"])
        _require_backbone(experiment, options["backbones"])
    run_and_report(experiment, name, options)


def _require_data(experiment: "Experiment", data: Sequence[str]) -> None:
    roots = named_roots(data)
    names = dict.fromkeys(study.dataset_name for study in experiment.studies)
    if "" in roots or roots.keys() & names.keys():
        return
    options = " ".join(f"--data {name}=DIR" for name in names)
    raise DataError(
        f"{experiment.title!r} needs {experiment.paper_data}, which the page on data sets says how "
        f"to get: give {options}; or try it on rendered pictures with --rendered, or on rendered "
        "videos in the layout of OpenLORIS from `robocle sim --layout openloris DIR`"
    )


def _require_backbone(experiment: "Experiment", given: Sequence[str]) -> None:
    from robocle.backbones import require_backbone

    names = given or [name for study in experiment.studies for name in study.backbones]
    for name in names:
        try:
            return require_backbone(name)
        except (RobocleError, SpecError) as error:
            missing = error
    raise DataError(
        f"{experiment.title!r} can be run on no backbone that is here: {missing}; or give "
        "--backbone efficientnet_lite0"
    )


@main.command(short_help="Write a report of results as Markdown, LaTeX and HTML.")
@click.argument("results", type=StatePath)
@click.option("--out", type=FolderPath,
              help="The folder for the reports. [default: that of RESULTS]")  # fmt: skip
def report(results: Path, out: Path | None) -> None:
    """Write a report of RESULTS as Markdown, LaTeX and one HTML page."""
    from robocle.reports import require_report_extra
    from robocle.reports.benchmark import as_markdown, build_report, report_paths, write_report

    require_report_extra()
    folder = out or results.parent
    found, _ = build_report(results), report_paths(results, folder)
    echo_lines(as_markdown(found))
    for page in write_report(results, folder):
        echo(f"report in {page}")


def named_roots(data: Iterable[str]) -> dict[str, str]:
    """Return the folder of each data set that --data options name; "" stands for all data sets.

    Raises:
        DataError: There is no such folder.
    """
    roots = {}
    for text in data:
        name, equals, root = ("", "", text) if os.path.isdir(text) else text.rpartition("=")
        if not os.path.isdir(root):
            raise DataError(f"there is no folder {root}: give --data {name + equals}DIR")
        roots[name] = os.path.abspath(root)
    return roots


@main.command(short_help="List everything that a spec can name.")
def parts() -> None:
    """List everything that a spec can name, with its options and their defaults.

    These are the parts of a learner (backbones, views, poolings, classifiers, finders) and the
    building blocks of experiments (data sets, scenarios, corruptions).
    """
    from robocle.backbones import BACKBONES
    from robocle.classifiers import CLASSIFIERS
    from robocle.evaluation.corruptions import CORRUPTIONS
    from robocle.evaluation.datasets import DATASETS
    from robocle.evaluation.scenarios import SCENARIOS
    from robocle.finders import FINDERS
    from robocle.images.views import VIEWS
    from robocle.poolings import POOLINGS
    from robocle.reports.tables import text_table

    registries: list[Registry[Any]] = [
        BACKBONES, VIEWS, POOLINGS, CLASSIFIERS, FINDERS, DATASETS, SCENARIOS, CORRUPTIONS
    ]  # fmt: skip
    for registry in registries:
        rows = []
        for name in registry.names():
            try:
                rows.append([name, registry.summary(name)])
            except SpecError as error:
                rows.append([name, str(error)])
                continue
            if registry.usage(name) != name:  # it has options
                rows.append(["", registry.usage(name)])
        echo(f"{registry.kind}s")
        echo_lines(text_table(rows, align="ll", indent=2))
