"""The command `robocle`, and what its subcommands have in common.

A RobocleError is printed to stderr as one line, and the exit code is 1. Any other exception is a
bug and shows its traceback.
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
    """A group of commands that prints a RobocleError as one line and exits with 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except RobocleError as error:
            print_error(error)
            ctx.exit(1)


def print_error(message: object) -> None:
    """Print an error or a warning to stderr as one line, even if it contains newlines."""
    click.echo(f"robocle: {' '.join(str(message).split())}", err=True)


def progress(items: Iterable[Item], title: str, total: int | None = None) -> Iterable[Item]:
    """Return the items; on a terminal, show a progress bar if they take longer than a second."""
    from tqdm import tqdm

    bar: Iterable[Item] = tqdm(
        items, desc=title, total=total, delay=1, disable=not sys.stderr.isatty(), leave=False
    )
    return bar


def picture_files(paths: Iterable[Path]) -> list[Path]:
    """Return the given files and the pictures in the given folders.

    Raises:
        ImageError: A folder contains no picture.
    """
    from robocle.images import pictures_in

    found: list[Path] = []
    for path in paths:
        inside = pictures_in(path) if os.path.isdir(path) else [path]
        if not inside:
            raise ImageError(f"there is no picture in {path} itself: give files or their folder")
        found += inside
    return found


@click.group(cls=RobocleGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="robocle")
@click.option("-v", "--verbose", is_flag=True, help="Print log messages to stderr.")
def main(verbose: bool) -> None:
    """Teach a device new objects from a few pictures each, and recognise them later."""
    if verbose:
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    # Pillow's warnings are not needed: robocle raises an ImageError in these cases.
    warnings.filterwarnings("ignore", module="PIL")
    # File names need not be valid Unicode: stdout escapes such bytes, as stderr already does.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
