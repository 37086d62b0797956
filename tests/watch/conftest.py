"""A state that knows a mug and a clock, and a video that shows one after the other."""

from pathlib import Path

import pytest

from home_pictures import home_picture
from video_sources import write_video


@pytest.fixture
def state(home_state: bytes, tmp_path: Path) -> Path:
    """The state file, for this test only."""
    path = tmp_path / "kitchen.robocle"
    path.write_bytes(home_state)
    return path


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five seconds of a mug, then five of a clock."""
    pictures = [
        home_picture(f"clean/{label}_01/{number}")
        for label in ("mug", "clock")
        for number in (5, 6, 7, 4, 5)
    ]
    path = tmp_path_factory.mktemp("video") / "home.avi"
    return write_video(path, pictures, rate=10, repeat=10)
