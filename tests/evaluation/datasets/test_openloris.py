"""The layout of OpenLORIS-Object: what it says about a frame, and the errors of other layouts."""

import os
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from refusal import Refusal
from robocle.errors import DataError
from robocle.evaluation.datasets import dataset
from robocle.evaluation.datasets.openloris import FACTORS, SEGMENTS, level_of

pytestmark = pytest.mark.slow

Plant = Callable[[Iterable[str]], Path]

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
    assert {e.label for e in found} == {"paper_cutter", "u_disk"}
    frame = next(e for e in found if e.path.as_posix().endswith(SMALL[0]))
    assert (frame.label, frame.instance) == ("paper_cutter", "paper_cutter_01")
    assert (frame.domain, frame.video) == ("clutter", "clutter/segment1/paper_cutter_01")


def test_the_folder_validation_can_be_tested_in_place_of_test(plant: Plant) -> None:
    found = dataset("openloris:tested=validation").examples(plant(SMALL))
    assert Counter(e.split for e in found) == {"train": 216, "test": 72}
    assert {e.path.parts[-5] for e in found if e.split == "test"} == {"validation"}


def test_a_copy_without_validation_cannot_test_it(plant: Plant) -> None:
    root = plant([name for name in SMALL if not name.startswith("validation")])
    with pytest.raises(DataError, match=r"no validation folder in .*: use openloris:tested=test"):
        dataset("openloris:tested=validation").examples(root)


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


def test_other_folders_beside_the_splits_are_ignored(plant: Plant) -> None:
    root = plant([*SMALL, "rgbd/clutter/segment1/mug_01/0.jpg"])
    assert len(dataset("openloris").examples(root)) == len(SMALL)


def in_benchmark_layout(name: str) -> str:
    """Return where the authors' script copies a frame."""
    split, factor, segment, rest = name.split("/", 3)
    return f"{factor}/{split}/{segment.replace('segment', 'task')}/{rest}"


@pytest.mark.parametrize("beside", [[], ["sequence/train/task1/u_disk_02/000000.jpg"]])
def test_the_layout_of_the_authors_benchmark_is_listed_like_the_original(
    beside: list[str], plant: Plant
) -> None:
    root = plant([f"original/{name}" for name in SMALL])
    plant([f"benchmark/{name}" for name in [*map(in_benchmark_layout, SMALL), *beside]])
    original = dataset("openloris").examples(root / "original")
    found = dataset("openloris").examples(root / "benchmark")
    assert [
        replace(e, path=root / "original" / name)
        for e, name in zip(found, sorted(SMALL), strict=True)
    ] == original
    assert [e.path.relative_to(root / "benchmark").as_posix() for e in found] == [
        in_benchmark_layout(name) for name in sorted(SMALL)
    ]


@pytest.mark.parametrize("place", [str, in_benchmark_layout], ids=["original", "benchmark"])
def test_a_copy_of_one_factor_without_validation_can_be_read(
    place: Callable[[str], str], plant: Plant
) -> None:
    kept = [name for name in SMALL if "/pixel/segment5" in name and not name.startswith("val")]
    found = dataset("openloris").examples(plant(map(place, kept)))
    assert {(e.domain, level_of(e)) for e in found} == {("pixel", 2)}
    assert len(found) == len(kept)


def as_task(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda name: change(in_benchmark_layout(name))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda name: name.replace("test/", "tests/"), "there is no test folder in"),
        (lambda name: "data/" + name, "there is no train folder in"),
        (lambda name: name.replace("pixel", "scale"), "clutter to pixel"),
        (lambda name: name.replace("segment9", "segment10"), "segment1 to segment9"),
        (lambda name: name.replace("segment2", "Segment2"), "segment1 to segment9"),
        (lambda name: name.replace("u_disk_02", "u_disk"), "<category>_<number>"),
        (lambda name: name.replace("u_disk_02", "_02"), "<category>_<number>"),
        (as_task(lambda name: name.replace("/task", "/batch")), "the folders of"),
        (as_task(lambda name: name.replace("task9", "task10")), "task1 to task9"),
        (as_task(lambda name: name.replace("/test/", "/tests/")), "there is no test folder in"),
        (as_task(lambda name: "sequence/" + name.split("/", 1)[1]), "do not tell which factor"),
        (as_task(lambda name: name.split("/", 1)[1]), "is a task of one factor: give the folder"),
    ],
)
def test_another_layout_is_rejected(
    change: Callable[[str], str], words: str, plant: Plant, refusal: Refusal
) -> None:
    root = plant([change(name) for name in SMALL])
    message = refusal(DataError, lambda: dataset("openloris").examples(root))
    assert words in message
    assert str(root) in message


INSTANCES, FRAMES = 14, 100  # with 2 splits, 4 factors and 9 segments: 100,800 frames


@pytest.mark.exhaustive
def test_a_hundred_thousand_frames_are_listed_in_tens_of_megabytes(tmp_path: Path) -> None:
    for place in product(("train", "test"), FACTORS, SEGMENTS, range(INSTANCES)):
        folder = tmp_path.joinpath(*place[:3], f"t{place[3] % 7}_{place[3]:02d}")
        folder.mkdir(parents=True)
        for frame in range(FRAMES):
            os.close(os.open(f"{folder}/{frame:06d}.jpg", os.O_CREAT | os.O_WRONLY))
    tracemalloc.start()
    try:
        found = dataset("openloris").examples(tmp_path)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found) == 100_800
    assert kept / len(found) < 600
    assert peak < 1.2 * kept
