"""Folders of pictures, in the three ways people keep them.

classes   <root>/<class>/*
domains   <root>/<domain>/<class>/*
split     <root>/{train,test}/<class>/*      other folders beside train and test are left out
"""

from collections.abc import Iterator
from pathlib import Path

from robocle.errors import DataError
from robocle.evaluation.datasets.tree import label_of, listed, require_root, require_some
from robocle.spec import require_choice
from robocle.types import Example

LAYOUTS = {
    "classes": "<class>/<picture>",
    "domains": "<domain>/<class>/<picture>",
    "split": "{train,test}/<class>/<picture>",
}
SPLITS = ("test", "train")
ANY_LAYOUT = " or ".join(LAYOUTS.values())


class Folder:
    """Your own pictures: a folder a class, maybe by domain, or by train and test."""

    def __init__(self, layout: str = "auto") -> None:
        require_choice("layout", layout, ("auto", *LAYOUTS))
        self.layout = layout

    def examples(self, root: Path | None = None) -> list[Example]:
        """All pictures; of domain and split, what the layout says."""
        root = require_root(root, LAYOUTS.get(self.layout, ANY_LAYOUT))
        layout = detected(root) if self.layout == "auto" else self.layout
        if layout == "classes":
            found = list(_classes(root))
        elif layout == "domains":
            found = [
                example
                for domain in listed(root).folders
                for example in _classes(root / domain, domain=domain)
            ]
        else:
            found = _split(root)
        return require_some(found, root, LAYOUTS[layout])


def detected(root: Path) -> str:
    """The layout of a tree, as far as it can be told."""
    shallow, deep = [], []
    for name in listed(root).folders:
        inside = listed(root / name)
        if inside.pictures:
            shallow.append(name)
        if any(listed(root / name / folder).pictures for folder in inside.folders):
            deep.append(name)
    if shallow and deep:
        raise DataError(
            f"cannot tell how {root} is laid out: {shallow[0]} holds pictures itself, {deep[0]} "
            "in folders; say layout=classes, domains or split"
        )
    if shallow:
        return "classes"
    if not deep:
        raise DataError(f"there are no pictures in {root} laid out as {ANY_LAYOUT}")
    missing = [split for split in SPLITS if split not in deep]
    if len(missing) == 1:
        raise DataError(
            f"cannot tell how {root} is laid out: it has no {missing[0]} beside its "
            f"{' '.join(set(SPLITS) - set(missing))}; say layout=domains if these are domains"
        )
    return "domains" if missing else "split"


def _split(root: Path) -> list[Example]:
    missing = set(SPLITS) - set(listed(root).folders)
    if missing:
        raise DataError(
            f"there is no {min(missing)} folder in {root}: it should hold {LAYOUTS['split']}"
        )
    return [example for split in SPLITS for example in _classes(root / split, split=split)]


def _classes(folder: Path, split: str = "", domain: str = "") -> Iterator[Example]:
    for name in listed(folder).folders:
        label = label_of(folder / name)
        for picture in listed(folder / name).pictures:
            yield Example(folder / name / picture, label, split, domain=domain)
