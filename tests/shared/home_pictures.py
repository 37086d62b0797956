"""Pictures of the shipped home."""

from pathlib import Path

HOME = Path(__file__).parents[2] / "src/robocle/demo/home"


def home_picture(name: str) -> Path:
    """Return a shipped picture, such as "clean/mug_01/0"."""
    return HOME / f"{name}.jpg"
