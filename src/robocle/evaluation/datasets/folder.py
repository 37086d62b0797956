"""Folders of pictures, in the three layouts that people use.

classes   <root>/<class>/*
domains   <root>/<domain>/<class>/*
split     <root>/{train,test}/<class>/*      other folders beside train and test are ignored
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal, get_args

from robocle.errors import DataError
from robocle.evaluation.datasets import label_of, listed, require_root, require_some
from robocle.spec import Described, require_choice
from robocle.types import Example

Layout = Literal["classes", "domains", "split"]
LAYOUTS: dict[Layout, str] = {
    "classes": "<class>/<picture>",
    "domains": "<domain>/<class>/<picture>",
    "split": "{train,test}/<class>/<picture>",
}
SPLITS = ("test", "train")
ANY_LAYOUT = " or ".join(LAYOUTS.values())


class Folder(Described):
    """Your own pictures: one folder per class, optionally by domain, or by train and test."""

    default_root: ClassVar[Path | None] = None

    def __init__(self, layout: Layout | Literal["auto"] = "auto") -> None:
        """Choose the layout; "auto" detects it."""
        require_choice("layout", layout, ("auto", *get_args(Layout)))
        self.layout = layout

    def examples(self, root: Path | None = None) -> list[Example]:
        """Return all pictures, with their domain or split where the layout has one."""
        expected = ANY_LAYOUT if self.layout == "auto" else LAYOUTS[self.layout]
        root = require_root(root, expected)
        layout = detected(root) if self.layout == "auto" else self.layout
        found = [each for part in _parts(root, layout) for each in _classes(*part)]
        return require_some(found, root, LAYOUTS[layout])


def detected(root: Path) -> Layout:
    """Return the layout of a folder.

    Raises:
        DataError: It has no pictures, or more than one layout is possible.
    """
    shallow, deep = [], []
    for name in listed(root).folders:
        inside = listed(root / name)
        if inside.pictures:
            shallow.append(name)
        if any(listed(root / name / folder).pictures for folder in inside.folders):
            deep.append(name)
    if shallow and deep:
        raise DataError(
            f"cannot detect the layout of {root}: {shallow[0]} holds pictures, {deep[0]} holds "
            "folders of pictures; choose layout=classes, domains or split"
        )
    if shallow:
        return "classes"
    if not deep:
        raise DataError(f"there are no pictures in {root} with the layout {ANY_LAYOUT}")
    missing = [split for split in SPLITS if split not in deep]
    if len(missing) == 1:
        raise DataError(
            f"cannot detect the layout of {root}: it has a folder "
            f"{' '.join(set(SPLITS) - set(missing))} but no folder {missing[0]}; choose "
            "layout=domains if these are domains"
        )
    return "domains" if missing else "split"


def _parts(root: Path, layout: Layout) -> list[tuple[Path, str, str]]:
    """Return the folders of classes, each with its split and its domain."""
    if layout == "classes":
        return [(root, "", "")]
    folders = listed(root).folders
    if layout == "domains":
        return [(root / domain, "", domain) for domain in folders]
    if missing := set(SPLITS) - set(folders):
        raise DataError(
            f"there is no {min(missing)} folder in {root}: the expected layout is "
            f"{LAYOUTS['split']}"
        )
    return [(root / split, split, "") for split in SPLITS]


def _classes(folder: Path, split: str, domain: str) -> Iterator[Example]:
    for name in listed(folder).folders:
        label = label_of(folder / name)
        for picture in listed(folder / name).pictures:
            yield Example(folder / name / picture, label, split, domain=domain)
