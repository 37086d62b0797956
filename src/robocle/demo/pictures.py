"""The shipped pictures of the home, rendered by `robocle sim` with seed 0.

The first five clean pictures of each category's first instance are taught; all others are test
pictures.
"""

from dataclasses import dataclass
from pathlib import Path

from robocle.evaluation.datasets.home import Home
from robocle.types import Example

SHOTS = 5
"""Pictures to teach per category."""
CONDITIONS = {
    "clean": "Soft light and the usual viewpoint. The only condition that is taught.",
    "illumination": "The light is dim, coloured, or comes from one side.",
    "occlusion": "The object is partly hidden.",
    "scale": "The object is far away.",
    "clutter": "There are other objects around it.",
    "pose": "The object is lying or tilted, or seen from above or behind.",
}
"""The condition that is taught, then all others, each with what it is."""


@dataclass(frozen=True)
class DemoPicture:
    """A picture of the home and the facts about it."""

    path: Path
    condition: str
    category: str
    instance: str
    is_taught: bool
    """Whether this picture is taught; if not, it is a test picture."""

    @property
    def is_other_instance(self) -> bool:
        """Whether it shows another instance of the category than the taught one."""
        return self.instance != f"{self.category}_01"


def home_pictures() -> list[DemoPicture]:
    """Return all shipped pictures, in the order of their paths.

    Example:
        >>> pictures = home_pictures()
        >>> len(pictures), sum(picture.is_taught for picture in pictures)
        (1218, 145)
    """
    return [
        DemoPicture(e.path, e.domain, e.label, e.instance, _is_taught(e)) for e in Home().examples()
    ]


def _is_taught(example: Example) -> bool:
    return example.split == "train" and int(example.path.stem) < SHOTS
