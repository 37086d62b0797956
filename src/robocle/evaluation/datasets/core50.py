"""CORe50: `<root>/s<1..11>/o<1..50>/C_<session>_<object>_<frame>.png`, also below core50_128x128.

Five consecutive objects are of one category. The sessions 3, 7 and 10 are the usual test, all
others are taught. A session is a background, indoors or outdoors, so it is the domain.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal, get_args

from robocle.errors import DataError
from robocle.evaluation.datasets import listed, require_root, require_some
from robocle.spec import Described, require_choice
from robocle.types import Example

LAYOUT = "s<1..11>/o<1..50>/C_<session>_<object>_<frame>.png"
Classes = Literal["objects", "categories"]
CATEGORIES = (
    *("plug_adapter", "mobile_phone", "scissors", "light_bulb", "can"),
    *("glasses", "ball", "marker", "cup", "remote_control"),
)
SESSIONS = tuple(f"s{number}" for number in range(1, 12))
OBJECTS = tuple(f"o{number}" for number in range(1, 51))
TESTED = ("s3", "s7", "s10")
INSIDE = ("core50_128x128", "core50_350x350")
"""What the archives unpack to."""


class Core50(Described):
    """CORe50: videos of 50 objects in 10 categories, in 11 sessions."""

    default_root: ClassVar[Path | None] = None

    def __init__(self, classes: Classes = "objects") -> None:
        """Choose what is a class: each object (50), as usual, or each category (10)."""
        require_choice("classes", classes, get_args(Classes))
        self.classes = classes

    def examples(self, root: Path | None = None) -> list[Example]:
        """Return all frames with their split, object (as instance), session and video."""
        root = require_root(root, LAYOUT)
        root = next((root / name for name in INSIDE if name in listed(root).folders), root)
        found = [
            example
            for session in _known(root, SESSIONS)
            for each in _known(root / session, OBJECTS)
            for example in self._frames(root / session / each)
        ]
        return require_some(sorted(found, key=lambda example: str(example.path)), root, LAYOUT)

    def missing(self, examples: list[Example]) -> list[str]:
        """Return which sessions, and which objects in them, have no frames."""
        videos = {example.video for example in examples}
        sessions = {video.partition("/")[0] for video in videos}
        gone = [session for session in SESSIONS if session not in sessions]
        lost = [
            f"{session}/{each}"
            for session in SESSIONS
            if session in sessions
            for each in OBJECTS
            if f"{session}/{each}" not in videos
        ]
        return [f"session {name}" for name in gone] + [f"object {name}" for name in lost]

    def _frames(self, folder: Path) -> Iterator[Example]:
        session, each = folder.parent.name, folder.name
        place = OBJECTS.index(each)
        category = CATEGORIES[place // 5]
        label = category if self.classes == "categories" else f"{category}_{place % 5 + 1}"
        split = "test" if session in TESTED else "train"
        for name in listed(folder).pictures:
            yield Example(folder / name, label, split, each, session, f"{session}/{each}")


def _known(folder: Path, known: tuple[str, ...]) -> list[str]:
    """Return the subfolders of a folder, which must have one of the known names."""
    found = listed(folder).folders
    for name in found:
        if name not in known:
            raise DataError(
                f"{name!r} in {folder} is not part of CORe50: its folders are {known[0]} to "
                f"{known[-1]}"
            )
    return found
