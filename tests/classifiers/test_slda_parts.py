"""The parts of SLDA against dense numpy: rows that grow, scatters, inverses and shrinkage."""

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.covariance import OAS

from robocle.classifiers.slda.estimates import shrunk
from robocle.classifiers.slda.scatter import PENDING, Inverse, Rows, Scatter

Floats = NDArray[np.float64]
WIDTHS = [1, 2, 5, 8, 41]


def rows_of(number: int, width: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(number, width))


def scatter_of(rows: Floats, number: int = 0) -> Scatter:
    """Return a scatter to which rows were added one by one."""
    found = Scatter(rows.shape[1], number)
    for row in rows:
        found.add(row[None])
    return found


@given(st.lists(st.integers(1, 40), max_size=8))
def test_views_of_growing_rows_never_change(steps: list[int]) -> None:
    found, rows, views = Rows(3), rows_of(sum(steps), 3), []
    for number in np.cumsum(steps).tolist():
        for row in rows[len(found) : number]:
            found.append(row)
        views.append(found.view)
    assert [len(view) for view in views] == np.cumsum(steps).tolist()
    for view in views:
        np.testing.assert_array_equal(view, rows[: len(view)])


@settings(max_examples=60)
@given(
    width=st.sampled_from(WIDTHS),
    number=st.integers(0, 4),
    plan=st.lists(
        st.tuples(
            st.sampled_from(["add", "each", "plus", "copy", "store", "fold", "square", "squares"]),
            st.sampled_from([1, 3, 20, 120]),
        ),
        max_size=8,
    ),
)
def test_a_scatter_equals_the_sum_of_its_rows(
    width: int, number: int, plan: list[tuple[str, int]]
) -> None:
    found, rows = Scatter(width, number), np.empty((0, width))
    for seed, (verb, count) in enumerate(plan):
        new = rows_of(count if verb in ("add", "each", "plus") else 0, width, seed)
        if verb == "add":
            found.add(new)
        elif verb == "plus":
            found.plus(scatter_of(new, number))
        elif verb == "each":
            for row in new:
                found.add(row[None])
        elif verb == "copy":
            found, before = found.copy(), found
            before.add(rows_of(1, width))
        elif verb == "store":
            found = Scatter.of(found.copy().packed(), width, number)
        else:
            getattr(found, verb)()
        rows = np.vstack([rows, new])
    dense = rows.T @ rows
    (low, high), square = found.squares(), float((dense**2).sum())
    assert low * (1 - 1e-9) <= square <= high * (1 + 1e-9)
    assert found.trace == pytest.approx(np.trace(dense))
    assert found.square() == pytest.approx(square)
    assert found.squares() == pytest.approx((square, square))
    lower = dense[np.triu_indices(width)]  # the columns of the lower triangle, one after another
    np.testing.assert_allclose(found.packed(), lower, atol=1e-9)


def test_a_scatter_is_kept_as_rows_up_to_half_its_width() -> None:
    assert scatter_of(rows_of(20, 41)).matrix is None
    assert scatter_of(rows_of(21, 41)).matrix is not None


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [0, 1, 20, 60])
@pytest.mark.parametrize("ridge", [1e-3, 0.7, 1e4])
def test_an_inverse_equals_that_of_numpy_and_follows_lessons(
    width: int, count: int, ridge: float
) -> None:
    rows, queries = rows_of(count, width), rows_of(4, width, seed=1)
    found, dense = Inverse(scatter_of(rows), ridge), rows.T @ rows + ridge * np.eye(width)
    for lesson in rows_of(5, width, seed=2):
        expected = np.linalg.solve(dense, queries.T).T
        size, squares = np.abs(expected).max(), (queries * expected).sum(axis=1)
        np.testing.assert_allclose(found.apply(queries), expected, atol=1e-9 * size)
        np.testing.assert_allclose(found.apply(queries[:1]), expected[:1], atol=1e-9 * size)
        np.testing.assert_allclose(found.squares(queries), squares, atol=1e-9 * squares.max())
        solved = found.apply(lesson[None])[0]
        found.add(solved, 1 / (1 + lesson @ solved))
        dense += np.outer(lesson, lesson)


@pytest.mark.parametrize("count", [2, 60])
def test_with_an_infinite_ridge_the_inverse_is_the_identity(count: int) -> None:
    found, queries = Inverse(scatter_of(rows_of(count, 8)), math.inf), rows_of(3, 8, seed=1)
    np.testing.assert_array_equal(found.apply(queries), queries)
    np.testing.assert_allclose(found.squares(queries), (queries**2).sum(axis=1))
    assert not found.is_outdated


def test_an_inverse_is_outdated_after_some_lessons_and_when_its_scatter_becomes_a_matrix() -> None:
    factor = Inverse(scatter_of(rows_of(60, 8)), 1.0)
    for _ in range(PENDING):
        assert not factor.is_outdated
        factor.add(np.ones(8), 1e-6)
    assert factor.is_outdated
    scatter = scatter_of(rows_of(4, 8))
    inverse = Inverse(scatter, 1.0)
    assert not inverse.is_outdated
    scatter.add(rows_of(1, 8))
    assert inverse.is_outdated


def covariance(rows: Floats, shrinkage: float | Literal["oas", "stepped"]) -> Floats:
    """Return the shrunk covariance of rows."""
    scatter, number, identity = scatter_of(rows), len(rows), np.eye(rows.shape[1])
    found = shrunk(scatter, shrinkage, number, number, 1.0)
    dense = identity if math.isinf(found.ridge) else rows.T @ rows + found.ridge * identity
    return np.asarray(dense / found.scale)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [3, 20, 60])
def test_covariances_are_shrunk_by_the_formulas(width: int, count: int) -> None:
    rows = rows_of(count, width) * np.linspace(0.1, 2, width)
    plain, identity, p = rows.T @ rows / count, np.eye(width), width
    np.testing.assert_allclose(covariance(rows, 0.3), 0.7 * plain + 0.3 * identity, atol=1e-12)
    trace, square = np.trace(plain), (plain**2).sum()
    spread = (count + 1 - 2 / p) * (square - trace**2 / p)
    rho = min(1.0, ((1 - 2 / p) * square + trace**2) / spread) if width > 1 else 1.0
    expected = (1 - rho) * plain + rho * trace / p * identity
    np.testing.assert_allclose(covariance(rows, "oas"), expected, atol=1e-12)
    assert np.trace(covariance(rows, "stepped")) == pytest.approx(trace)
    if rho < 1:  # half steps of log2, and the nearest of them
        step = 2 * math.log2(shrunk(scatter_of(rows), "stepped", count, count, 1.0).ridge)
        exact = 2 * math.log2(rho / (1 - rho) * trace / p * count)
        assert step == pytest.approx(round(exact), abs=1e-9)


def test_oas_shrinkage_is_close_to_that_of_scikit_learn_for_wide_embeddings() -> None:
    """scikit-learn omits the terms in 2 / width of the published formula."""
    rows = rows_of(50, 600) * np.linspace(0.5, 2, 600)
    reference = OAS(assume_centered=True).fit(rows)
    np.testing.assert_allclose(covariance(rows, "oas"), reference.covariance_, atol=0.01)


@pytest.mark.parametrize("shrinkage", ["oas", "stepped"])
def test_a_scatter_of_rounding_errors_leads_to_the_identity(
    shrinkage: Literal["oas", "stepped"],
) -> None:
    np.testing.assert_array_equal(covariance(1e-14 * rows_of(20, 8), shrinkage), np.eye(8))
