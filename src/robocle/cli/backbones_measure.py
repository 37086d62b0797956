"""Commands that measure backbones, and that make int8 ones."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from robocle.cli.app import FolderPath, progress
from robocle.cli.backbones import backbones
from robocle.errors import BackboneError

if TYPE_CHECKING:
    from robocle.backbones.export.int8_comparison import Comparison
    from robocle.backbones.export.speed import BackboneSpeed


@backbones.command()
@click.argument("backbone")
@click.option("--calibrate", type=FolderPath, required=True, metavar="FOLDER",
              help="Pictures like those to come; if sorted by label, they test too.")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace an int8 twin that is here already.")
def quantize(backbone: str, calibrate: Path, replace: bool) -> None:
    """Make the int8 twin of BACKBONE, called BACKBONE_int8, and say what it gains and loses.

    It is a backbone of its own: a state taught with one does not load with the other.
    """
    from robocle.backbones import backbone as load
    from robocle.backbones.added import write_added
    from robocle.backbones.export.int8 import int8_name
    from robocle.backbones.export.int8_twin import int8_twin

    network = load(backbone)
    if not replace:
        _require_new(int8_name(network.name))
    made = int8_twin(network, calibrate, progress)
    write_added(made.manifest, made.model)
    name = made.manifest.name
    click.echo(f"added {name}, calibrated on {made.calibrated_on} pictures of {calibrate}")
    click.echo(_as_text(made.comparison, name))


@backbones.command()
@click.argument("names", nargs=-1, metavar="[BACKBONE...]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def bench(names: tuple[str, ...], as_json: bool) -> None:
    """Measure the speed of BACKBONE... (all that are here) on this machine."""
    from robocle.backbones.export.speed import measurable, measured

    found = [measured(name) for name in progress(names or measurable(), "measuring")]
    if as_json:
        for each in found:
            click.echo(json.dumps(vars(each)))
        return
    click.echo(_speed_table(found))


def _require_new(name: str) -> None:
    from robocle.backbones.added import added_names

    if name in added_names():
        raise BackboneError(
            f"{name} is here already: replace it with --replace (states taught with it will not "
            "load any more)"
        )


def _as_text(found: "Comparison", name: str) -> str:
    before, after = found.accuracies.mean(axis=0)
    advice = (
        f"use it with --backbone {name}"
        if found.worth_it
        else f"better keep the original (robocle backbones remove {name})"
    )
    return "\n".join(
        [
            f"  speed      {found.speed:.2f}x, one picture at a time on one thread",
            f"  size       {100 * found.size:.0f} % of the original",
            f"  agreement  cosine {found.cosine:.4f} of the pooled vectors, maps differ by "
            f"{100 * found.map_error:.0f} %",
            f"  accuracy   {before:.1f} % before, {after:.1f} % as int8; 5 shots, "
            f"{len(found.accuracies)} orderings,",
            f"             {found.checked_on}",
            f"{_points(found.lost)}, {found.speed:.1f}x as fast: {advice}",
        ]
    )


def _points(lost: float) -> str:
    return f"loses {lost:.1f} points" if round(lost, 1) > 0 else "loses nothing"


def _speed_table(found: "list[BackboneSpeed]") -> str:
    """Two tables: the networks alone, and frames a second by pooling."""
    width = max(len("backbone"), *(len(each.name) for each in found))
    columns = list(found[0].milliseconds)
    lines = ["milliseconds for pictures x threads", ""]
    lines.append(f"{'backbone':<{width}}{'MB':>8}" + "".join(f"{name:>10}" for name in columns))
    for each in found:
        times = "".join(f"{each.milliseconds[name]:>10.1f}" for name in columns)
        lines.append(f"{each.name:<{width}}{each.megabytes:>8.1f}{times}")
    poolings = list(dict.fromkeys(name for each in found for name in each.frames_a_second))
    cells = [max(7, len(name) + 2) for name in poolings]
    lines += ["", "frames a second, a 640x480 frame to its label, one thread, 20 objects", ""]
    head = "".join(f"{name:>{cell}}" for name, cell in zip(poolings, cells, strict=True))
    lines.append(f"{'backbone':<{width}}{head}")
    for each in found:
        rates = "".join(
            f"{each.frames_a_second[name]:>{cell}.0f}"
            if name in each.frames_a_second
            else " " * cell
            for name, cell in zip(poolings, cells, strict=True)
        )
        lines.append(f"{each.name:<{width}}{rates}")
    return "\n".join(lines)
