"""The command that renders the home."""

from collections.abc import Iterable
from pathlib import Path

import click

from robocle.cli.app import FolderPath, Item, main, plural, progress
from robocle.errors import LabelError


@main.command()
@click.argument("folder", type=FolderPath)
@click.option("--layout", type=click.Choice(["home", "openloris"]), default="home",
              show_default=True, help="Pictures, <condition>/<object>/<number>.jpg, or videos, "
              "<split>/<factor>/segment<1..9>/<object>/<frame>.jpg.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True,
              help="Which home: the same seed gives the same bytes.")  # fmt: skip
@click.option("--instances", type=click.IntRange(1, 99), default=3, show_default=True,
              help="How many different things of each category.")  # fmt: skip
@click.option("--frames", type=click.IntRange(2, 999_999),
              help="Of each video; only with --layout openloris.  [default: 10]")  # fmt: skip
@click.option("--size", type=click.IntRange(64, 2048), default=224, show_default=True,
              help="Width and height in pixels.")  # fmt: skip
@click.option("--category", "categories", multiple=True, help="Only this one (may be repeated).")
def sim(folder: Path, layout: str, seed: int, instances: int, frames: int | None, size: int,
        categories: tuple[str, ...]) -> None:  # fmt: skip
    """Render a home of household objects into FOLDER."""
    from robocle import sim as renderer
    from robocle.spec import suggestion

    if frames and layout == "home":
        raise click.UsageError("--frames goes with --layout openloris: a home has no videos")
    known = renderer.categories()
    for name in categories:
        if name not in known:
            raise LabelError(f"no category {name!r} can be rendered: {suggestion(name, known)}")
    wanted = set(categories or known)
    if layout == "home":
        shots = [shot for shot in renderer.home_plan(seed, instances) if shot.category in wanted]
        count = len(shots)
        renderer.render_home(folder, shots, size=size, progress=_rendering)
    else:
        frames = frames or renderer.FRAMES
        plan = renderer.openloris_plan(seed, instances)
        recordings = [recording for recording in plan if recording.category in wanted]
        count = frames * len(recordings)
        renderer.render_openloris(folder, recordings, frames, size, progress=_rendering)
    click.echo(f"rendered {plural(count, 'picture')} into {folder}")


def _rendering(items: Iterable[Item]) -> Iterable[Item]:
    return progress(list(items), "rendering")
