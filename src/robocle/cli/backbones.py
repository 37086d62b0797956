"""Commands that list, add and remove backbones."""

import sys

import click

from robocle.cli.app import main


@main.group(invoke_without_command=True)
@click.pass_context
def backbones(context: click.Context) -> None:
    """List the networks that can look at pictures; add or remove some."""
    if context.invoked_subcommand is None:
        _list()


@backbones.command()
@click.argument("backbone")
@click.option("--weights", default="", metavar="FILE|NAME",
              help="A checkpoint file (.pth, .safetensors), or the name of published weights, as "
              "IMAGENET1K_V2.  [default: IMAGENET1K_V1, downloaded]")  # fmt: skip
@click.option("--name", default="", help="Call it this.")
@click.option("--replace", is_flag=True, help="Replace what has this name.")
def add(backbone: str, weights: str, name: str, replace: bool) -> None:
    """Put BACKBONE on this machine, once and for all.

    From then on it runs without PyTorch. BACKBONE is a name that `robocle backbones` lists,
    timm:MODEL for any network of the timm collection, or onnx:FILE,... for one of your own. The
    first two need PyTorch this one time:

        pip install 'robocle[export]'
    """
    from robocle.backbones.export.adding import add_backbone

    if sys.stderr.isatty():
        click.echo(f"adding {backbone}: this may take a minute or two", err=True)
    added = add_backbone(backbone, weights, name, replace)
    manifest = added.manifest
    if not added.is_new:
        click.echo(f"{manifest.name} is here already, from {manifest.source}")
        return
    token = " and a class token" if manifest.has_token else ""
    click.echo(
        f"added {manifest.name}: {manifest.input_size}x{manifest.input_size} pixels to "
        f"{manifest.positions} positions of {manifest.channels} channels{token}, in {added.folder}"
    )
    click.echo(f"use it: robocle teach STATE LABEL IMAGES... --backbone {manifest.name}")


@backbones.command()
@click.argument("backbone")
def remove(backbone: str) -> None:
    """Delete BACKBONE from this machine.

    States that were taught with it cannot be used until it is added again.
    """
    from robocle.backbones.added import remove_added

    remove_added(backbone)
    click.echo(f"removed {backbone}")


def _list() -> None:
    from robocle.backbones.listing import listed_backbones

    click.echo(f"{'name':<20} {'input':>5}  {'map':<12} {'MB':>5}  state")
    for each in listed_backbones():
        size = each.input_size or ""
        state = ", ".join(text for text in (each.state, each.source) if text)
        click.echo(f"{each.name:<20} {size:>5}  {each.map:<12} {each.megabytes or '':>5}  {state}")
    click.echo(f"{'timm:MODEL':<47}  any network of timm")
    click.echo(f"{'onnx:FILE':<47}  your own: see docs/backbones.md")
    click.echo("\n+ has a class token too. Add one with: robocle backbones add NAME")
