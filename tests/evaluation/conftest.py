"""A tiny data set of real pictures, and an embedding cache of its own for each test."""

import shutil
from pathlib import Path

import pytest

from robocle.demo import home_pictures
from tiny_bench import Bench

CATEGORIES = ("mug", "clock", "banana")


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """<class>/<number>.jpg: nine pictures of each of three objects."""
    root = tmp_path_factory.mktemp("pictures")
    for category in CATEGORIES:
        (root / category).mkdir()
        shown = [p for p in home_pictures() if p.category == category and p.condition == "clean"]
        for number, picture in enumerate(shown[:9]):
            shutil.copy(picture.path, root / category / f"{number}.jpg")
    return root


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "vectors.sqlite"


@pytest.fixture
def bench(pictures: Path, tmp_path: Path, cache: Path) -> Bench:
    return Bench(pictures, tmp_path / "results.jsonl", cache)
