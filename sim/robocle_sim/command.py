"""The command `robocle sim`, which the entry point group "robocle.commands" adds to robocle."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, get_args

import click

from robocle.cli.app import FolderPath, plural
from robocle.cli.output import Item, echo, progress
from robocle.errors import LabelError

Layout = Literal["home", "openloris"]


@click.command(short_help="Render pictures of household objects.")
@click.argument("folder", type=FolderPath)
@click.option("--layout", type=click.Choice(get_args(Layout)), default="home", show_default=True,
              help="Pictures, <condition>/<object>/<number>.jpg, or videos as in OpenLORIS, "
              "<split>/<factor>/segment<1..9>/<object>/<frame>.jpg.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True,
              help="Which home to render. The same seed renders the same bytes.")  # fmt: skip
@click.option("--instances", type=click.IntRange(1, 99), default=3, show_default=True,
              help="Number of different objects per category.")  # fmt: skip
@click.option("--frames", type=click.IntRange(2, 999_999),
              help="Frames per video; only with --layout openloris.  [default: 10]")  # fmt: skip
@click.option("--size", type=click.IntRange(64, 2048), default=224, show_default=True,
              help="Width and height in pixels.")  # fmt: skip
@click.option("--category", "categories", multiple=True,
              help="Render only this category (may be repeated).")  # fmt: skip
def sim(folder: Path, layout: Layout, seed: int, instances: int, frames: int | None, size: int,
        categories: tuple[str, ...]) -> None:  # fmt: skip
    """Render a home of household objects into FOLDER."""
    from robocle_sim.home import home_plan, render_home
    from robocle_sim.openloris import FRAMES, openloris_plan, render_openloris

    if frames and layout == "home":
        raise click.UsageError("--frames requires --layout openloris: a home has no videos")
    wanted = _categories(categories)
    if layout == "home":
        plan = [each for each in home_plan(seed, instances) if each.category in wanted]
        count = len(plan)
        render_home(folder, plan, size=size, progress=_rendering)
    else:
        frames = frames or FRAMES
        recordings = [each for each in openloris_plan(seed, instances) if each.category in wanted]
        count = frames * len(recordings)
        render_openloris(folder, recordings, frames, size, progress=_rendering)
    echo(f"rendered {plural(count, 'picture')} into {folder}")


def _categories(names: Sequence[str]) -> set[str]:
    """Return the named categories, or all of them if no names are given."""
    from robocle.spec import suggestion
    from robocle_sim.home import categories

    known = categories()
    for name in names:
        if name not in known:
            raise LabelError(f"unknown category {name!r}: {suggestion(name, known)}", name)
    return set(names or known)


def _rendering(items: Iterable[Item]) -> Iterable[Item]:
    return progress(list(items), "rendering")
