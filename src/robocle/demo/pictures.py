"""The shipped pictures of the home, rendered by `robocle sim` with seed 0.

The first five clean pictures of each category's first instance are for teaching, all others for
asking.
"""

from dataclasses import dataclass
from pathlib import Path

from robocle.evaluation.datasets.home import Home
from robocle.sim.home import TEACH
from robocle.types import Example

CONDITIONS = ("clean", "illumination", "occlusion", "scale", "clutter", "pose")


@dataclass(frozen=True)
class DemoPicture:
    """A picture of the home, and what is known of it."""

    path: Path
    condition: str
    category: str
    instance: str
    is_taught: bool
    """Whether this picture is taught rather than asked about."""

    @property
    def is_other_thing(self) -> bool:
        """Whether it shows another thing of the category than the one that is taught."""
        return self.instance != f"{self.category}_01"


def home_pictures() -> list[DemoPicture]:
    """All shipped pictures, in the order of their paths."""
    return [
        DemoPicture(e.path, e.domain, e.label, e.instance, _is_taught(e)) for e in Home().examples()
    ]


def _is_taught(example: Example) -> bool:
    return example.split == "train" and int(example.path.stem) < TEACH
