"""A learner that was taught pictures, and its state file."""

from pathlib import Path

import pytest

from robocle import Learner
from robocle.backbones import Backbone


@pytest.fixture(scope="session")
def lessons(objects: Path) -> list[tuple[Path, str]]:
    """Two pictures of a ball and two of a box, with their labels."""
    numbers = (0, 1)
    return [(objects / name / f"{n}.jpg", name) for name in ("ball", "box") for n in numbers]


@pytest.fixture(scope="session")
def taught(lite0: Backbone, lessons: list[tuple[Path, str]]) -> Learner:
    """A learner that was taught the lessons; tests do not change it."""
    learner = Learner(lite0, "avg", "slda:scatter=exact,shrinkage=oas")
    for picture, label in lessons:
        learner.teach(picture, label)
    return learner


@pytest.fixture(scope="session")
def saved(taught: Learner, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of its state file."""
    path = tmp_path_factory.mktemp("saved") / "home.robocle"
    taught.save(path)
    return path.read_bytes()


@pytest.fixture
def state(saved: bytes, tmp_path: Path) -> Path:
    """Its state file, for this test only."""
    path = tmp_path / "home.robocle"
    path.write_bytes(saved)
    return path
