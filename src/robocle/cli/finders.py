"""Commands that list and add finders."""

import sys

import click

from robocle.cli.app import main
from robocle.cli.output import echo


@main.group(invoke_without_command=True, short_help="List or add finders.")
@click.pass_context
def finders(context: click.Context) -> None:
    """List the detectors that were added, or add one: they find boxes for `robocle find`."""
    if context.invoked_subcommand is None:
        from robocle.finders.adding import added_finders

        for name, file in added_finders().items():
            echo(f"torchvision:{name}\t{file}")
        echo("add one: robocle finders add torchvision:ssdlite320_mobilenet_v3_large")
        echo("or use an exported detector, which is not added: onnx:FILE")


@finders.command()
@click.argument("finder")
@click.option("--weights", default="", metavar="FILE|NAME",
              help="A checkpoint file (.pth, .safetensors), or the name of published weights.  "
              "[default: COCO_V1, downloaded]")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace a detector that was added before.")
def add(finder: str, weights: str, replace: bool) -> None:
    """Add FINDER to this machine, such as torchvision:ssdlite320_mobilenet_v3_large.

    The SSD detectors of torchvision can be added. That needs PyTorch, which
    `pip install 'robocle[export]'` installs. Running them does not.
    """
    from robocle.finders.adding import add_finder

    if sys.stderr.isatty():
        echo(f"adding {finder}: this may take a minute or two", err=True)
    file = add_finder(finder, weights, replace)
    echo(f"added {finder}, as {file}")
    echo(f"use it: robocle find STATE PICTURES... --finder {finder}")
