"""The rendered home: `<root>/<condition>/<category>_<NN>/<number>.jpg`, as `robocle sim` writes it.

The clean pictures of each category's first instance are its train split: eight, so that five
orderings draw five different shots; the demo teaches the first five.
"""

from importlib.resources import files
from pathlib import Path

from robocle.evaluation.datasets.tree import (
    instance_of,
    listed,
    numbered,
    require_root,
    require_some,
)
from robocle.types import Example

LAYOUT = "<condition>/<category>_<NN>/<number>.jpg"


class Home:
    """The rendered home: 29 kinds of household things under six conditions; shipped."""

    def examples(self, root: Path | None = None) -> list[Example]:
        """All pictures; without a root, the shipped ones."""
        root = shipped_home() if root is None else require_root(root, LAYOUT)
        found = [
            example
            for condition in listed(root).folders
            for instance in listed(root / condition).folders
            for example in _pictures(root / condition / instance, condition)
        ]
        return require_some(found, root, LAYOUT)


def shipped_home() -> Path:
    """Where the shipped pictures lie."""
    return Path(str(files("robocle") / "demo" / "home"))


def _pictures(folder: Path, condition: str) -> list[Example]:
    category, instance = instance_of(folder)
    found = []
    for _, path in numbered(folder):
        split = "train" if condition == "clean" and instance == 1 else "test"
        found.append(Example(path, category, split, folder.name, condition))
    return found
