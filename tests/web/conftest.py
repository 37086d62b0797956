"""A server in this process, and pictures for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from robocle.backbones import Backbone
from video_sources import home_picture
from web_client import Api, PictureOf, served


@pytest.fixture(scope="session")
def picture_of() -> PictureOf:
    """A function that returns the bytes of a shipped picture."""

    def picture(label: str = "mug", number: int = 0) -> bytes:
        return home_picture(f"clean/{label}_01/{number}").read_bytes()

    return picture


@pytest.fixture
def api(tmp_path: Path, lite0: Backbone) -> Iterator[Api]:
    """A server with an empty state."""
    with served(tmp_path / "home.robocle", lite0) as api:
        yield api


@pytest.fixture(scope="module")
def taught(
    tmp_path_factory: pytest.TempPathFactory, lite0: Backbone, picture_of: PictureOf
) -> Iterator[Api]:
    """A server that was taught three objects; tests must not change it."""
    with served(tmp_path_factory.mktemp("taught") / "home.robocle", lite0) as api:
        for label in ("mug", "clock", "teapot"):
            for number in range(3):
                assert api.teach(label, picture_of(label, number)).status == 200
        yield api


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, lite0: Backbone) -> Iterator[Api]:
    """A server with an empty state; tests must not change it."""
    with served(tmp_path_factory.mktemp("empty") / "home.robocle", lite0) as api:
        yield api
