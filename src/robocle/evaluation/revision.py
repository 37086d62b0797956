"""The revision of robocle's own code, so that cached results of older code are not reused."""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path


@cache
def code_revision(*paths: str) -> str:
    """Return a hash of some of robocle's source files.

    Args:
        paths: Files and folders inside the package, such as "poolings" or "evaluation/run.py". A
            folder stands for all Python files in it.

    Raises:
        FileNotFoundError: A path does not exist. A file that was moved must be listed under its
            new name, because otherwise changes to it would go unnoticed.

    Example:
        >>> code_revision("poolings") == code_revision("classifiers")
        False
    """
    package = Path(str(files("robocle")))
    sources = [source for path in paths for source in _sources(package / path)]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]


def _sources(path: Path) -> list[Path]:
    found = [path] if path.is_file() else sorted(path.rglob("*.py"))
    if not found:
        raise FileNotFoundError(
            f"no Python file at {path}: list the files that affect results under their new names"
        )
    return found
