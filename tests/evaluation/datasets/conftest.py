"""Trees of empty files, which suffice because a listing opens no picture."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

Plant = Callable[[Iterable[str]], Path]


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Return a function that makes files; a name that ends in a slash makes an empty folder."""

    def made(names: Iterable[str]) -> Path:
        for name in names:
            path = tmp_path / name
            folder = path if name.endswith("/") else path.parent
            folder.mkdir(parents=True, exist_ok=True)
            if path is not folder:
                path.touch()
        return tmp_path

    return made
