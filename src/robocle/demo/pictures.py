"""The shipped pictures: `home/<condition>/<category>_<instance>/<number>.jpg`.

They were rendered by `robocle sim` with seed 0. The first five clean pictures of each category's
first instance are for teaching, all others for asking.
"""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

TAUGHT_INSTANCE = "01"
SHOTS = 5
CONDITIONS = ("clean", "illumination", "occlusion", "scale", "clutter", "pose")


@dataclass(frozen=True)
class DemoPicture:
    """A picture of the home, and what is known of it."""

    path: Path
    condition: str
    category: str
    instance: str

    @property
    def is_taught(self) -> bool:
        """Whether this picture is taught rather than asked about."""
        first = self.path.stem.isdecimal() and int(self.path.stem) < SHOTS
        return self.condition == "clean" and self.instance == TAUGHT_INSTANCE and first

    @property
    def is_other_thing(self) -> bool:
        """Whether it shows another thing of the category than the one that is taught."""
        return self.instance != TAUGHT_INSTANCE


def home_pictures() -> list[DemoPicture]:
    """All shipped pictures, in the order of their paths."""
    home = Path(str(files("robocle.demo") / "home"))
    return [_described(path) for path in sorted(home.glob("*/*/*.jpg"))]


def _described(path: Path) -> DemoPicture:
    category, _, instance = path.parent.name.rpartition("_")
    return DemoPicture(path, path.parent.parent.name, category, instance)
