"""The metrics against examples by hand, loops written independently, and the paper's own tables."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

import paper_formulas
from paper_formulas import mean_of
from robocle.evaluation.metrics import (
    accuracy,
    area_under_curve,
    avg_other_domain,
    backward_transfer,
    calibration_error,
    class_accuracies,
    forgetting,
    macro_accuracy,
    paper_bwt,
    paper_forg,
    plasticity,
    room_aware_gain,
)

NAN = float("nan")
HISTORY_METRICS = [plasticity, backward_transfer, forgetting, paper_bwt, paper_forg]
# Three classes, one per step.
BY_HAND = [
    [90.0, NAN, NAN],
    [60.0, 80.0, NAN],
    [70.0, 50.0, 100.0],
]
labels = st.sampled_from(["mug", "book", "pen", "fork"])
percent = st.floats(0, 100)


@st.composite
def histories(draw: st.DrawFn) -> NDArray[np.float64]:
    """Steps x classes, each class taught at some step and tested from then on."""
    steps, classes = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    taught = draw(st.lists(st.integers(0, steps - 1), min_size=classes, max_size=classes))
    history = np.full((steps, classes), NAN)
    for j, step in enumerate(taught):
        for i in range(step, steps):
            history[i, j] = draw(percent)
    return history


def same(found: float, expected: float) -> bool:
    return math.isclose(found, expected, abs_tol=1e-9) or (found != found and expected != expected)


# ---- accuracy


def test_micro_counts_pictures_and_macro_counts_classes() -> None:
    truth = ["mug"] * 8 + ["book"] * 2
    predicted = ["mug"] * 8 + ["mug"] * 2
    assert accuracy(truth, predicted) == 80
    assert macro_accuracy(truth, predicted) == 50


def test_accuracy_without_pictures_is_nan() -> None:
    assert math.isnan(accuracy([], []))
    assert math.isnan(macro_accuracy([], []))
    assert np.isnan(class_accuracies([], [], ["mug"])).all()


def test_there_must_be_one_prediction_per_picture() -> None:
    with pytest.raises(ValueError, match="shorter"):
        accuracy(["mug", "mug"], ["mug"])


def test_labels_may_be_arrays() -> None:
    truth = np.array(["mug", "book", "mug"])
    predicted = np.array(["mug", "mug", "mug"])
    assert macro_accuracy(truth, predicted) == 50
    assert accuracy(np.array([0, 1]), np.array([0, 0])) == 50


@given(st.lists(st.tuples(labels, st.none() | labels), min_size=1))
def test_accuracies_equal_those_of_a_plain_loop(pairs: list[tuple[str, str | None]]) -> None:
    truth, predicted = [a for a, _ in pairs], [b for _, b in pairs]
    by_class = {
        name: mean_of([100.0 * (a == b) for a, b in pairs if a == name]) for name in ["pen", "mug"]
    }
    assert same(accuracy(truth, predicted), mean_of([100.0 * (a == b) for a, b in pairs]))
    found = class_accuracies(truth, predicted, ["pen", "mug"])
    assert all(same(a, b) for a, b in zip(found.tolist(), by_class.values(), strict=True))
    everything = [mean_of([100.0 * (a == b) for a, b in pairs if a == n]) for n in set(truth)]
    assert same(macro_accuracy(truth, predicted), mean_of(everything))


# ---- room-aware gain and other domains


@pytest.mark.parametrize(
    ("baseline", "achieved", "gain"),
    [(96, 98, 50), (50, 50, 0), (0, 100, 100), (50, 25, -50), (99, 98, -100)],
)
def test_the_room_aware_gain_is_the_percentage_of_errors_that_is_gone(
    baseline: float, achieved: float, gain: float
) -> None:
    assert room_aware_gain(baseline, achieved) == pytest.approx(gain)


@pytest.mark.parametrize("achieved", [100, 90])
def test_the_gain_over_a_perfect_baseline_is_nan(achieved: float) -> None:
    assert math.isnan(room_aware_gain(100, achieved))


def test_the_mean_over_other_domains_of_a_single_condition_is_nan() -> None:
    assert math.isnan(avg_other_domain([90], trained_on=0))


def test_the_condition_trained_on_must_exist() -> None:
    with pytest.raises(IndexError):
        avg_other_domain([90, 40], trained_on=2)


# ---- histories


def test_the_metrics_of_a_small_history_are_those_computed_by_hand() -> None:
    assert plasticity(BY_HAND) == pytest.approx((90 + 80 + 100) / 3)
    assert backward_transfer(BY_HAND) == pytest.approx(((70 - 90) + (50 - 80)) / 2)
    assert forgetting(BY_HAND) == pytest.approx(((90 - 70) + (80 - 50)) / 2)
    assert paper_bwt(BY_HAND) == pytest.approx((60 + 70 + 50) / 3)
    assert paper_forg(BY_HAND) == pytest.approx((90 + 80 + 100) / 3 - (70 + 50 + 100) / 3)


def test_after_one_step_metrics_of_earlier_classes_are_nan() -> None:
    assert plasticity([[40.0]]) == 40
    assert math.isnan(backward_transfer([[40.0]]))
    assert math.isnan(forgetting([[40.0]]))
    assert math.isnan(paper_bwt([[40.0]]))
    assert paper_forg([[40.0]]) == 0


def test_a_class_without_test_pictures_does_not_count() -> None:
    wider = [[*row[:1], NAN, *row[1:]] for row in BY_HAND]
    for metric in HISTORY_METRICS:
        assert metric(wider) == metric(BY_HAND)


@pytest.mark.parametrize("metric", HISTORY_METRICS)
def test_metrics_of_a_history_without_values_are_nan(metric: Callable[[object], float]) -> None:
    assert math.isnan(metric([[NAN, NAN], [NAN, NAN]]))
    assert math.isnan(metric(np.empty((3, 0))))


@pytest.mark.parametrize("metric", HISTORY_METRICS)
def test_a_history_with_gaps_or_of_another_shape_raises(metric: Callable[[object], float]) -> None:
    with pytest.raises(ValueError, match="after every later step"):
        metric([[90.0, NAN], [NAN, 80.0]])
    with pytest.raises(ValueError, match="one row per step"):
        metric([90.0, 80.0])
    with pytest.raises(ValueError, match="one row per step"):
        metric(np.empty((0, 3)))


@given(histories())
def test_history_metrics_equal_those_of_plain_loops(history: NDArray[np.float64]) -> None:
    metrics = {metric.__name__: metric for metric in HISTORY_METRICS}
    for name, expected in paper_formulas.step_metrics(history.tolist()).items():
        assert same(metrics[name](history), expected)


@given(st.integers(2, 6), st.integers(0, 1000))
def test_transfer_follows_from_plasticity_and_the_last_row(steps: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    history = np.where(np.tri(steps, dtype=bool), rng.uniform(0, 100, (steps, steps)), NAN)
    expected = steps / (steps - 1) * (history[-1].mean() - plasticity(history))
    assert backward_transfer(history) == pytest.approx(expected)


# ---- the paper's tables


@pytest.mark.parametrize(
    ("final", "bwt", "forg", "pla"),
    [
        (16.05, 23.37, 78.77, 92.82),
        (47.68, 57.34, 46.54, 61.10),
        (54.89, 63.85, 39.95, 69.18),
        (50.41, 59.14, 45.69, 66.19),
        (52.42, 60.75, 43.54, 70.38),
    ],
)
def test_the_printed_transfer_of_table_6_cannot_be_the_standard_one(
    final: float, bwt: float, forg: float, pla: float
) -> None:
    # With one class per step, the standard one follows from the plasticity and the final accuracy
    # (see above), here of 40 classes with about the same number of test pictures.
    standard = 40 / 39 * (final - pla)
    assert standard < 0 < bwt
    # The printed numbers fit our reading: BwT lies between the final accuracy and the plasticity,
    # and the best class of a step is nearly always right.
    assert final < bwt < pla
    assert 94 < forg + final < 97


# ---- known or unknown


def test_the_area_under_the_curve_equals_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    known, unknown = rng.normal(1, 1, 50).round(1), rng.normal(0, 1, 70).round(1)
    truth = [1] * 50 + [0] * 70
    expected = 100 * roc_auc_score(truth, np.concatenate([known, unknown]))
    assert area_under_curve(known, unknown) == pytest.approx(expected)


def test_a_calibrated_confidence_has_no_calibration_error() -> None:
    rng = np.random.default_rng(0)
    sure = rng.random(200_000)
    right = rng.random(200_000) < sure
    assert calibration_error(sure, right) < 0.5
    assert calibration_error(np.ones(10), np.zeros(10)) == 100
    assert np.isnan(calibration_error([], []))
