"""A flipped bit costs what it hit, and no more where labels can be told apart."""

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
    """A backbone that is never asked to look."""

    name = "stub"
    fingerprint = "0" * 64
    input_size = 8


STUB = cast(Backbone, StubBackbone())
LABELS = ("mug", "cup", "pan")


def vector(number: int) -> NDArray[np.float32]:
    return np.abs(np.random.default_rng(number).normal(size=60)).astype(np.float32)


def damaged(path: Path, array: str, row: int) -> None:
    """Flip a bit in a row of an array, found by its bytes."""
    values = read_snapshot(path).state.arrays[array]
    content = path.read_bytes()
    at = content.index(values.tobytes()) + row * values[0].nbytes
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])


def saved(path: Path, pictures: int) -> Learner:
    learner = Learner(STUB, "avg", "slda")
    for number in range(pictures):
        learner.teach_embedding(vector(number), LABELS[number % 3])
    learner.save(path)
    return learner


@pytest.mark.parametrize(("pictures", "array"), [
    (12, "0.mean_coordinates"), (12, "0.part_rows"), (75, "0.means"), (75, "0.part_rows"),
])  # fmt: skip
def test_damage_in_a_labels_own_numbers_costs_that_label(
    pictures: int, array: str, tmp_path: Path
) -> None:
    expected = saved(tmp_path / "home", pictures)
    damaged(tmp_path / "home", array, row=0)
    with pytest.raises(StateError, match=array):
        Learner.load(tmp_path / "home", STUB)
    state, lost = recovered(tmp_path / "home")
    assert lost == ["the label 'mug'"]
    write_state(tmp_path / "rest", state)
    expected.forget("mug")
    found = Learner.load(tmp_path / "rest", STUB).predict_embedding(vector(99)).scores
    assert found == pytest.approx(expected.predict_embedding(vector(99)).scores, rel=1e-6)


@pytest.mark.parametrize(("pictures", "array"), [(12, "0.span_scatter"), (75, "0.scatter")])
def test_damage_in_the_scatter_costs_nothing_while_its_parts_are_known(
    pictures: int, array: str, tmp_path: Path
) -> None:
    expected = saved(tmp_path / "home", pictures)
    damaged(tmp_path / "home", array, row=1)
    state, lost = recovered(tmp_path / "home")
    assert lost == []
    write_state(tmp_path / "rest", state)
    found = Learner.load(tmp_path / "rest", STUB).predict_embedding(vector(99)).scores
    assert found == pytest.approx(expected.predict_embedding(vector(99)).scores, rel=1e-6)


def test_damage_in_what_all_share_costs_the_snapshot_and_keeps_the_operations_since(
    tmp_path: Path,
) -> None:
    saved(tmp_path / "home", 12)
    with Learner.open(tmp_path / "home", STUB) as learner:
        learner.teach_embedding(vector(50), "jar")
    damaged(tmp_path / "home", "0.basis", row=2)
    state, (lost,) = recovered(tmp_path / "home")
    assert state.counts == {"jar": 1}
    assert "mug, cup, pan" in lost
    assert "0.basis" in lost
