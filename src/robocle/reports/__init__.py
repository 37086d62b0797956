"""Reports: tables and plots of benchmarks, checks, recordings and the demo, and pages of them.

A page is an HTML file that needs no other file, with its plots and pictures inside. Every page
extends templates/base.html.j2, which holds the style.
"""

import os
from pathlib import Path
from typing import Any

import robocle
from robocle._internal.files import is_writable
from robocle.errors import MissingExtraError, RobocleError
from robocle.reports.tables import cell_parts

MARK = "Made by robocle"
MADE = f"{MARK} {robocle.__version__}."
"""The line by which a report is recognised: a newer one may replace it."""


def require_report_extra() -> None:
    """Check that the extra "bench", which benchmarks and plots need, is installed.

    Raises:
        MissingExtraError: One of its libraries is missing; the message says what to install.
    """
    try:
        import joblib  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "bench", f"benchmarks and their reports need {error.name}"
        ) from error


def require_page_path(path: Path) -> None:
    """Check, before any work is done, that a page can be written to a path.

    Raises:
        RobocleError: The name does not end in .html, there is another file, or the folder does not
            exist or cannot be written.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise RobocleError(f"cannot write a page to {path}: give --out a name that ends in .html")
    if not path.absolute().parent.is_dir():
        raise RobocleError(f"cannot write {path}: there is no folder {path.parent}")
    if not (is_writable(path) and os.access(path.absolute().parent, os.W_OK)):
        raise RobocleError(f"cannot write {path}: it or its folder is read-only")
    require_replaceable(path)


def require_replaceable(path: Path) -> None:
    """Check that there is no file at a path, or one that robocle wrote.

    Raises:
        RobocleError: There is another file.
    """
    try:
        content = path.read_bytes() if path.is_file() else b""
    except OSError as error:
        raise RobocleError(f"cannot read {path}: {error.strerror}") from error
    if content and MARK.encode() not in content:
        raise RobocleError(f"{path} exists and was not written by robocle: choose another name")


def render_page(name: str, **values: Any) -> str:
    """Return the page that the template templates/NAME.html.j2 makes of some values."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("robocle.reports"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals |= {"cell_parts": cell_parts, "made": MADE}
    return environment.get_template(f"{name}.html.j2").render(**values)


def write_page(path: Path, html: str) -> None:
    """Write a page to a file, in a folder that is made if it is not there.

    Raises:
        RobocleError: The file cannot be written, or there is one that robocle did not write.
    """
    require_replaceable(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html, "utf-8")
    except OSError as error:
        raise RobocleError(f"cannot write {path}: {error.strerror}") from error
