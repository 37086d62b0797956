"""A learner remembers which pictures it was taught, exactly as long as it has their samples."""

from collections import Counter
from pathlib import Path

import pytest

from robocle import Learner
from robocle.images.sketches import DUPLICATE, sketch
from robocle.store.history import UNDOABLE
from stub_backbone import STUB, embedding

WIDTH = 24
MANY = 4 * UNDOABLE


def opened(path: Path) -> Learner:
    return Learner.open(path, STUB, pooling="avg", classifier="ncm")


def teach(learner: Learner, label: str, pictures: int, seed: int = 0) -> None:
    for number in range(pictures):
        learner.teach_embedding(embedding([seed, number], WIDTH), label)


def remembered(learner: Learner) -> dict[str, int]:
    """Return how many pictures of each label are remembered."""
    return dict(Counter(learner._state.sketches.labels))


def label_of(learner: Learner, seed: int, number: int) -> str | None:
    """Return the label under which a picture was taught, if it is remembered."""
    near = learner._state.sketches.nearest(sketch(embedding([seed, number], WIDTH)))
    return near.label if near and near.distance < DUPLICATE else None


@pytest.mark.parametrize("pictures", [3, MANY])
def test_taught_pictures_are_remembered_across_openings(pictures: int, tmp_path: Path) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, "mug", pictures)
        teach(learner, "pan", 2, seed=1)
    with opened(path) as learner:
        assert remembered(learner) == {"mug": pictures, "pan": 2}
        assert label_of(learner, 0, pictures - 1) == "mug"
        assert label_of(learner, 1, 1) == "pan"
        assert label_of(learner, 2, 0) is None


@pytest.mark.parametrize("pictures", [3, MANY])
def test_undone_pictures_are_not_remembered(pictures: int, tmp_path: Path) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, "pan", 2, seed=1)
        with learner.step():
            teach(learner, "mug", pictures)
    with opened(path) as learner:
        learner.undo()
        assert remembered(learner) == {"pan": 2}
        assert label_of(learner, 0, 0) is None


def test_removed_pictures_are_not_remembered(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug", 3)
        assert label_of(learner, 0, 1) == "mug"
        learner.remove(learner.samples[1].id)
        assert label_of(learner, 0, 1) is None
        assert remembered(learner) == {"mug": 2}


def test_merged_pictures_are_remembered_until_the_merge_is_undone(tmp_path: Path) -> None:
    other = Learner(STUB, "avg", "ncm")
    teach(other, "cup", 3, seed=5)
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug", 3)
        learner.merge(other)
        assert remembered(learner) == {"mug": 3, "cup": 3}
        learner.undo()
        assert remembered(learner) == {"mug": 3}


def test_renamed_labels_are_remembered_under_their_new_name(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug", 3)
        assert label_of(learner, 0, 0) == "mug"
        learner.rename("mug", "cup")
        assert label_of(learner, 0, 0) == "cup"


def test_forgetting_for_good_removes_every_trace_of_the_pictures(tmp_path: Path) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, "secret", MANY)
        teach(learner, "pan", 2, seed=1)
        learner.forget("secret")
        learner.purge()
        assert remembered(learner) == {"pan": 2}
    content = path.read_bytes()
    assert b"secret" not in content
    assert embedding([1, 0], WIDTH).tobytes() in content
    for number in range(MANY):
        assert embedding([0, number], WIDTH).tobytes() not in content


def test_a_learner_that_keeps_no_samples_remembers_no_pictures() -> None:
    learner = Learner(STUB, "avg", "slda:keep=0")
    teach(learner, "mug", 3)
    assert remembered(learner) == {}
