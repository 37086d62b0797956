"""Symmetric matrices in half the memory, and their factors, against numpy."""

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.classifiers.scatter.scatter_sum import StoredSum
from robocle.classifiers.scatter.symmetric_factor import SymmetricFactor
from robocle.classifiers.scatter.symmetric_matrix import PANEL, SymmetricMatrix
from robocle.classifiers.scatter.triangle import packed
from robocle.errors import FeatureError

Array = NDArray[np.float64]

WIDTHS = [1, 2, 3, 8, 9, 2 * PANEL, 2 * PANEL + 1, 3 * PANEL + 5]


def matrix_of(rows: Array) -> SymmetricMatrix:
    matrix = SymmetricMatrix(rows.shape[1])
    matrix.add(rows)
    return matrix


def rows_of(width: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(width + 3, width))


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_are_added_to_all_parts_of_the_matrix(width: int) -> None:
    rows = rows_of(width)
    matrix = matrix_of(rows[:2])
    matrix.add(rows[2:])
    matrix.add_matrix(matrix_of(rows))
    expected = 2 * rows.T @ rows
    np.testing.assert_allclose(matrix.packed(), packed(expected), atol=1e-12 * width)
    np.testing.assert_allclose(matrix.diagonal(), np.diagonal(expected))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_packed_triangle_is_unpacked_to_the_last_bit(width: int) -> None:
    triangle = packed(rows_of(width)[:width])
    matrix = SymmetricMatrix.unpacked(triangle, width)
    np.testing.assert_array_equal(matrix.packed(), triangle)
    np.testing.assert_array_equal(matrix.copy().packed(), triangle)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("number", [1, 20], ids=["one row", "many rows"])
def test_quadratic_forms_are_summed_over_the_rows(width: int, number: int) -> None:
    rows, queries = rows_of(width), np.random.default_rng(1).normal(size=(number, width))
    expected = np.einsum("ij,jk,ik->", queries, rows.T @ rows, queries)
    assert matrix_of(rows).quadratic(queries) == pytest.approx(expected)


@pytest.mark.parametrize(("width", "blocks"), [(1, 1), (9, 1), (9, 3), (200, 2), (201, 3), (70, 7)])
def test_squared_norms_are_those_of_each_block(width: int, blocks: int) -> None:
    rows, size = rows_of(width), width // blocks
    squares = ((rows.T @ rows) ** 2).reshape(blocks, size, blocks, size).sum(axis=(1, 3))
    np.testing.assert_allclose(matrix_of(rows).block_squares(blocks), squares)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("number", [1, 4], ids=["one row", "several rows"])
def test_a_factor_solves_and_whitens(width: int, number: int) -> None:
    rows, ridge = rows_of(width), np.linspace(0.5, 1, width)
    stored = StoredSum(matrix_of(rows[1:]), rows[:1])
    queries = np.random.default_rng(1).normal(size=(number, width))
    expected = np.linalg.solve(rows.T @ rows + np.diag(ridge), queries.T).T
    factor = SymmetricFactor(stored, ridge).complete()
    np.testing.assert_allclose(factor.solve(queries), expected, atol=1e-12)
    whitened = factor.whitened(queries, 0.5)
    np.testing.assert_allclose(whitened @ whitened.T, queries @ expected.T / 4, atol=1e-12)


def test_a_factor_is_computed_in_steps_whatever_happens_to_the_sum() -> None:
    rows, query = rows_of(12), np.ones((1, 12))
    matrix = matrix_of(rows)
    factor = SymmetricFactor(StoredSum(matrix, rows[:0]), np.ones(12))
    steps = 0
    while not factor.is_complete:
        matrix.add(rows)
        factor.advance()
        steps += 1
    assert steps == 2
    expected = np.linalg.solve(rows.T @ rows + np.eye(12), query[0])
    np.testing.assert_allclose(factor.solve(query)[0], expected)


@pytest.mark.parametrize("place", [0, 11], ids=["first block", "last block"])
def test_a_matrix_that_is_not_positive_definite_is_refused(place: int) -> None:
    ridge = np.ones(12)
    ridge[place] = -1000
    with pytest.raises(FeatureError):
        SymmetricFactor(StoredSum(matrix_of(rows_of(12)), np.empty((0, 12))), ridge).complete()
