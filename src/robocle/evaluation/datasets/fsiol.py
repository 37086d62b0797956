"""F-SIOL-310: `<root>/object_images/<category>/<number>.jpg`.

The data do not say which pictures show the same instance. Consecutive pictures of a category appear
to, so the first and second in the order of their numbers are treated as one instance, the third and
fourth as another, and so on, whatever number is the first.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from robocle.errors import DataError
from robocle.evaluation.datasets import label_of, listed, numbered, require_root, require_some
from robocle.spec import Described
from robocle.types import Example

CATEGORIES = (
    *("ballpoint", "book", "candy", "cereal", "comb", "fork", "glass", "hairbrush", "hairclip"),
    *("keyboard", "knife", "lipstick", "lotion", "mouse", "mug", "plate", "shampoo", "soap"),
    *("spatuala", "spoon", "toothbrush", "toothpaste"),  # as they are spelt in the data
)
LAYOUT = "object_images/<category>/<number>.jpg"


class Fsiol(Described):
    """F-SIOL-310: about 620 pictures of 310 objects in 22 household categories."""

    default_root: ClassVar[Path | None] = None

    def examples(self, root: Path | None = None) -> list[Example]:
        """Return all pictures in the order of their numbers, two per instance."""
        root = require_root(root, LAYOUT)
        if "object_images" not in listed(root).folders:
            raise DataError(
                f"there is no object_images folder in {root}: the expected layout is {LAYOUT}"
            )
        categories = [
            root / "object_images" / name for name in listed(root / "object_images").folders
        ]
        found = [example for category in categories for example in _pairs(category)]
        return require_some(found, root, LAYOUT)

    def missing(self, examples: list[Example]) -> list[str]:
        """Return which categories are missing, or have an odd number of pictures."""
        counts = Counter(example.path.parent.name for example in examples)
        gone = [f"the category {name}" for name in CATEGORIES if name not in counts]
        odd = [name for name, count in counts.items() if count % 2]
        return gone + [f"a picture of {name}: pairs may be wrong" for name in odd]


def _pairs(category: Path) -> Iterator[Example]:
    """Yield the pictures of a category in the order of their numbers, two per instance."""
    pictures = numbered(category)
    for (number, path), (following, other) in pairwise(pictures):
        if number == following:
            raise DataError(
                f"{path} and {other} have the same number, and pictures are paired in the order of "
                "their numbers: remove or rename one"
            )
    for rank, (_, path) in enumerate(pictures):
        yield Example(path, label_of(category), instance=f"{category.name}_{rank // 2:02d}")
