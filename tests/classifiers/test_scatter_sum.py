"""A sum of rows^T rows that is shared with states, against a plain sum."""

import copy
import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robocle.classifiers.scatter import scatter_sum
from robocle.classifiers.scatter.scatter_sum import (
    FEW_SAMPLES,
    MOST_BUFFERED,
    ScatterSum,
    StoredSum,
)
from robocle.classifiers.scatter.triangle import packed

Array = NDArray[np.float64]
WIDTH = 5


def append(found: ScatterSum, rows: Array) -> None:
    for row in rows:
        found.next_row[:] = row
        found.append()


def rows_of(number: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(number, WIDTH))


def assert_sum(stored: StoredSum, rows: Array) -> None:
    np.testing.assert_allclose(stored.array(), packed(rows.T @ rows), atol=1e-9)


def matrices(*stored: StoredSum) -> int:
    """Return how many matrices are in memory for these."""
    return len({id(each.parts[0]) for each in stored})


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 150)),
            st.tuples(st.just("drop"), st.integers(0, 5)),
            st.sampled_from(
                [("store", 0), ("fold", 0), ("several", 0), ("add", 3), ("copy", 0), ("merge", 4)]
            ),
        ),
        max_size=25,
    )
)
def test_states_keep_their_value_whatever_is_learned_later(steps: list[tuple[str, int]]) -> None:
    rows = rows_of(7)
    found, states = ScatterSum(WIDTH, rows), list[tuple[StoredSum, Array]]()
    for index, (step, number) in enumerate(steps):
        further = rows_of(number, seed=index + 1)
        if step == "append":
            append(found, further)
        elif step == "add":
            found.add(further)
        elif step == "merge":
            other = ScatterSum(WIDTH)
            append(other, further)
            found.add_sum(other)
        elif step == "store":
            states.append((found.stored(), rows))
        elif step == "drop" and states:
            del states[number % len(states)]
        elif step == "fold":
            found.fold()
        elif step == "several":
            found.fold_several()
        elif step == "copy":
            found = copy.deepcopy(found)
        if step in ("append", "add", "merge"):
            rows = np.vstack([rows, further])
        for stored, before in states:
            assert_sum(stored, before)
    assert_sum(found.stored(), rows)
    np.testing.assert_allclose(found.diagonal(), (rows**2).sum(axis=0))
    total = float(((rows.T @ rows) ** 2).sum())
    np.testing.assert_allclose(found.block_squares(1), [[total]])
    np.testing.assert_allclose(found.quadratic(rows[:3]), ((rows @ rows[:3].T) ** 2).sum())


def test_a_state_shares_its_matrix_with_the_sum_until_many_rows_were_added() -> None:
    found = ScatterSum(WIDTH)
    append(found, rows_of(20))
    found.fold()
    base = found.stored()
    append(found, rows_of(100, seed=1))
    found.fold_several()
    mark = found.stored()
    assert matrices(base, mark) == 1
    append(found, rows_of(MOST_BUFFERED, seed=2))
    assert matrices(base, mark, found.stored()) == 2


def test_rows_that_all_states_have_become_part_of_the_matrix_of_all() -> None:
    found = ScatterSum(WIDTH)
    append(found, rows_of(20))
    found.fold()
    base = found.stored()
    append(found, rows_of(FEW_SAMPLES, seed=1))
    mark = found.stored()
    assert not found.fold_several()
    del base
    append(found, rows_of(3, seed=2))
    assert found.fold_several()
    assert matrices(mark, found.stored()) == 1
    assert [len(each.parts[1]) for each in (mark, found.stored())] == [0, 3]
    assert_sum(mark, np.vstack([rows_of(20), rows_of(FEW_SAMPLES, seed=1)]))


def test_without_states_the_matrix_is_changed_in_place() -> None:
    found = ScatterSum(WIDTH)
    matrix = found.stored().parts[0]
    append(found, rows_of(10 * scatter_sum.BATCH))
    found.fold()
    assert found.stored().parts[0] is matrix


def test_a_pickled_sum_and_its_original_go_on_independently() -> None:
    found, rows = ScatterSum(WIDTH), rows_of(30)
    append(found, rows)
    stored = found.stored()
    again = pickle.loads(pickle.dumps(found))
    append(again, rows)
    assert_sum(again.stored(), np.vstack([rows, rows]))
    assert_sum(found.stored(), rows)
    assert_sum(stored, rows)


def test_a_sum_can_be_added_to_itself() -> None:
    found, rows = ScatterSum(WIDTH), rows_of(30)
    append(found, rows[:20])
    found.fold()
    append(found, rows[20:])
    found.add_sum(found)
    assert_sum(found.stored(), np.vstack([rows, rows]))
