"""Options that several commands share."""

from collections.abc import Callable

import click

from robocle.errors import SpecError
from robocle.recognition import DEFAULT_RATE, rate_named, require_rate

BoxOption = tuple[float, float, float, float] | None
Command = Callable[..., None]


def with_parameters(*parameters: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return what adds several arguments and options to a command, in their order."""

    def decorate(command: Command) -> Command:
        for parameter in reversed(parameters):
            command = parameter(command)
        return command

    return decorate


def _rate(context: click.Context, option: click.Parameter, text: str) -> float:
    try:
        rate = rate_named(text)
        require_rate(rate)
    except (ValueError, SpecError) as error:
        raise click.BadParameter(
            f"{text!r} is not a rate: give 0.001 to 0.5, strict, normal or lenient, or 1 to call "
            "nothing unknown"
        ) from error
    return rate


false_accept_option = click.option(
    "--false-accept", callback=_rate, default=str(DEFAULT_RATE), show_default=True, metavar="RATE",
    help="The fraction of unrelated objects that may be mistaken for a taught one, from 0.001 to "
    "0.5; or strict (0.01), normal (0.05), lenient (0.2). With 1, nothing is called unknown.",
)  # fmt: skip

threads_option = click.option(
    "--threads", type=click.IntRange(1, 256), show_default="one per core",
    help="How many batches of pictures are embedded at the same time.",
)  # fmt: skip

unreadable_option = click.option(
    "--unreadable", type=click.Choice(["refuse", "skip"]), default="refuse", show_default=True,
    help="What to do about pictures that cannot be read. They are listed. With refuse the command "
    "fails, with skip it goes on with the others.",
)  # fmt: skip


poor_option = click.option(
    "--poor", type=click.Choice(["warn", "skip", "refuse", "accept"]), default="warn",
    show_default=True,
    help="What to do about pictures that are dark, blurred, small, or almost the same as one that "
    "was taught. With warn they are listed and taught, with skip they are listed and left out, "
    "with refuse the command fails, with accept nothing is checked.",
)  # fmt: skip


def _box(context: click.Context, option: click.Parameter, text: str | None) -> BoxOption:
    if text is None:
        return None
    try:
        x, y, width, height = (float(number) for number in text.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not X,Y,WIDTH,HEIGHT in pixels") from error
    return x, y, width, height


box_option = click.option(
    "--box", callback=_box, metavar="X,Y,WIDTH,HEIGHT",
    help="Use only this region of each picture, in pixels from its top-left corner.",
)  # fmt: skip
