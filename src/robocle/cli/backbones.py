"""Commands that list, add, remove, quantise and measure backbones, and list and add finders."""

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robocle.cli.app import FolderPath, main
from robocle.cli.output import echo, echo_json, echo_lines, progress
from robocle.errors import BackboneError

log = logging.getLogger("robocle")

if TYPE_CHECKING:
    from robocle.evaluation.backbones.int8 import Comparison
    from robocle.evaluation.backbones.speed import BackboneSpeed


@main.group(invoke_without_command=True, short_help="List, add, remove or measure backbones.")
@click.pass_context
def backbones(context: click.Context) -> None:
    """List backbones, the networks that compute features; add, remove or measure them."""
    if context.invoked_subcommand is not None:
        return
    from robocle.backbones.listing import listed_backbones
    from robocle.reports.tables import text_table

    rows: list[list[object]] = [
        [
            each.name,
            each.input_size or None,
            each.map,
            each.megabytes or None,
            ", ".join(text for text in (each.state, each.source) if text),
        ]
        for each in listed_backbones()
    ]
    rows.append(["timm:MODEL", None, None, None, "any network of timm"])
    rows.append(["onnx:FILE", None, None, None, "your own network"])
    echo_lines(text_table(rows, ["name", "input", "map", "MB", "state"], align="lrlrl"))
    echo_lines("\n+ has a class token as well. Add one with: robocle backbones add NAME")


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
    from robocle.backbones.adding import add_backbone

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
    """Compute the world of BACKBONE, from pictures of arbitrary objects.

    The world tells learners how familiar arbitrary objects look. An object that looks no more
    familiar is called unknown. FOLDER has a few hundred photographs of different objects. Without
    it, rendered pictures that come with robocle are used. Existing states use the new world.
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


@backbones.command(short_help="Quantise BACKBONE to int8.")
@click.argument("backbone")
@click.option("--calibrate", type=FolderPath, required=True, metavar="FOLDER",
              help="A folder of pictures like those of your camera. If they are sorted by label, "
              "the int8 twin is also tested on some of them.")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace an existing int8 twin.")
def quantise(backbone: str, calibrate: Path, replace: bool) -> None:
    """Quantise BACKBONE to int8 and compare the result with the original.

    The result is called the int8 twin and is named BACKBONE_int8. It is a separate backbone: a
    state taught with one cannot be used with the other.
    """
    from robocle.backbones import backbone as load
    from robocle.backbones.added import added_names, write_added
    from robocle.backbones.adding.int8 import int8_name
    from robocle.evaluation.backbones.int8 import int8_twin

    network = load(backbone)
    if not replace and int8_name(network.name) in added_names():
        raise BackboneError(
            f"{int8_name(network.name)} exists already: replace it with --replace (states taught "
            "with it can then no longer be used)"
        )
    made = int8_twin(network, calibrate, progress)
    write_added(made.manifest, made.model)
    name = made.manifest.name
    echo(f"added {name}, calibrated on {made.calibrated_on} pictures of {calibrate}")
    keep_world(name)
    echo_lines(_as_text(made.comparison, name))


@backbones.command()
@click.argument("names", nargs=-1, metavar="[BACKBONE...]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def bench(names: tuple[str, ...], as_json: bool) -> None:
    """Measure the speed of backbones on this machine.

    Without arguments, all installed backbones are measured.
    """
    from robocle.evaluation.backbones.speed import measurable, measure_speed

    found = [measure_speed(name) for name in progress(names or measurable(), "measuring")]
    if as_json:
        for each in found:
            echo_json(vars(each))
        return
    echo_lines(_speed_tables(found))


def _as_text(found: "Comparison", name: str) -> str:
    before, after = found.accuracies.mean(axis=0)
    orderings, maps = len(found.accuracies), 100 * found.map_error
    lost = f"{found.lost:.1f} points of" if round(found.lost, 1) > 0 else "no"
    advice = (
        f"use it with --backbone {name}"
        if found.worth_it
        else f"keep the original (robocle backbones remove {name})"
    )
    return f"""\
  speed      {found.speed:.2f}x, one picture at a time on one thread
  size       {100 * found.size:.0f} % of the original
  agreement  cosine {found.cosine:.4f} between embeddings, maps differ by {maps:.0f} %
  accuracy   {before:.1f} % before, {after:.1f} % as int8; 5 shots, {orderings} orderings,
             {found.checked_on}
loses {lost} accuracy, {found.speed:.1f}x as fast: {advice}"""


def _speed_tables(found: "list[BackboneSpeed]") -> str:
    """Return two tables: the networks alone, and frames per second by pooling."""
    from robocle.reports.tables import text_table

    batches = list(found[0].milliseconds)
    poolings = list(dict.fromkeys(name for each in found for name in each.frames_per_second))
    times = [
        [each.name, f"{each.megabytes:.1f}", *(f"{each.milliseconds[c]:.1f}" for c in batches)]
        for each in found
    ]
    rates = [
        [each.name, *(_rate(each.frames_per_second.get(name)) for name in poolings)]
        for each in found
    ]
    return f"""\
milliseconds per batch, by pictures x threads

{text_table(times, ["backbone", "MB", *batches])}

frames per second, from a 640x480 frame to its label, one thread, 20 objects

{text_table(rates, ["backbone", *poolings])}"""


def _rate(frames_per_second: float | None) -> str:
    return "" if frames_per_second is None else f"{frames_per_second:.0f}"


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


@finders.command("add")
@click.argument("finder")
@click.option("--weights", default="", metavar="FILE|NAME",
              help="A checkpoint file (.pth, .safetensors), or the name of published weights.  "
              "[default: COCO_V1, downloaded]")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace a detector that was added before.")
def add_finder(finder: str, weights: str, replace: bool) -> None:
    """Add FINDER to this machine.

    FINDER is an SSD detector of torchvision, such as torchvision:ssdlite320_mobilenet_v3_large.
    Adding it needs PyTorch, which `pip install 'robocle[export]'` installs. Running it does not.
    """
    from robocle.finders import adding

    if sys.stderr.isatty():
        echo(f"adding {finder}: this may take a minute or two", err=True)
    file = adding.add_finder(finder, weights, replace)
    echo(f"added {finder}, as {file}")
    echo(f"use it: robocle find STATE PICTURES... --finder {finder}")
