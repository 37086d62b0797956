"""A flipped bit costs only the label whose numbers it hit, where labels can be separated."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import StateError
from robocle.store import recovered, write_state
from robocle.store.snapshot import read_snapshot


class StubBackbone:
    """A backbone that is never run."""

    name = "stub"
    fingerprint = "0" * 64
    input_size = 8


STUB = cast(Backbone, StubBackbone())
LABELS = ("mug", "cup", "pan")


def embedding(number: int) -> NDArray[np.float32]:
    return np.abs(np.random.default_rng(number).normal(size=60)).astype(np.float32)


def damaged(path: Path, array: str, row: int) -> None:
    """Flip a bit in a row of an array, found by its bytes."""
    values = read_snapshot(path).state.arrays[array]
    content = path.read_bytes()
    at = content.index(values.tobytes()) + row * values[0].nbytes
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])


def saved(path: Path, pictures: int, classifier: str = "slda") -> Learner:
    learner = Learner(STUB, "avg", classifier)
    for number in range(pictures):
        learner.teach_embedding(embedding(number), LABELS[number % 3])
    learner.save(path)
    return learner


@pytest.mark.parametrize(
    ("classifier", "pictures", "array"),
    [
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
def test_damage_to_the_numbers_of_a_label_costs_that_label(
    classifier: str, pictures: int, array: str, tmp_path: Path
) -> None:
    expected = saved(tmp_path / "home", pictures, classifier)
    damaged(tmp_path / "home", array, row=0)
    with pytest.raises(StateError, match=array):
        Learner.load(tmp_path / "home", STUB)
    state, lost = recovered(tmp_path / "home")
    assert lost == ["the label 'mug'"]
    write_state(tmp_path / "rest", state)
    expected.forget("mug")
    found = Learner.load(tmp_path / "rest", STUB).predict_embedding(embedding(99)).scores
    assert found == pytest.approx(expected.predict_embedding(embedding(99)).scores, rel=1e-6)


@pytest.mark.parametrize(
    ("classifier", "pictures", "array"),
    [
        ("slda", 12, "0.span_scatter"),
        ("slda", 75, "0.scatter"),
        ("ridge", 12, "span_scatter"),
        ("ridge", 75, "scatter"),
    ],
)
def test_damage_to_the_scatter_costs_nothing_while_the_class_factors_are_known(
    classifier: str, pictures: int, array: str, tmp_path: Path
) -> None:
    expected = saved(tmp_path / "home", pictures, classifier)
    damaged(tmp_path / "home", array, row=1)
    state, lost = recovered(tmp_path / "home")
    assert lost == []
    write_state(tmp_path / "rest", state)
    found = Learner.load(tmp_path / "rest", STUB).predict_embedding(embedding(99)).scores
    assert found == pytest.approx(expected.predict_embedding(embedding(99)).scores, rel=1e-6)


def test_damage_to_a_shared_array_costs_the_snapshot_and_keeps_the_operations_since(
    tmp_path: Path,
) -> None:
    saved(tmp_path / "home", 12)
    with Learner.open(tmp_path / "home", STUB) as learner:
        learner.teach_embedding(embedding(50), "jar")
    damaged(tmp_path / "home", "0.basis", row=2)
    state, (lost,) = recovered(tmp_path / "home")
    assert state.counts == {"jar": 1}
    assert "mug, cup, pan" in lost
    assert "0.basis" in lost


@pytest.mark.parametrize("classifier", ["perceptron", "cbcl", "icarl", "slda:keep=sums"])
def test_where_labels_cannot_be_separated_damage_costs_the_snapshot(
    classifier: str, tmp_path: Path
) -> None:
    saved(tmp_path / "home", 12, classifier)
    arrays = read_snapshot(tmp_path / "home").state.arrays
    array = next(name for name, values in arrays.items() if values.ndim == 2)
    damaged(tmp_path / "home", array, row=0)
    state, (lost,) = recovered(tmp_path / "home")
    assert state.labels == ()
    assert lost.startswith("all pictures of mug, cup, pan that were taught")
