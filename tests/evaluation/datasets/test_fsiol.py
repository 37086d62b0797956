"""The layout of F-SIOL-310: pictures in the order of their numbers, two per instance."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from refusal import Refusal
from robocle.errors import DataError
from robocle.evaluation.datasets import dataset
from robocle.evaluation.scenarios import scenario
from robocle.images import to_pixels

pytestmark = pytest.mark.slow

CATEGORIES = [
    "ballpoint", "book", "candy", "cereal", "comb", "fork", "glass", "hairbrush", "hairclip",
    "keyboard", "knife", "lipstick", "lotion", "mouse", "mug", "plate", "shampoo", "soap",
    "spatuala", "spoon", "toothbrush", "toothpaste",
]  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny JPEGs: 28 of each of the 22 categories, 29 of one."""
    root = tmp_path_factory.mktemp("fsiol")
    for place, category in enumerate(CATEGORIES):
        folder = root / "object_images" / category
        folder.mkdir(parents=True)
        picture = Image.new("RGB", (16, 16), (10 * place, 120, 90))
        for number in range(28 + (category == "mug")):
            picture.save(folder / f"{number}.jpg")
    return root


def test_all_categories_are_labels(root: Path) -> None:
    found = dataset("fsiol").examples(root)
    assert sorted({e.label for e in found}) == CATEGORIES
    assert len(found) == 22 * 28 + 1
    assert to_pixels(found[0].path, 32).shape == (32, 32, 3)


def test_two_consecutive_pictures_are_one_instance(root: Path) -> None:
    found = {
        int(e.path.stem): e.instance for e in dataset("fsiol").examples(root) if e.label == "mug"
    }
    for even in range(0, 28, 2):
        assert found[even] == found[even + 1] == f"mug_{even // 2:02d}"
    assert len(set(found.values())) == 15


NUMBERINGS = {
    "from 0": [f"{number}.jpg" for number in range(28)],
    "from 1": [f"{number}.jpg" for number in range(1, 29)],
    "gaps between objects": [f"{3 * i + k}.jpg" for i in range(14) for k in (1, 2)],
    "leading zeros": [f"{number:03d}.jpg" for number in range(1, 29)],
    "some leading zeros": [f"{number:0{1 + number % 3}d}.jpg" for number in range(1, 29)],
}


@pytest.mark.parametrize("names", NUMBERINGS.values(), ids=NUMBERINGS)
@pytest.mark.parametrize("shots", [5, 10])
def test_no_other_picture_of_a_taught_object_is_tested(
    names: list[str], shots: int, plant: Callable[[list[str]], Path]
) -> None:
    root = plant([f"object_images/{category}/{name}" for category in CATEGORIES for name in names])
    objects = {name: place // 2 for place, name in enumerate(names)}
    found = dataset("fsiol").examples(root)
    for seed in range(3):
        stream = scenario(f"class_iid:shots={shots},disjoint=instances").stream(found, seed)
        taught = {(e.label, objects[e.path.name]) for step in stream.steps for e in step}
        tested = {(e.label, objects[e.path.name]) for e in stream.tests["test"]}
        assert len(taught) == 22 * -(-shots // 2)
        assert not taught & tested


@pytest.mark.parametrize("twin", ["01.jpg", "1.png"])
def test_two_pictures_with_one_number_are_rejected(
    twin: str, plant: Callable[[list[str]], Path], refusal: Refusal
) -> None:
    root = plant(["object_images/mug/1.jpg", f"object_images/mug/{twin}"])
    message = refusal(DataError, lambda: dataset("fsiol").examples(root))
    assert "have the same number" in message
    assert str(root / "object_images" / "mug" / twin) in message


@pytest.mark.parametrize("way", ["object_images", ".."])
def test_the_folder_above_or_below_is_rejected(way: str, root: Path, refusal: Refusal) -> None:
    message = refusal(DataError, lambda: dataset("fsiol").examples(root / way))
    assert message.startswith(f"there is no object_images folder in {root / way}")


def test_a_picture_without_a_number_is_rejected(
    plant: Callable[[list[str]], Path], refusal: Refusal
) -> None:
    root = plant(["object_images/mug/0.jpg", "object_images/mug/red.jpg"])
    message = refusal(DataError, lambda: dataset("fsiol").examples(root))
    assert str(root / "object_images" / "mug" / "red.jpg") in message
