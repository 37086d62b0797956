"""The output of commands: results on stdout; errors, progress and the log on stderr.

Names of files, labels, states and models may come from elsewhere. None of their characters reaches
a terminal as a control character, because commands print through these functions only.
"""

import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

import click

from robocle._internal.wording import as_json, printable

log = logging.getLogger("robocle")

Item = TypeVar("Item")
LINE_SECONDS = 60.0
"""How often a line reports progress where there is no terminal."""


def echo(line: str, *, err: bool = False) -> None:
    """Print one line. Tabs between its fields stay; other control characters are escaped."""
    click.echo(printable(line, keep="\t"), err=err)


def echo_lines(text: str) -> None:
    """Print several lines, such as a table, to stdout."""
    click.echo(printable(text, keep="\t\n"))


def echo_json(value: object) -> None:
    """Print a value as one line of JSON."""
    click.echo(as_json(value))


def box_text(box: Sequence[float]) -> str:
    """Return a box as x,y,width,height in whole pixels."""
    return ",".join(f"{number:.0f}" for number in box)


def echo_above_bar(line: str, *, err: bool = True) -> None:
    """Print a line to stderr or stdout; a progress bar that is shown stays below it."""
    if not sys.stderr.isatty():
        echo(line, err=err)
        return
    tqdm = sys.modules.get("tqdm")
    with tqdm.tqdm.external_write_mode(file=sys.stderr) if tqdm else nullcontext():
        _clear_line()  # what an activity or an interrupted bar left there
        echo(line, err=err)


def _clear_line() -> None:
    """Clear the line of the terminal that the cursor is in."""
    click.echo("\r\x1b[K", nl=False, err=True)


class ProgressLogHandler(logging.Handler):
    """Prints log messages to stderr, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        echo_above_bar(self.format(record))


def progress(items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items; show how many are done, as a bar on a terminal and otherwise as lines.

    A line is printed once per minute, so that a command that takes long is seen to be at work.

    Args:
        items: What is worked on. The consumer does the work.
        title: What is done to the items, such as "embedding".
        total: The number of items, if `items` has no length.
    """
    on_terminal = sys.stderr.isatty()
    start = reported = time.monotonic()
    done = 0
    if total is None and isinstance(items, Sized):
        total = len(items)
    log.info("%s", title if total is None else f"{title}: {total}")
    with _bar(items, title, total) if on_terminal else nullcontext(items) as shown:
        for item in shown:
            yield item
            done += 1
            if not on_terminal and time.monotonic() - reported >= LINE_SECONDS:
                reported = time.monotonic()
                echo(f"{title}: {done}" + ("" if total is None else f" of {total}"), err=True)
    seconds = time.monotonic() - start
    log.info("%s: %d in %.1f s, %.1f ms each", title, done, seconds, 1e3 * seconds / max(done, 1))


def _bar(
    items: Iterable[Item], title: str, total: int | None
) -> AbstractContextManager[Iterable[Item]]:
    from tqdm import tqdm  # takes a while to import, and is needed on a terminal only

    bar: AbstractContextManager[Iterable[Item]] = tqdm(items, title, total, leave=False)
    return bar


@contextmanager
def activity(title: str) -> Iterator[None]:
    """Say what is going on until the context ends, on a terminal and in the log."""
    on_terminal = sys.stderr.isatty()
    start = time.monotonic()
    log.info("%s", title)
    if on_terminal:
        click.echo(f"{title} ...", nl=False, err=True)
    try:
        yield
    finally:
        if on_terminal:
            _clear_line()
    log.info("%s: %.1f s", title, time.monotonic() - start)
