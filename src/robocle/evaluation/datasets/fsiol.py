"""F-SIOL-310: `<root>/object_images/<category>/<number>.jpg`.

The data do not say which pictures show the same instance. Numbers 2i and 2i + 1 appear to, so they
are treated as one instance.
"""

from pathlib import Path
from typing import ClassVar

from robocle.errors import DataError
from robocle.evaluation.datasets.tree import label_of, listed, numbered, require_root, require_some
from robocle.spec import Described
from robocle.types import Example

LAYOUT = "object_images/<category>/<number>.jpg"


class Fsiol(Described):
    """F-SIOL-310: about 620 pictures of 310 objects in 22 household categories."""

    default_root: ClassVar[Path | None] = None

    def examples(self, root: Path | None = None) -> list[Example]:
        """Return all pictures in the order of their numbers; each pair is one instance."""
        root = require_root(root, LAYOUT)
        if "object_images" not in listed(root).folders:
            raise DataError(
                f"there is no object_images folder in {root}: the expected layout is {LAYOUT}"
            )
        categories = [
            root / "object_images" / name for name in listed(root / "object_images").folders
        ]
        found = [
            Example(path, label_of(category), instance=f"{category.name}_{number // 2:02d}")
            for category in categories
            for number, path in numbered(category)
        ]
        return require_some(found, root, LAYOUT)
