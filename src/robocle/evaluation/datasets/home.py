"""The rendered home: `<root>/<condition>/<category>_<NN>/<number>.jpg`, as `robocle sim` writes it.

The clean pictures of each category's first instance are its train split. There are eight, so that
five orderings draw different shots; the demo teaches the first five.
"""

from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from robocle.evaluation.datasets import instance_of, listed, numbered, require_root, require_some
from robocle.spec import Described
from robocle.types import Example

LAYOUT = "<condition>/<category>_<NN>/<number>.jpg"


class Home(Described):
    """The rendered home: 29 categories of household objects in six conditions; shipped."""

    default_root: ClassVar[Path | None] = Path(str(files("robocle") / "demo" / "home"))

    def examples(self, root: Path | None = None) -> list[Example]:
        """Return all pictures; without a root, those that come with robocle."""
        root = require_root(root or self.default_root, LAYOUT)
        found = [
            example
            for condition in listed(root).folders
            for instance in listed(root / condition).folders
            for example in _pictures(root / condition / instance, condition)
        ]
        return require_some(found, root, LAYOUT)


def _pictures(folder: Path, condition: str) -> list[Example]:
    category, instance = instance_of(folder)
    found = []
    for _, path in numbered(folder):
        split = "train" if condition == "clean" and instance == 1 else "test"
        found.append(Example(path, category, split, folder.name, condition))
    return found
