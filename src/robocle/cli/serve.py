"""The command that serves the teach page."""

from pathlib import Path
from typing import Any

import click

from robocle.cli.app import StatePath, main
from robocle.cli.options import false_accept_option
from robocle.cli.output import echo
from robocle.errors import MissingExtraError
from robocle.profiles import DEFAULT_PROFILE, PROFILES


@main.command(short_help="Open a page to teach objects with a camera.")
@click.argument("state", type=StatePath, default="home.robocle")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="The address to listen on. With 0.0.0.0, other devices can open the page; they "
              "need the token that is printed.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True,
              help="The port to listen on; 0 for any free one.")  # fmt: skip
@click.option("--https", is_flag=True,
              help="Encrypt, with a certificate made for this machine. Browsers on other devices, "
              "such as phones, use their camera only then.")  # fmt: skip
@click.option("--token", default="", metavar="TEXT", envvar="ROBOCLE_TOKEN", show_envvar=True,
              help="What clients must know.  [default: none on this machine alone, otherwise a "
              "random one]")  # fmt: skip
@click.option("--camera", default="", metavar="N|URL|FILE",
              help="Also offer a camera of this machine or robot: its number, an RTSP or MJPEG "
              "URL, or a video file. Needs robocle[camera].")  # fmt: skip
@click.option("--allow-host", "allowed_hosts", multiple=True, metavar="NAME",
              help="A further name of this server.")  # fmt: skip
@click.option("--proxy", default="", metavar="URL",
              help="The address of the page behind a proxy on this machine, such as nginx, "
              "which says who sends a request.")  # fmt: skip
@click.option("--finder", default="", metavar="SPEC",
              help="What suggests boxes around objects, such as onnx:picodet.onnx.")  # fmt: skip
@click.option("--profile", type=click.Choice(list(PROFILES)), default=DEFAULT_PROFILE,
              show_default=True, help="The parts of a new state: speed or accuracy.")  # fmt: skip
@click.option("--browser/--no-browser", "opens_browser", default=True,
              help="Whether to open the page in a browser.  [default: yes]")  # fmt: skip
@false_accept_option
def serve(state: Path, **settings: Any) -> None:
    """Open a page on which STATE is taught with a camera; it shows live what STATE recognises.

    STATE is created if it does not exist. Everything that is taught is on disk at once. Other
    programs may teach STATE meanwhile, and the page shows it. The page and its HTTP API are for
    this machine alone, unless --host says otherwise.
    """
    try:
        from robocle.web.server import Settings, serve
    except ImportError as error:
        raise MissingExtraError("web", f"the teach page needs {error.name}") from error

    serve(state, Settings(**settings), echo)
