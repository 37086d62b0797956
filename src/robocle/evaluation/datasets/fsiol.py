"""F-SIOL-310: `<root>/object_images/<category>/<number>.jpg`.

The data do not say which pictures show the same thing. Numbers 2i and 2i + 1 seem to, so they are
taken for one instance.
"""

from pathlib import Path

from robocle.errors import DataError
from robocle.evaluation.datasets.tree import label_of, listed, numbered, require_root, require_some
from robocle.types import Example

LAYOUT = "object_images/<category>/<number>.jpg"


class Fsiol:
    """F-SIOL-310: some 620 pictures of 310 things in 22 household categories."""

    def examples(self, root: Path | None = None) -> list[Example]:
        """All pictures, in the order of their numbers; instances are pairs of them."""
        root = require_root(root, LAYOUT)
        if "object_images" not in listed(root).folders:
            raise DataError(f"there is no object_images folder in {root}: it should hold {LAYOUT}")
        categories = [
            root / "object_images" / name for name in listed(root / "object_images").folders
        ]
        found = [
            Example(path, label_of(category), instance=f"{category.name}_{number // 2:02d}")
            for category in categories
            for number, path in numbered(category)
        ]
        return require_some(found, root, LAYOUT)
