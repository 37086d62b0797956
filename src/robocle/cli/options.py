"""Options that several commands share."""

import click

from robocle.recognition.levels import DEFAULT_UNKNOWN, LARGEST_UNKNOWN

BoxOption = tuple[float, float, float, float] | None

unknown_option = click.option(
    "--unknown", type=click.FloatRange(0, LARGEST_UNKNOWN), default=DEFAULT_UNKNOWN,
    show_default=True, help="The fraction of taught objects, seen again as they were taught, that "
    "may be called unknown. Of unrelated objects, at most about 5 % are taken for taught ones. "
    "With 0, nothing is called unknown.",
)  # fmt: skip

threads_option = click.option(
    "--threads", type=click.IntRange(1, 256), show_default="one per core",
    help="How many batches of pictures are embedded at the same time.",
)  # fmt: skip

unreadable_option = click.option(
    "--unreadable", type=click.Choice(["refuse", "skip"]), default="refuse", show_default=True,
    help="What to do if pictures cannot be read. All of them are listed in any case. With refuse "
    "the command fails, with skip it goes on with the others.",
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
