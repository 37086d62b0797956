"""Commands that measure backbones and quantise them to int8."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from robocle.cli.app import FolderPath
from robocle.cli.backbones import backbones, keep_world
from robocle.cli.output import echo, echo_json, echo_lines, progress
from robocle.errors import BackboneError

if TYPE_CHECKING:
    from robocle.evaluation.backbones.int8_comparison import Comparison
    from robocle.evaluation.backbones.speed import BackboneSpeed


@backbones.command(short_help="Quantise BACKBONE to int8.")
@click.argument("backbone")
@click.option("--calibrate", type=FolderPath, required=True, metavar="FOLDER",
              help="A folder of pictures like those of your camera. If they are sorted by label, "
              "the int8 twin is also tested on some of them.")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace an existing int8 twin.")
def quantize(backbone: str, calibrate: Path, replace: bool) -> None:
    """Quantise BACKBONE to int8 and compare the result with the original.

    The result is called the int8 twin and is named BACKBONE_int8. It is a separate backbone: a
    state taught with one cannot be used with the other.
    """
    from robocle.backbones import backbone as load
    from robocle.backbones.added import write_added
    from robocle.backbones.adding.int8 import int8_name
    from robocle.evaluation.backbones.int8_twin import int8_twin

    network = load(backbone)
    if not replace:
        _require_new(int8_name(network.name))
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


def _require_new(name: str) -> None:
    from robocle.backbones.added import added_names

    if name in added_names():
        raise BackboneError(
            f"{name} exists already: replace it with --replace (states taught with it can then no "
            "longer be used)"
        )


def _as_text(found: "Comparison", name: str) -> str:
    before, after = found.accuracies.mean(axis=0)
    advice = (
        f"use it with --backbone {name}"
        if found.worth_it
        else f"keep the original (robocle backbones remove {name})"
    )
    return "\n".join(
        [
            f"  speed      {found.speed:.2f}x, one picture at a time on one thread",
            f"  size       {100 * found.size:.0f} % of the original",
            f"  agreement  cosine {found.cosine:.4f} between embeddings, maps differ by "
            f"{100 * found.map_error:.0f} %",
            f"  accuracy   {before:.1f} % before, {after:.1f} % as int8; 5 shots, "
            f"{len(found.accuracies)} orderings,",
            f"             {found.checked_on}",
            f"{_points(found.lost)}, {found.speed:.1f}x as fast: {advice}",
        ]
    )


def _points(lost: float) -> str:
    return f"loses {lost:.1f} points of accuracy" if round(lost, 1) > 0 else "loses no accuracy"


def _speed_tables(found: "list[BackboneSpeed]") -> str:
    """Return two tables: the networks alone, and frames per second by pooling."""
    return "\n".join(
        [
            "milliseconds per batch, by pictures x threads",
            "",
            _times_table(found),
            "",
            "frames per second, from a 640x480 frame to its label, one thread, 20 objects",
            "",
            _rates_table(found),
        ]
    )


def _times_table(found: "list[BackboneSpeed]") -> str:
    from robocle.reports.text_table import text_table

    columns = list(found[0].milliseconds)
    rows = [
        (each.name, f"{each.megabytes:.1f}", *(f"{each.milliseconds[c]:.1f}" for c in columns))
        for each in found
    ]
    return text_table(rows, ["backbone", "MB", *columns])


def _rates_table(found: "list[BackboneSpeed]") -> str:
    from robocle.reports.text_table import text_table

    poolings = list(dict.fromkeys(name for each in found for name in each.frames_per_second))
    rows = [
        (each.name, *(_rate(each.frames_per_second.get(name)) for name in poolings))
        for each in found
    ]
    return text_table(rows, ["backbone", *poolings])


def _rate(frames_per_second: float | None) -> str:
    return "" if frames_per_second is None else f"{frames_per_second:.0f}"
