"""The command `robocle`, and the common parts of its subcommands.

A RobocleError is printed to stderr as one line, and the exit code is 1. So are Ctrl-C and SIGTERM,
with the exit codes 130 and 143, and nothing that was acknowledged is lost. Any other exception is a
bug and shows its traceback.
"""

import io
import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

import click

from robocle._internal.wording import plural as plural
from robocle._internal.wording import printable
from robocle.cli.output import ProgressLogHandler, echo_above_bar
from robocle.errors import RobocleError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints


class NonemptyPath(click.Path):
    """The path of a file or folder. An empty text would stand for the folder one is in."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if not os.fspath(value):
            self.fail("the path is empty", param, ctx)
        if not self.dir_okay and os.path.isdir(value):
            example = ", such as home.robocle" if param and param.name == "state" else ""
            self.fail(f"{os.fspath(value)} is a folder: give a file{example}", param, ctx)
        return super().convert(value, param, ctx)


StatePath = NonemptyPath(dir_okay=False)
FolderPath = NonemptyPath(file_okay=False)
PicturePath = NonemptyPath()


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


VERBOSE = ("-v", "--verbose")


class RobocleGroup(click.Group):
    """The commands. Ends with one line if a command fails or is interrupted.

    Other packages add commands with the entry point group "robocle.commands".
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*super().list_commands(ctx), *_added_commands().names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command of robocle, or else one that another package adds."""
        if found := super().get_command(ctx, cmd_name):
            return found
        if cmd_name in (added := _added_commands()).names:
            return _loaded(added[cmd_name])
        if cmd_name == "sim":
            raise RobocleError(
                "the renderer is not installed: it is part of the repository of robocle, where "
                "`pip install ./sim` installs it"
            )
        return None

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Parse the arguments."""
        with _printable_usage_errors():
            return super().make_context(*arguments, **options)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; -v may also follow the command, as users expect it to."""
        end = args.index("--") if "--" in args else len(args)
        flags = [each for each in args[:end] if each in VERBOSE]
        others = [each for each in args[:end] if each not in VERBOSE]
        return super().parse_args(ctx, [*flags, *others, *args[end:]])

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with interruptible() as request, _printable_usage_errors():
            try:
                return super().invoke(ctx)
            except (RobocleError, KeyboardInterrupt) as error:
                print_error(str(error) or "interrupted")
            except Exception:
                if request.received is None:
                    raise
                print_error(request.received)
        ctx.exit(request.received.exit_code if request.received else 1)


def _loaded(point: "EntryPoint") -> click.Command:
    """Return a command of another package, or one that says why it cannot be used."""
    try:
        return cast(click.Command, point.load())
    except (ImportError, AttributeError) as error:
        message = f"{point.name} cannot be imported from {point.value} ({error}): reinstall it"

        @click.command(point.name, short_help="Cannot be used: reinstall its package.")
        def broken() -> None:
            raise RobocleError(message)

        return broken


def _added_commands() -> "EntryPoints":
    from importlib.metadata import entry_points  # here, because it is slow to import

    return entry_points(group="robocle.commands")


@contextmanager
def _printable_usage_errors() -> Iterator[None]:
    """Escape what click repeats of the arguments; it prints its errors itself."""
    try:
        yield
    except click.ClickException as error:
        # Since click 8.2, a group without a command raises its help as an error.
        if not isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
            vars(error)["message"] = printable(error.message)
        raise


def print_error(message: object) -> None:
    """Print an error or a warning to stderr as one line, even if it contains newlines."""
    echo_above_bar(f"robocle: {' '.join(str(message).split())}")


@click.group(cls=RobocleGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="robocle")
@click.option(*VERBOSE, is_flag=True, help="Print what is going on to stderr.")
def main(verbose: bool) -> None:
    """Teach a device new objects from a few pictures each, and recognise them later."""
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, handlers=[ProgressLogHandler()], format="%(message)s")
    # Pillow's warnings are not needed: robocle raises an ImageError in these cases.
    warnings.filterwarnings("ignore", module="PIL")
    # File names need not be valid Unicode: stdout escapes such bytes, as stderr already does.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
