"""Recordings of a few objects of the shipped home, and a state that knows most of them."""

from pathlib import Path

import pytest

from home_pictures import home_picture
from robocle.bags.writing import Storage, write_bag
from robocle.types import Example

SHOWN = ("mug", "clock", "umbrella", "mug")
"""What the recording shows: each for eight frames, which is 0.8 seconds."""


def examples() -> list[Example]:
    return [
        Example(home_picture(f"clean/{label}_01/{number}"), label)
        for label in SHOWN
        for number in range(8)
    ]


@pytest.fixture(scope="session", params=["mcap", "sqlite3"])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bag in each format."""
    storage: Storage = request.param
    path = tmp_path_factory.mktemp("bag") / f"home_{storage}"
    assert write_bag(path, examples(), rate=10, storage=storage) == 32
    return path


@pytest.fixture
def state(home_state: bytes, tmp_path: Path) -> Path:
    """A state that knows a mug, a clock and a banana, but no umbrella."""
    path = tmp_path / "home.robocle"
    path.write_bytes(home_state)
    return path
