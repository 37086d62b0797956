"""Class means in a table: equal to a plain matrix, and what was shared never changes."""

import copy

import numpy as np
import pytest

from robocle.classifiers.scatter.mean_table import MeanTable

WIDTH = 5


@pytest.mark.parametrize("seed", range(8))
def test_a_table_equals_a_plain_matrix_and_never_changes_what_it_shared(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=(rng.integers(0, 30), WIDTH))
    table, shared = MeanTable(plain.copy()), []
    for _ in range(120):
        if not len(plain) or rng.random() < 0.2:
            plain = np.vstack([plain, np.zeros(WIDTH)])
            table.add_row()
        row, step = int(rng.integers(len(plain))), rng.normal(size=WIDTH)
        plain[row] += step
        table.changeable(row)[:] += step
        if rng.random() < 0.1:
            shared.append((table.shared(), plain.copy()))
        if rng.random() < 0.1:
            table = copy.deepcopy(table)
        queries = rng.normal(size=(2, WIDTH))
        np.testing.assert_array_equal(table.full(), plain)
        np.testing.assert_array_equal(table.some([row, 0]), plain[[row, 0]])
        np.testing.assert_allclose(table.times(queries), queries @ plain.T, rtol=1e-12, atol=1e-12)
        assert table.largest_square() == pytest.approx((plain**2).sum(axis=1).max(), rel=1e-12)
    assert shared
    for found, expected in shared:
        np.testing.assert_array_equal(found, expected)


def test_a_copy_that_changes_leaves_the_table_as_it_is() -> None:
    table = MeanTable(np.ones((8, WIDTH)))
    table.changeable(3)[:] = 2
    copied = copy.deepcopy(table)
    copied.changeable(3)[:] = 5
    copied.changeable(4)[:] = 5
    copied.add_row()
    assert table.full()[3:5].tolist() == [[2] * WIDTH, [1] * WIDTH]
    assert len(table) == 8
    assert table.largest_square() == 4 * WIDTH


def test_an_empty_table_has_no_length() -> None:
    table = MeanTable(np.empty((0, WIDTH)))
    assert table.largest_square() == 0
    assert table.times(np.ones((2, WIDTH))).shape == (2, 0)
    assert table.shared().shape == (0, WIDTH)
