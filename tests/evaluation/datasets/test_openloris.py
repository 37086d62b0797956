"""The layout of OpenLORIS-Object: what it says about a frame, and the errors of other layouts."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from refusal import Refusal
from robocle.errors import DataError
from robocle.evaluation.datasets import dataset
from robocle.evaluation.datasets.openloris import level_of

Plant = Callable[[list[str]], Path]

SMALL = [
    f"{split}/{factor}/segment{segment}/{instance}/{number:06d}.jpg"
    for split, numbers in (("train", (0, 1, 2)), ("test", (3,)), ("validation", (4,)))
    for factor in ("clutter", "illumination", "occlusion", "pixel")
    for segment in range(1, 10)
    for instance in ("paper_cutter_01", "u_disk_02")
    for number in numbers
]


def test_every_frame_has_its_split_factor_instance_and_video(plant: Plant) -> None:
    root = plant(SMALL)
    found = dataset("openloris").examples(root)
    assert [example.path.relative_to(root).as_posix() for example in found] == sorted(SMALL)
    assert Counter(e.split for e in found) == {"train": 216, "test": 72, "validation": 72}
    assert Counter(e.domain for e in found) == dict.fromkeys(
        ("clutter", "illumination", "occlusion", "pixel"), 90
    )
    frame = next(e for e in found if e.path.as_posix().endswith(SMALL[0]))
    assert (frame.label, frame.instance) == ("paper_cutter", "paper_cutter_01")
    assert (frame.domain, frame.video) == ("clutter", "clutter/segment1/paper_cutter_01")


def test_the_label_is_everything_before_the_last_underscore(plant: Plant) -> None:
    labels = {e.label for e in dataset("openloris").examples(plant(SMALL))}
    assert labels == {"paper_cutter", "u_disk"}


def test_three_segments_are_one_level(plant: Plant) -> None:
    levels = {
        e.video.split("/")[1]: level_of(e) for e in dataset("openloris").examples(plant(SMALL))
    }
    assert levels == {f"segment{n}": (n - 1) // 3 + 1 for n in range(1, 10)}


def test_empty_instance_folders_are_skipped(plant: Plant) -> None:
    gone = "train/pixel/segment3/u_disk_02/"
    root = plant([name for name in SMALL if not name.startswith(gone)] + [gone])
    found = dataset("openloris").examples(root)
    assert len(found) == len(SMALL) - 3
    videos = {e.video for e in found if e.split == "train"}
    assert "pixel/segment3/u_disk_02" not in videos
    assert len(videos) == 71


def test_a_copy_without_validation_and_with_few_segments_can_be_read(plant: Plant) -> None:
    kept = [name for name in SMALL if "segment5" in name and not name.startswith("val")]
    assert len(dataset("openloris").examples(plant(kept))) == len(kept)


def test_other_folders_beside_the_splits_are_ignored(plant: Plant) -> None:
    root = plant([*SMALL, "rgbd/clutter/segment1/mug_01/0.jpg"])
    assert len(dataset("openloris").examples(root)) == len(SMALL)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda name: name.replace("test/", "tests/"), "there is no test folder in"),
        (lambda name: "data/" + name, "there is no train folder in"),
        (lambda name: name.replace("pixel", "scale"), "clutter to pixel"),
        (lambda name: name.replace("segment9", "segment10"), "segment1 to segment9"),
        (lambda name: name.replace("segment2", "Segment2"), "segment1 to segment9"),
        (lambda name: name.replace("u_disk_02", "disk"), "<category>_<number>"),
        (lambda name: name.replace("u_disk_02", "u_disk"), "<category>_<number>"),
        (lambda name: name.replace("u_disk_02", "_02"), "<category>_<number>"),
    ],
)
def test_another_layout_is_rejected(
    change: Callable[[str], str], words: str, plant: Plant, refusal: Refusal
) -> None:
    root = plant([change(name) for name in SMALL])
    message = refusal(DataError, lambda: dataset("openloris").examples(root))
    assert words in message
    assert str(root) in message
