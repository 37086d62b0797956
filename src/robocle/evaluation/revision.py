"""The revision of robocle's own code: a result of changed code is not the result of this code."""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path


@cache
def code_revision(*paths: str) -> str:
    """Return a hash of some of robocle's source files.

    Args:
        paths: Files and folders inside the package, such as "pooling" or "evaluation/run.py". Of a
            folder, all Python files count.

    Raises:
        FileNotFoundError: A path does not exist. A file that was moved must be listed under its
            new name, or its changes would go unnoticed.

    Example:
        >>> code_revision("pooling") == code_revision("classifiers")
        False
    """
    package = Path(str(files("robocle")))
    sources = [source for path in paths for source in _sources(package / path)]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]


def _sources(path: Path) -> list[Path]:
    found = [path] if path.is_file() else sorted(path.rglob("*.py"))
    if not found:
        raise FileNotFoundError(
            f"no Python file at {path}: list the files that decide a result under their new name"
        )
    return found
