"""What commands print: results on stdout, everything else on stderr.

Names of files, labels and what a state or a model contains may come from elsewhere. Nothing of it
reaches a terminal as a control character: commands print through these functions only.
"""

import sys
from contextlib import nullcontext

import click

from robocle._internal.wording import as_json, printable


def echo(line: str, *, err: bool = False) -> None:
    """Print one line. Tabs between its fields stay; other control characters are escaped."""
    click.echo(printable(line, keep="\t"), err=err)


def echo_lines(text: str) -> None:
    """Print several lines, such as a table, to stdout."""
    click.echo(printable(text, keep="\t\n"))


def echo_json(value: object) -> None:
    """Print a value as one line of JSON."""
    click.echo(as_json(value))


def echo_above_bar(line: str, *, err: bool = True) -> None:
    """Print a line to stderr or stdout; a progress bar that is shown stays below it."""
    if not sys.stderr.isatty():
        echo(line, err=err)
        return
    tqdm = sys.modules.get("tqdm")
    with tqdm.tqdm.external_write_mode(file=sys.stderr) if tqdm else nullcontext():
        clear_line()  # what an activity or an interrupted bar left there
        echo(line, err=err)


def clear_line() -> None:
    """Clear the line of the terminal that the cursor is in."""
    click.echo("\r\x1b[K", nl=False, err=True)
