"""Ctrl-C and SIGTERM: a command ends with one line, and nothing that was acknowledged is lost."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """The command was interrupted by a signal.

    Attributes:
        exit_code: The exit code that shells expect, 130 after Ctrl-C.
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__("interrupted")
        self.exit_code = 128 + number


class StopRequest:
    """The interruption that a command received, if any."""

    def __init__(self) -> None:
        self.received: Interrupted | None = None


@contextmanager
def interruptible() -> Iterator[StopRequest]:
    """Raise Interrupted when Ctrl-C is pressed or SIGTERM is received, until the context ends.

    The request is yielded as well: a library may turn what is raised inside it into another error.
    """
    request = StopRequest()

    def interrupt(number: int, frame: FrameType | None) -> None:
        request.received = Interrupted(number)
        raise request.received

    with _handled(interrupt):
        yield request


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Only note that the command should stop, until the context ends.

    Used while a state is written: the writing ends after the current picture.
    """
    request = StopRequest()

    def note(number: int, frame: FrameType | None) -> None:
        request.received = Interrupted(number)

    with _handled(note):
        yield request


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {}
    with suppress(ValueError):  # only the main thread of a program can do this
        for number in SIGNALS:
            before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
