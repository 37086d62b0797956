"""Progress: a bar on a terminal from the start, and lines in the log with -v.

Both go to stderr, so that stdout has results only.
"""

import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

import click

from robocle.cli.output import clear_line, echo_above_bar

log = logging.getLogger("robocle")

Item = TypeVar("Item")
LINE_SECONDS = 10
"""How often a line reports progress where there is no terminal."""


class ProgressLogHandler(logging.Handler):
    """Prints log messages to stderr, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        echo_above_bar(self.format(record))


def progress(items: Iterable[Item], title: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items; show how many are done on a terminal, and in the log.

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
                log.info("%s: %d%s", title, done, "" if total is None else f" of {total}")
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
            clear_line()
    log.info("%s: %.1f s", title, time.monotonic() - start)
