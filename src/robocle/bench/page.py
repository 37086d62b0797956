"""Pages: HTML files that stand alone, with their plots and pictures inside."""

import base64
import io
from importlib.resources import files
from pathlib import Path
from typing import Any

from PIL import Image

from robocle.errors import RobocleError
from robocle.types import Pixels

SHOWN_SIDE = 112


def page(package: str, **values: Any) -> str:
    """The page that a package's report.html.j2 makes of some values."""
    from jinja2 import Environment

    source = (files(package) / "report.html.j2").read_text("utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    html: str = environment.from_string(source).render(**values)
    return html


def write_page(path: Path, html: str) -> None:
    """Write a page to a file."""
    try:
        path.write_text(html, "utf-8")
    except OSError as error:
        raise RobocleError(f"cannot write {path}: {error.strerror}") from error


def jpeg_address(content: bytes) -> str:
    """A JPEG's bytes as an address for a page."""
    return "data:image/jpeg;base64," + base64.b64encode(content).decode()


def thumbnail(pixels: Pixels) -> str:
    """A small copy of a picture, as an address for a page."""
    small = Image.fromarray(pixels).resize((SHOWN_SIDE, SHOWN_SIDE))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=80)
    return jpeg_address(buffer.getvalue())
