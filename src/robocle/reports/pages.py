"""Pages: HTML files that stand alone, with their plots and pictures inside."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from robocle.errors import RobocleError


def page(name: str, **values: Any) -> str:
    """The page that the template NAME.html.j2 makes of some values."""
    from jinja2 import Environment

    source = (files("robocle.reports") / f"{name}.html.j2").read_text("utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    html: str = environment.from_string(source).render(**values)
    return html


def write_page(path: Path, html: str) -> None:
    """Write a page to a file."""
    try:
        path.write_text(html, "utf-8")
    except OSError as error:
        raise RobocleError(f"cannot write {path}: {error.strerror}") from error
