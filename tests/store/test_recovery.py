"""A flipped bit loses only the label that it belongs to, where labels can be separated."""

from pathlib import Path

import numpy as np
import pytest

from robocle import Learner
from robocle.errors import StateError
from robocle.store import StoredState, recovered, write_state
from robocle.store.snapshot import read_snapshot
from stub_backbone import STUB, embedding

LABELS = ("mug", "cup", "pan")
WIDTH = 60
QUERY = embedding(99, WIDTH)


def flip_bit(path: Path, array: str, row: int) -> None:
    """Flip a bit in a row of an array of a state file."""
    values = read_snapshot(path).state.arrays[array]
    content = path.read_bytes()
    at = content.index(values.tobytes()) + row * values[0].nbytes
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])


def saved(path: Path, pictures: int, classifier: str = "slda", *, precise: bool = False) -> Learner:
    """Return a learner after saving it; with 12 pictures the scatter is compressed.

    Precise embeddings do not fit into float32, so that a state has sums instead of embeddings.
    """
    learner = Learner(STUB, "avg", classifier)
    for number in range(pictures):
        taught = embedding(number, WIDTH).astype(np.float64)
        learner.teach_embedding(taught / 3 if precise else taught, LABELS[number % 3])
    learner.save(path)
    return learner


def assert_predicts_like(expected: Learner, state: StoredState, path: Path) -> None:
    """Assert that a state, once written, is loaded as a learner with the expected scores."""
    write_state(path, state)
    found = Learner.load(path, STUB).predict_embedding(QUERY).scores
    assert found == pytest.approx(expected.predict_embedding(QUERY).scores, rel=1e-6)


@pytest.mark.parametrize(
    ("classifier", "pictures", "array"),
    [
        ("slda", 12, "embeddings"),
        ("slda", 75, "embeddings"),
        ("slda:covariance=blocks,blocks=3", 12, "embeddings"),
        ("slda", 12, "0.mean_coordinates"),
        ("slda", 12, "0.part_rows"),
        ("slda", 75, "0.means"),
        ("slda", 75, "0.part_rows"),
        ("slda:covariance=blocks,blocks=3", 12, "2.part_rows"),
        ("klda:features=200", 12, "0.part_rows"),
        ("ridge", 12, "mean_coordinates"),
        ("ridge", 75, "part_rows"),
        ("ncm", 12, "means"),
        ("snb", 12, "squares"),
        ("sqda", 12, "deviations"),
        ("fecam", 12, "means"),
    ],
)
def test_damage_to_the_rows_of_a_label_loses_that_label(
    classifier: str, pictures: int, array: str, tmp_path: Path
) -> None:
    expected = saved(tmp_path / "home", pictures, classifier, precise=array != "embeddings")
    flip_bit(tmp_path / "home", array, row=0)
    with pytest.raises(StateError, match=array):
        Learner.load(tmp_path / "home", STUB)
    state, lost = recovered(tmp_path / "home")
    assert lost == ["the label 'mug'"]
    expected.forget("mug")
    assert_predicts_like(expected, state, tmp_path / "rest")


@pytest.mark.parametrize(
    ("classifier", "pictures", "array"),
    [
        ("slda", 12, "0.span_scatter"),
        ("slda", 75, "0.scatter"),
        ("ridge", 12, "span_scatter"),
        ("ridge", 75, "scatter"),
    ],
)
def test_damage_to_the_scatter_loses_nothing_while_there_are_class_factors(
    classifier: str, pictures: int, array: str, tmp_path: Path
) -> None:
    expected = saved(tmp_path / "home", pictures, classifier, precise=True)
    flip_bit(tmp_path / "home", array, row=1)
    state, lost = recovered(tmp_path / "home")
    assert lost == []
    assert_predicts_like(expected, state, tmp_path / "rest")


def test_damage_to_a_shared_array_loses_all_but_the_undo_history(tmp_path: Path) -> None:
    saved(tmp_path / "home", 12, precise=True)
    with Learner.open(tmp_path / "home", STUB) as learner:
        learner.teach_embedding(embedding(50, WIDTH), "jar")
    flip_bit(tmp_path / "home", "0.basis", row=2)
    state, (lost,) = recovered(tmp_path / "home")
    assert state.counts == {"jar": 1}
    assert "mug, cup, pan that were taught before the last operation (" in lost
    assert "0.basis" in lost


@pytest.mark.parametrize("classifier", ["perceptron", "cbcl", "icarl", "slda:keep=sums"])
def test_damage_loses_the_snapshot_where_labels_cannot_be_separated(
    classifier: str, tmp_path: Path
) -> None:
    saved(tmp_path / "home", 12, classifier)
    arrays = read_snapshot(tmp_path / "home").state.arrays
    array = next(name for name, values in arrays.items() if values.ndim == 2)
    flip_bit(tmp_path / "home", array, row=0)
    state, (lost,) = recovered(tmp_path / "home")
    assert state.labels == ()
    assert lost.startswith("all pictures of mug, cup, pan (")
