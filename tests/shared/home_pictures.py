"""Pictures of the shipped home."""

from pathlib import Path

from robocle import Learner
from robocle.backbones import Backbone

HOME = Path(__file__).parents[2] / "src/robocle/demo/home"


def home_picture(name: str) -> Path:
    """Return a shipped picture, such as "clean/mug_01/0"."""
    return HOME / f"{name}.jpg"


def taught_home(backbone: Backbone) -> Learner:
    """Return a learner that was taught four pictures each of a mug, a clock and a banana."""
    learner = Learner(backbone)
    for label in ("mug", "clock", "banana"):
        for number in range(4):
            learner.teach(home_picture(f"clean/{label}_01/{number}"), label, poor="accept")
    return learner
