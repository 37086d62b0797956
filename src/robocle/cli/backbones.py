"""Commands that list, add and remove backbones."""

import logging
import sys
from pathlib import Path

import click

from robocle.cli.app import FolderPath, main
from robocle.cli.output import echo, echo_lines, progress

log = logging.getLogger("robocle")


@main.group(invoke_without_command=True, short_help="List, add, remove or measure backbones.")
@click.pass_context
def backbones(context: click.Context) -> None:
    """List backbones, the networks that compute features; add, remove or measure them."""
    if context.invoked_subcommand is None:
        _list()


@backbones.command()
@click.argument("backbone")
@click.option("--weights", default="", metavar="FILE|NAME",
              help="A checkpoint file (.pth, .safetensors), or the name of published weights, such "
              "as IMAGENET1K_V2.  [default: IMAGENET1K_V1, downloaded]")  # fmt: skip
@click.option("--size", default=0, metavar="PIXELS",
              help="The side of the input, a multiple of 32. The default name then ends in it, as "
              "in resnet50_288.  [default: the network's own]")  # fmt: skip
@click.option("--name", default="", help="Add it under this name.")
@click.option("--earlier", default="", metavar="MODULE|none",
              help="The module of a PyTorch network whose output is the earlier map.  [default: "
              "one at a sixteenth of the input's side]")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace an added backbone of the same name.")
@click.option("--no-world", is_flag=True, help="Do not compute its world: see `backbones world`.")
def add(backbone: str, weights: str, size: int, name: str, earlier: str, replace: bool,
        no_world: bool) -> None:  # fmt: skip
    """Add BACKBONE to this machine.

    BACKBONE is a name that `robocle backbones` lists, timm:MODEL for a network of the timm
    collection, or onnx:FILE,... for a network of your own. Adding a network of the first two kinds
    needs PyTorch, which `pip install 'robocle[export]'` installs. Running it does not.
    """
    from robocle.backbones.adding.adding import add_backbone

    if sys.stderr.isatty():
        echo(f"adding {backbone}: this may take a minute or two", err=True)
    log.info("adding %s", backbone)
    added = add_backbone(backbone, weights, name, replace, earlier, size)
    manifest = added.manifest
    if not added.is_new:
        echo(f"{manifest.name} was already added, from {manifest.source}")
        return
    token = " and a class token" if manifest.has_token else ""
    echo(
        f"added {manifest.name}: {manifest.input_size}x{manifest.input_size} pixels to "
        f"{manifest.positions} positions of {manifest.channels} channels{token}, in {added.folder}"
    )
    if manifest.earlier:
        echo(
            f"earlier map: {manifest.earlier_positions} positions of {manifest.earlier_channels} "
            f"channels, {manifest.earlier}"
        )
    if not no_world:
        keep_world(manifest.name)
    echo(f"use it: robocle teach STATE LABEL PICTURES... --backbone {manifest.name}")


@backbones.command()
@click.argument("backbone")
@click.argument("folder", required=False, type=FolderPath)
@click.option("--pooling", default="", metavar="SPEC",
              help="The pooling of your learners.  [default: that of a new state]")  # fmt: skip
def world(backbone: str, folder: Path | None, pooling: str) -> None:
    """Compute the world of BACKBONE, from pictures of anything.

    Learners with this backbone call objects unknown that look no more like what they were taught
    than the pictures in FOLDER do: a few hundred photographs of different objects. Without FOLDER,
    rendered pictures that come with robocle are used. States that exist already use it, too.
    """
    keep_world(backbone, folder, pooling)


def keep_world(backbone: str, folder: Path | None = None, pooling: str = "") -> None:
    """Compute the world of a backbone, keep it for the learners on this machine, and say so."""
    from robocle.backbones import backbone as load
    from robocle.backbones.world import COMMON_VIEWS
    from robocle.evaluation.backbones.world_building import build_world

    network = load(backbone)
    for views in COMMON_VIEWS:
        found = build_world(network, folder, pooling, views, progress)
        found.keep()
    nothing = len(found.pictures) - found.objects
    echo(f"world: {found.source} and {nothing} of nothing")


@backbones.command()
@click.argument("backbone")
def remove(backbone: str) -> None:
    """Remove BACKBONE from this machine.

    States that were taught with it cannot be used until it is added again.
    """
    from robocle.backbones.added import remove_added

    remove_added(backbone)
    echo(f"removed {backbone}")


def _list() -> None:
    from robocle.backbones.listing import listed_backbones
    from robocle.reports.text_table import text_table

    rows: list[tuple[object, ...]] = [
        (
            each.name,
            each.input_size or None,
            each.map,
            each.megabytes or None,
            ", ".join(text for text in (each.state, each.source) if text),
        )
        for each in listed_backbones()
    ]
    rows.append(("timm:MODEL", None, None, None, "any network of timm"))
    rows.append(("onnx:FILE", None, None, None, "your own network"))
    echo_lines(text_table(rows, ["name", "input", "map", "MB", "state"], align="lrlrl"))
    echo_lines("\n+ has a class token as well. Add one with: robocle backbones add NAME")
