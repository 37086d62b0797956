"""Bounds of the squared norm of a scatter, against the norm itself."""

import numpy as np
import pytest

from robocle.classifiers.scatter.class_factors import ClassFactors
from robocle.classifiers.scatter.compressed import CompressedScatter
from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.scatter.forms import Form
from robocle.classifiers.state import StateArrays

WIDTH = 12


def scatter(form: ScatterForm) -> float:
    """The squared norm, from the arrays of the state."""
    rows = StateArrays(form.state())["part_rows"]
    return float(((rows.T @ rows) ** 2).sum())


def learned(dense: bool) -> Form:
    rng = np.random.default_rng(0)
    form: Form = CompressedScatter(WIDTH, 1, ClassFactors())
    form.add_row()
    for before in range(6):
        form.add(rng.normal(size=WIDTH), 0, before / (before + 1), 1 / (before + 1))
    return form.to_dense() if dense and isinstance(form, CompressedScatter) else form


@pytest.mark.parametrize("dense", [False, True], ids=["compressed", "dense"])
def test_bounds_contain_the_norm_and_are_equal_when_asked_again(dense: bool) -> None:
    form, rng = learned(dense), np.random.default_rng(1)
    form.square_bounds()
    for before in range(6, 40):
        form.add(rng.normal(size=WIDTH), 0, before / (before + 1), 1 / (before + 1))
        low, high = form.square_bounds()
        expected = scatter(form)
        assert low < high
        assert low <= expected <= high
        if before % 5 == 0:
            assert form.square_bounds() == pytest.approx((expected, expected))
            assert form.square_bounds() == pytest.approx((expected, expected))


@pytest.mark.parametrize("dense", [False, True], ids=["compressed", "dense"])
def test_no_class_mean_is_longer_than_the_limit(dense: bool) -> None:
    form, rng = learned(dense), np.random.default_rng(1)
    for before in range(6, 12):
        form.add(10 * rng.normal(size=WIDTH), 0, before / (before + 1), 1 / (before + 1))
        assert form.square_limit() >= form.largest_square()
