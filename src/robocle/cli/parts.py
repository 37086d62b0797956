"""The command that lists everything a spec can name."""

from typing import Any

from robocle.cli.app import main
from robocle.cli.output import echo, echo_lines
from robocle.registry import Registry


@main.command(short_help="List everything that a spec can name.")
def parts() -> None:
    """List everything that a spec can name, with its options and their defaults.

    These are the parts of a learner (backbones, views, poolings, classifiers) and the building
    blocks of experiments (data sets, scenarios, corruptions).
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
    from robocle.images.views import VIEWS
    from robocle.poolings import POOLINGS

    return (BACKBONES, VIEWS, POOLINGS, CLASSIFIERS, DATASETS, SCENARIOS, CORRUPTIONS)


def _rows(registry: Registry[Any]) -> list[list[str]]:
    """One row per name, and a second one for its spec if it has options."""
    rows = []
    for name in registry.names():
        rows.append([name, registry.summary(name)])
        if registry.usage(name) != name:
            rows.append(["", registry.usage(name)])
    return rows
