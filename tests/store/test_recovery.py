"""A flipped bit loses only the picture that it belongs to, with every classifier."""

from pathlib import Path

import pytest

from robocle import Learner
from robocle.errors import StateError
from robocle.store import StoredState, recovered, write_state
from state_files import damage, replaced, rewrite
from stub_backbone import STUB, embedding

LABELS = ("mug", "cup", "pan")
WIDTH = 60
QUERY = embedding(99, WIDTH)
LOWEST_BIT, EXPONENT = (0, 1), (3, 0x40)  # the byte of a float32, and the bit to flip in it


def saved(path: Path, pictures: int, classifier: str = "slda") -> Learner:
    """Return a learner after saving it."""
    learner = Learner(STUB, "avg", classifier)
    for number in range(pictures):
        learner.teach_embedding(embedding(number, WIDTH), LABELS[number % 3])
    learner.save(path)
    return learner


def assert_predicts_like(expected: Learner, state: StoredState, path: Path) -> None:
    """Assert that a state, once written, is loaded as a learner with the expected scores."""
    write_state(path, state)
    found = Learner.load(path, STUB).predict_embedding(QUERY).scores
    assert found == pytest.approx(expected.predict_embedding(QUERY).scores, rel=1e-6)


@pytest.mark.parametrize("flipped", [LOWEST_BIT, EXPONENT], ids=["lowest bit", "exponent"])
@pytest.mark.parametrize(
    "classifier",
    [
        "slda",
        "slda:covariance=blocks,blocks=3",
        "klda:features=200",
        "ridge",
        "ncm",
        "snb",
        "sqda",
        "fecam",
        "perceptron",
        "cbcl",
        "icarl",
    ],
)
def test_damage_to_a_picture_loses_that_picture(
    classifier: str, flipped: tuple[int, int], tmp_path: Path
) -> None:
    expected = saved(tmp_path / "home", 12, classifier)
    damage(tmp_path / "home", "embeddings", 4, *flipped)
    with pytest.raises(StateError, match="embeddings is wrong in row 5"):
        Learner.load(tmp_path / "home", STUB)
    state, lost = recovered(tmp_path / "home")
    assert lost == ["a picture of 'cup'"]
    expected.remove(expected.samples[4].id)
    assert_predicts_like(expected, state, tmp_path / "rest")


def test_a_label_is_lost_with_its_only_picture(tmp_path: Path) -> None:
    saved(tmp_path / "home", 2)
    damage(tmp_path / "home", "embeddings", 1)
    state, lost = recovered(tmp_path / "home")
    assert (state.counts, lost) == ({"mug": 1}, ["a picture of 'cup'"])


def test_damage_to_the_times_loses_only_the_times(tmp_path: Path) -> None:
    expected = saved(tmp_path / "home", 12)
    damage(tmp_path / "home", "times", 3, 7, 0x3E)  # a time that no calendar has
    state, lost = recovered(tmp_path / "home")
    assert lost == ["when the pictures were taught"]
    assert [sample.id for sample in state.base.samples] == [each.id for each in expected.samples]
    assert {sample.time for sample in state.base.samples} == {0.0}
    assert_predicts_like(expected, state, tmp_path / "rest")


@pytest.mark.parametrize("array", ["counts", "means", "scatter0", "totals"])
def test_damage_to_sums_loses_them_and_keeps_all_samples(array: str, tmp_path: Path) -> None:
    expected = saved(tmp_path / "home", 12, "slda:keep=5")
    damage(tmp_path / "home", f"folded.{array}", 0, 7, 0x7F)
    state, lost = recovered(tmp_path / "home")
    assert lost == ["the sums of pictures that are not kept themselves"]
    assert [sample.id for sample in state.base.samples] == [each.id for each in expected.samples]
    assert sum(state.counts.values()) == 5


def test_damage_to_sums_loses_all_but_the_undo_history_if_no_sample_is_kept(
    tmp_path: Path,
) -> None:
    saved(tmp_path / "home", 12, "slda:keep=0")
    with Learner.open(tmp_path / "home", STUB) as learner:
        learner.teach_embedding(embedding(50, WIDTH), "jar")
    damage(tmp_path / "home", "folded.means", 2)
    state, lost = recovered(tmp_path / "home")
    assert (state.counts, len(lost)) == ({"jar": 1}, 1)


def test_damage_to_a_picture_of_the_undo_history_loses_that_picture(tmp_path: Path) -> None:
    saved(tmp_path / "home", 12)
    with Learner.open(tmp_path / "home", STUB) as learner:
        for label in ("jar", "mug"):
            learner.teach_embedding(embedding(len(label), WIDTH), label)
    damage(tmp_path / "home", "history", 0, *EXPONENT)
    state, lost = recovered(tmp_path / "home")
    assert lost == ["a picture of 'jar'"]
    assert state.counts == {"mug": 5, "cup": 4, "pan": 4}


def test_a_removed_picture_does_not_come_back_with_a_damaged_one(tmp_path: Path) -> None:
    first, second, *others = saved(tmp_path / "home", 6).samples
    with Learner.open(tmp_path / "home", STUB) as learner:
        learner.remove(first.id, second.id)
    damage(tmp_path / "home", "embeddings", 0)
    state, lost = recovered(tmp_path / "home")
    assert [sample.id for sample in state.base.samples] == [each.id for each in others]
    assert lost == ["a picture of 'mug'"]


def test_samples_that_contradict_each_other_are_lost_and_the_undo_history_is_kept(
    tmp_path: Path,
) -> None:
    saved(tmp_path / "home", 2)
    with Learner.open(tmp_path / "home", STUB) as learner:
        learner.teach_embedding(embedding(50, WIDTH), "jar")
    rewrite(tmp_path / "home", replaced(samples=[["0" * 32, "mug"], ["0" * 32, "cup"]]))
    state, (lost,) = recovered(tmp_path / "home")
    assert state.counts == {"jar": 1}
    assert lost.startswith("all pictures that were taught before the last operations (")


def test_a_label_whose_only_kept_picture_is_damaged_is_lost_alone(tmp_path: Path) -> None:
    learner = Learner(STUB, "avg", "slda:keep=4")
    for number in range(12):
        learner.teach_embedding(embedding(number, WIDTH), LABELS[number % 2])
    learner.teach_embedding(embedding(12, WIDTH), "single")
    learner.save(tmp_path / "home")
    damage(tmp_path / "home", "embeddings", 3, *LOWEST_BIT)
    state, lost = recovered(tmp_path / "home")
    assert lost == ["a picture of 'single'"]
    assert state.counts == {"mug": 6, "cup": 6}
