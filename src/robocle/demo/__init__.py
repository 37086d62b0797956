"""The shipped pictures of the home, rendered by `robocle sim` with seed 0.

The first five clean pictures of each category's first instance are taught; all others are test
pictures. A few of them can be copied to a folder, to try robocle with:

    teach/<label>/1.jpg ... 5.jpg    five objects to teach
    test/<label>/<condition>.jpg     the same objects in other conditions, and one to leave untaught
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from robocle.errors import RobocleError
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
TAUGHT = ("clock", "mug", "remote", "teapot", "teddy")
NOT_TAUGHT = ("chair",)


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


def write_samples(folder: Path) -> int:
    """Copy the pictures into a new folder.

    Args:
        folder: The folder to make.

    Returns:
        The number of pictures.

    Raises:
        RobocleError: The folder exists already, or cannot be written.
    """
    samples = _samples()
    try:
        folder.mkdir(parents=True)
        for name, picture in samples.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture.path, folder / name)
    except FileExistsError as error:
        raise RobocleError(f"{folder} exists: give a folder that does not exist yet") from error
    except OSError as error:
        raise RobocleError(f"cannot write {folder}: {error.strerror}") from error
    return len(samples)


def _samples() -> dict[str, DemoPicture]:
    """Return the shipped pictures by their names in the folder."""
    samples: dict[str, DemoPicture] = {}
    others = list(CONDITIONS)[1:]
    for picture in home_pictures():
        if picture.is_other_instance or picture.category not in (*TAUGHT, *NOT_TAUGHT):
            continue
        if picture.is_taught and picture.category in TAUGHT:
            samples[f"teach/{picture.category}/{int(picture.path.stem) + 1}.jpg"] = picture
        elif picture.condition in others:
            samples.setdefault(f"test/{picture.category}/{picture.condition}.jpg", picture)
    return samples
