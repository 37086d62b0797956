"""A state remembers which pictures it was taught, exactly as long as it knows what they taught."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load

from refusal import Refusal
from robocle import Learner
from robocle.errors import StateError
from robocle.images.sketches import DUPLICATE, PROJECTIONS, Similar, sketch
from robocle.store import read_state, recovered
from robocle.store.history import UNDOABLE
from robocle.store.operations import Teach
from state_files import description_of, sealed_file
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
    sketches = learner._state.sketches
    return {label: int((sketches.owners == n).sum()) for n, label in enumerate(sketches.labels)}


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


def test_a_merge_keeps_what_was_remembered_and_so_does_its_undo(tmp_path: Path) -> None:
    other = Learner(STUB, "avg", "ncm")
    teach(other, "cup", 3, seed=5)
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug", 3)
        learner.merge(other)
        assert remembered(learner) == {"mug": 3}
        learner.undo()
        assert remembered(learner) == {"mug": 3}


def test_renamed_labels_are_remembered_under_their_new_name(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug", 3)
        learner.rename("mug", "cup")
        teach(learner, "pan", MANY, seed=1)  # so that the rename is no longer in the history
    with opened(tmp_path / "home") as learner:
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
    for number in range(MANY):
        assert sketch(embedding([0, number], WIDTH)).tobytes() not in content


def test_an_exported_state_does_not_tell_which_pictures_were_taught(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug", MANY)
        learner.save(tmp_path / "sent")
        assert remembered(learner) == {"mug": MANY}
    assert len(read_state(tmp_path / "sent").all_sketches) == 0
    assert sketch(embedding([0, 0], WIDTH)).tobytes() not in (tmp_path / "sent").read_bytes()
    assert sketch(embedding([0, 0], WIDTH)).tobytes() in (tmp_path / "home").read_bytes()


def test_a_recovered_state_remembers_nothing_and_can_be_taught(tmp_path: Path) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, "mug", MANY)
    content = bytearray(path.read_bytes())
    place = content.index(sketch(embedding([0, 0], WIDTH)).tobytes())
    content[place] ^= 1
    path.write_bytes(content)
    state, lost = recovered(path)
    assert (state.counts, lost) == ({"mug": MANY}, [])
    assert len(state.all_sketches) == 0


def test_a_sketch_takes_64_bytes_and_an_integer(tmp_path: Path) -> None:
    sizes = []
    for pictures in (MANY, 3 * MANY):
        with opened(tmp_path / str(pictures)) as learner:
            with learner.step():
                teach(learner, "mug", pictures)
            learner.purge()
        sizes.append((tmp_path / str(pictures)).stat().st_size)
    assert sizes[1] - sizes[0] == pytest.approx(2 * MANY * (PROJECTIONS + 4), abs=200)


def test_an_old_state_has_no_sketches_and_remembers_what_is_in_its_history() -> None:
    old = read_state(Path(__file__).parent / "first_states" / "open.robocle")
    taught = [operation for operation in old.history if isinstance(operation, Teach)]
    assert taught
    assert len(old.sketches) == 0
    assert old.all_sketches.nearest(taught[-1].sketch) == Similar(0.0, taught[-1].label)


@pytest.mark.parametrize(
    "changed",
    [
        {"sketch_labels": np.array([0, 9], np.int32)},
        {"sketch_labels": np.array([0, -1], np.int32)},
        {"sketch_labels": np.array([0], np.int32)},
        {"sketch_labels": np.array([0, 0], np.int64)},
        {"sketches": np.zeros(2 * PROJECTIONS, np.float32)},
        {"sketches": np.zeros((2, PROJECTIONS), np.int8)},
        {"sketches": np.zeros(0, np.int8)},
    ],
)
def test_sketches_that_do_not_fit_are_refused(
    changed: dict[str, NDArray[Any]], tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "home"
    with opened(path) as learner:
        teach(learner, "mug", 2)
        learner.purge()
    content = path.read_bytes()
    assert len(read_state(path).sketches) == 2
    path.write_bytes(sealed_file(description_of(content), load(content) | changed))
    message = refusal(StateError, lambda: read_state(path))
    assert message == f"{path} is damaged: its sketches cannot be read"
