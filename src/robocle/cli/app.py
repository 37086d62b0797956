"""The command itself: what every subcommand shares.

A RobocleError is one line on stderr and exit code 1; anything else is a bug and shows its
traceback.
"""

import io
import logging
import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from robocle.errors import ImageError, RobocleError
from robocle.wording import plural as plural

Item = TypeVar("Item")
StatePath = click.Path(dir_okay=False, path_type=Path)
FolderPath = click.Path(file_okay=False, path_type=Path)


class RobocleGroup(click.Group):
    """Commands whose RobocleErrors become one line and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except RobocleError as error:
            complain(error)
            ctx.exit(1)


def complain(about: object) -> None:
    """Print an error or a warning as one line, whatever is in it."""
    click.echo(f"robocle: {' '.join(str(about).split())}", err=True)


def progress(items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
    """The items, with a progress bar if they take longer than a second and someone is watching."""
    from tqdm import tqdm

    watched = sys.stderr.isatty()
    bar: Iterable[Item] = tqdm(
        items, desc=what, total=total, delay=1, disable=not watched, leave=False
    )
    return bar


def picture_files(paths: Iterable[Path]) -> list[Path]:
    """The given files, and the pictures of the given folders."""
    from robocle.images import pictures_in

    found: list[Path] = []
    for path in paths:
        inside = pictures_in(path) if os.path.isdir(path) else [path]
        if not inside:
            raise ImageError(f"there is no picture in {path}")
        found += inside
    return found


@click.group(cls=RobocleGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="robocle")
@click.option("-v", "--verbose", is_flag=True, help="Say what is going on.")
def main(verbose: bool) -> None:
    """Teach a device objects by showing it a few pictures; it recognises them later."""
    if verbose:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    # What Pillow warns of, robocle refuses with a line of its own.
    warnings.filterwarnings("ignore", module="PIL")
    # A file name need not be Unicode: what cannot be printed is escaped, as on stderr.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
