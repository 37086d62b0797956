"""A learner that was taught pictures, and its state file."""

from pathlib import Path

import pytest

from robocle import Learner
from robocle.backbones import Backbone


@pytest.fixture(scope="session")
def taught(lite0: Backbone, objects: Path) -> Learner:
    """A learner that was taught two pictures of a ball and two of a box; tests do not change it."""
    learner = Learner(lite0, pooling="avg", classifier="slda:scatter=exact,shrinkage=oas")
    for label in ("ball", "box"):
        for number in (0, 1):
            learner.teach(objects / label / f"{number}.jpg", label)
    return learner


@pytest.fixture
def state(taught: Learner, tmp_path: Path) -> Path:
    """Its state file, for this test only."""
    taught.save(tmp_path / "home.robocle")
    return tmp_path / "home.robocle"
