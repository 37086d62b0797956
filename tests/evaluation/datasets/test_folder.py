"""Folders of pictures: three layouts, detected or given."""

from collections.abc import Callable
from pathlib import Path

import pytest

from refusal import Refusal
from robocle.errors import DataError, SpecError
from robocle.evaluation.datasets import dataset

Plant = Callable[[list[str]], Path]

CLASSES = ["mug/a.jpg", "mug/b.PNG", "bowl/c.jpeg"]
DOMAINS = ["attic/mug/a.jpg", "attic/bowl/b.jpg", "cellar/mug/a.jpg"]
SPLIT = ["train/mug/a.jpg", "train/bowl/b.jpg", "test/mug/c.jpg", "val/mug/d.jpg", "more/x/e.jpg"]


def listing(root: Path, spec: str = "folder") -> list[tuple[str, str, str, str]]:
    return [
        (e.path.relative_to(root).as_posix(), e.label, e.split, e.domain)
        for e in dataset(spec).examples(root)
    ]


LAYOUTS = {
    "classes": (
        CLASSES,
        [
            ("bowl/c.jpeg", "bowl", "", ""),
            ("mug/a.jpg", "mug", "", ""),
            ("mug/b.PNG", "mug", "", ""),
        ],
    ),
    "domains": (
        DOMAINS,
        [
            ("attic/bowl/b.jpg", "bowl", "", "attic"),
            ("attic/mug/a.jpg", "mug", "", "attic"),
            ("cellar/mug/a.jpg", "mug", "", "cellar"),
        ],
    ),
    "split": (  # other folders are ignored
        SPLIT,
        [
            ("test/mug/c.jpg", "mug", "test", ""),
            ("train/bowl/b.jpg", "bowl", "train", ""),
            ("train/mug/a.jpg", "mug", "train", ""),
        ],
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_detected_or_given(layout: str, plant: Plant) -> None:
    files, expected = LAYOUTS[layout]
    root = plant(files)
    assert listing(root) == listing(root, f"folder:layout={layout}") == expected


def test_classes_called_train_and_test_are_classes(plant: Plant) -> None:
    root = plant(["train/a.jpg", "test/b.jpg", "plane/c.jpg"])
    assert {label for _, label, _, _ in listing(root)} == {"train", "test", "plane"}


def test_a_given_layout_is_not_detected(plant: Plant) -> None:
    assert {domain for *_, domain in listing(plant(SPLIT), "folder:layout=domains")} == {
        "more", "test", "train", "val",
    }  # fmt: skip


def test_empty_class_folders_are_ignored(plant: Plant) -> None:
    assert len(listing(plant([*DOMAINS, "attic/empty/", "empty/"]))) == 3


def test_pictures_at_two_depths_have_no_detectable_layout(plant: Plant, refusal: Refusal) -> None:
    root = plant(["mug/a.jpg", "more/mug/b.jpg"])
    message = refusal(DataError, lambda: dataset("folder").examples(root))
    assert message == (
        f"cannot detect the layout of {root}: mug holds pictures, more holds folders of pictures; "
        "choose layout=classes, domains or split"
    )
    assert len(listing(root, "folder:layout=classes")) == 1


@pytest.mark.parametrize(("kept", "missing"), [("train", "test"), ("test", "train")])
def test_one_half_of_a_split_is_no_detectable_layout(
    kept: str, missing: str, plant: Plant, refusal: Refusal
) -> None:
    root = plant([f"{kept}/mug/a.jpg", "val/mug/b.jpg"])
    message = refusal(DataError, lambda: dataset("folder").examples(root))
    assert f"it has a folder {kept} but no folder {missing}" in message
    message = refusal(DataError, lambda: dataset("folder:layout=split").examples(root))
    assert f"there is no {missing} folder in {root}" in message


@pytest.mark.parametrize("names", [["a.jpg", "b.jpg"], ["x/y/z/a.jpg"], ["mug/readme.txt"]])
def test_pictures_at_another_depth_are_not_found(
    names: list[str], plant: Plant, refusal: Refusal
) -> None:
    root = plant(names)
    message = refusal(DataError, lambda: dataset("folder").examples(root))
    assert message.startswith(
        f"there are no pictures in {root} with the layout <class>/<picture> or "
    )


def test_an_unknown_layout_is_rejected(refusal: Refusal) -> None:
    message = refusal(SpecError, lambda: dataset("folder:layout=flat"))
    assert message == "layout=flat is not known: choose auto or classes or domains or split"
