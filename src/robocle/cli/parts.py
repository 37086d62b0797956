"""The command that lists the parts that specs can name."""

from typing import Any

import click

from robocle.cli.app import main
from robocle.registry import Registry


@main.command()
def parts() -> None:
    """List all parts that specs can name, one line each."""
    from robocle.backbones import BACKBONES
    from robocle.classifiers import CLASSIFIERS
    from robocle.evaluation.corruptions import CORRUPTIONS
    from robocle.evaluation.datasets import DATASETS
    from robocle.evaluation.scenarios import SCENARIOS
    from robocle.images.views import VIEWS
    from robocle.pooling import POOLINGS

    tables: tuple[Registry[Any], ...] = (
        *(BACKBONES, VIEWS, POOLINGS, CLASSIFIERS),
        *(DATASETS, SCENARIOS, CORRUPTIONS),
    )
    for table in tables:
        click.echo(f"{table.kind}s")
        for name in table.names():
            click.echo(f"  {name:<20} {table.summary(name)}")
            if table.usage(name) != name:
                click.echo(f"  {'':<20} {table.usage(name)}")
