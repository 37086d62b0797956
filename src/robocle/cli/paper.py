"""The command for the paper's tables and figures, each of which is an experiment."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from robocle.cli.app import main
from robocle.cli.bench import named_roots, run_and_report, run_options
from robocle.cli.output import activity
from robocle.errors import DataError, RobocleError, SpecError

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


@main.command(short_help="Run a table or figure of the paper.")
@click.argument("which", type=click.Choice(list(EXPERIMENTS)))
@click.option("--rendered", is_flag=True,
              help="Run on the rendered pictures that come with robocle instead.")  # fmt: skip
@run_options
def paper(which: str, rendered: bool, **options: Any) -> None:
    """Run a table of the paper (1 to 6), or a figure, beside the paper's numbers.

    figure2 shows the distributions of the moments, figure5 the accuracy after each class. An
    interrupted run continues where it stopped. Without all of the data or backbones, what is there
    is run.
    """
    with activity("starting"):
        from robocle.evaluation.experiment_file import load_experiment

    name = EXPERIMENTS[which]
    experiment = load_experiment(name).only(options["studies"])
    if rendered:
        experiment, name = experiment.changed(**RENDERED), f"{name}-rendered"
        options["data"] = ()
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
        f"{experiment.title!r} can be run on no backbone that is here ({missing}): `robocle "
        f"backbones add {names[-1]}`, or give --backbone efficientnet_lite0"
    )
