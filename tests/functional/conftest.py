"""Fixtures for tests of the command: a state that was taught, and an empty backbone cache."""

from pathlib import Path

import pytest

from command_line import run
from robocle.backbones.model_folder import CACHE_VARIABLE


@pytest.fixture(scope="session")
def taught(objects: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of an exported state with two pictures of a ball and two of a box."""
    folder = tmp_path_factory.mktemp("taught")
    for label in ("ball", "box"):
        pictures = [objects / label / f"{number}.jpg" for number in (0, 1)]
        assert run("teach", folder / "home.robocle", label, *pictures).exit_code == 0
    assert run("export", folder / "home.robocle", folder / "sent.robocle").exit_code == 0
    return (folder / "sent.robocle").read_bytes()


@pytest.fixture
def state(taught: bytes, tmp_path: Path) -> Path:
    """A state file with two pictures of a ball and two of a box, for this test only."""
    path = tmp_path / "home.robocle"
    path.write_bytes(taught)
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty backbone cache for this test."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"
