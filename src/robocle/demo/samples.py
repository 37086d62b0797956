"""A small folder of pictures to try robocle with, copied from the shipped home.

teach/<label>/1.jpg ... 5.jpg     five objects to teach
test/<label>/<condition>.jpg      the same objects in other conditions, and one to leave untaught
"""

import shutil
from pathlib import Path

from robocle.demo.pictures import CONDITIONS, DemoPicture, home_pictures
from robocle.errors import RobocleError

TAUGHT = ("clock", "mug", "remote", "teapot", "teddy")
NOT_TAUGHT = ("chair",)


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
