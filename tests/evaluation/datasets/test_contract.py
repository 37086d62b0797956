"""The rules that every data set of the table keeps."""

from collections.abc import Callable
from pathlib import Path

import pytest

from refusal import Refusal
from robocle.contract import DATASET_CHECKS
from robocle.errors import DataError
from robocle.evaluation.datasets import DATASETS, dataset, listed

NAMES = DATASETS.names()

TREES = {
    "openloris": ["train/pixel/segment4/mug_01/1.jpg", "test/pixel/segment4/mug_01/2.jpg"],
    "fsiol": ["object_images/mug/0.jpg", "object_images/mug/1.jpg"],
    "core50": ["s1/o1/C_01_01_000.png", "s3/o1/C_03_01_000.png"],
    "folder": ["mug/0.jpg", "mug/1.jpg"],
    "home": ["clean/mug_01/0.jpg", "pose/mug_01/0.jpg"],
}


@pytest.mark.parametrize("check", DATASET_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_every_data_set_keeps_the_contract(
    name: str, check: Callable[[str, Path], None], plant: Callable[[list[str]], Path]
) -> None:
    check(name, plant(TREES[name]))


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_root_is_rejected(name: str, tmp_path: Path, refusal: Refusal) -> None:
    message = refusal(DataError, lambda: dataset(name).examples(tmp_path / "nowhere"))
    assert str(tmp_path / "nowhere") in message
    assert "<" in message, "the message shows the layout that was looked for"


@pytest.mark.parametrize("name", sorted({*NAMES} - {"home"}))  # which robocle has
def test_without_a_root_the_error_says_what_to_give(name: str, refusal: Refusal) -> None:
    assert refusal(DataError, dataset(name).examples).startswith("give the folder of the data set")


@pytest.mark.parametrize("name", NAMES)
def test_a_tree_without_pictures_is_rejected(
    name: str, plant: Callable[[list[str]], Path], refusal: Refusal
) -> None:
    root = plant([str(Path(path).parent) + "/" for path in TREES[name]])
    message = refusal(DataError, lambda: dataset(name).examples(root))
    assert "no pictures" in message
    assert str(root) in message


@pytest.mark.parametrize("odd", ["tea\ncup_01", "mug\udcff_01"], ids=["two lines", "no text"])
@pytest.mark.parametrize("name", NAMES)
def test_a_folder_that_cannot_be_a_label_is_rejected(
    name: str, odd: str, plant: Callable[[list[str]], Path], refusal: Refusal
) -> None:
    root = plant(TREES[name])
    folder = (root / TREES[name][0]).parent
    folder.rename(folder.with_name(odd))
    message = refusal(DataError, lambda: dataset(name).examples(root))
    message.encode()
    assert "is no label" in message or name == "core50"  # which names its labels itself


def test_a_folder_that_cannot_be_read_is_rejected(tmp_path: Path, refusal: Refusal) -> None:
    message = refusal(DataError, lambda: listed(tmp_path / "gone"))
    assert message == f"cannot list {tmp_path / 'gone'}: No such file or directory"
