"""The layout of CORe50, with real pictures where they are opened."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from refusal import Refusal
from robocle.errors import DataError
from robocle.evaluation.data_check import DataCheck
from robocle.evaluation.datasets import dataset
from robocle.evaluation.datasets.core50 import CATEGORIES
from robocle.evaluation.scenarios import scenario

pytestmark = pytest.mark.slow

Plant = Callable[[Iterable[str]], Path]
WHOLE = [
    f"s{session}/o{number}/C_{session:02d}_{number:02d}_{frame:03d}.png"
    for session in range(1, 12)
    for number in range(1, 51)
    for frame in (0, 1)
]


def test_every_frame_has_its_session_object_video_and_split(plant: Plant) -> None:
    found = dataset("core50").examples(plant(WHOLE))
    assert len(found) == len(WHOLE)
    assert {each.domain for each in found if each.split == "test"} == {"s3", "s7", "s10"}
    assert Counter(each.split for each in found) == {"train": 8 * 50 * 2, "test": 3 * 50 * 2}
    assert len({each.label for each in found}) == 50
    assert len({each.video for each in found}) == 11 * 50
    frame = next(each for each in found if each.path.name == "C_04_37_001.png")
    assert (frame.label, frame.instance, frame.video) == ("marker_2", "o37", "s4/o37")


def test_five_consecutive_objects_are_one_category(plant: Plant) -> None:
    found = dataset("core50:classes=categories").examples(plant(WHOLE))
    labels = {int(each.instance[1:]): each.label for each in found}
    assert [labels[5 * place + 1] for place in range(10)] == list(CATEGORIES)
    assert Counter(labels.values()) == dict.fromkeys(CATEGORIES, 5)


def test_the_folder_that_the_archive_unpacks_to_is_found(plant: Plant) -> None:
    root = plant([f"core50_128x128/{name}" for name in WHOLE[:100]])
    assert len(dataset("core50").examples(root)) == 100


def test_a_folder_of_another_data_set_is_rejected(plant: Plant, refusal: Refusal) -> None:
    root = plant(["s1/mug/0.png"])
    message = refusal(DataError, lambda: dataset("core50").examples(root))
    assert message == f"'mug' in {root / 's1'} is not part of CORe50: its folders are o1 to o50"


def test_nc_teaches_ten_objects_and_then_five_at_a_time_in_all_sessions_of_the_train_split(
    plant: Plant,
) -> None:
    stream = scenario("new_classes").stream(dataset("core50").examples(plant(WHOLE)), seed=3)
    taught = [{example.label for example in step} for step in stream.steps]
    assert [len(labels) for labels in taught] == [10] + [5] * 8
    assert len(set.union(*taught)) == 50
    for step in stream.steps:
        assert len({example.domain for example in step}) == 8
        frames = [(example.video, example.path.name) for example in step]
        assert [name for video, name in frames if video == frames[0][0]] == [
            name for _, name in frames[:2]
        ]  # a video is taught in one piece
    assert len(stream.tests["test"]) == 3 * 50 * 2


def test_a_check_names_missing_sessions_and_objects(plant: Plant) -> None:
    gone = ("s3/", "s5/o7/")
    checked = DataCheck("core50", plant([name for name in WHOLE if not name.startswith(gone)]))
    assert checked.missing == ["session s3", "object s5/o7"]
    assert checked.runnable[0].study == "new_classes"
    assert not checked.runnable[0].reason
