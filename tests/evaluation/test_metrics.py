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
    METRICS,
    Costs,
    Measured,
    OpenSetPredictions,
    StepAccuracy,
    accuracy,
    area_under_curve,
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
from robocle.evaluation.metrics.table import COMPUTED, SHOWN
from robocle.evaluation.teach_and_test import Evaluation

NAN = float("nan")
HISTORY_METRICS = [plasticity, backward_transfer, forgetting, paper_bwt, paper_forg]
# Three classes, one per step.
HISTORY = [[90.0, NAN, NAN], [60.0, 80.0, NAN], [70.0, 50.0, 100.0]]
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


def test_accuracy_without_pictures_is_nan() -> None:
    assert math.isnan(accuracy([], []))
    assert math.isnan(macro_accuracy([], []))
    assert np.isnan(class_accuracies([], [], ["mug"])).all()


def test_there_must_be_one_prediction_per_picture() -> None:
    with pytest.raises(ValueError, match="shorter"):
        accuracy(["mug", "mug"], ["mug"])


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


# ---- histories


def test_after_one_step_metrics_of_earlier_classes_are_nan() -> None:
    assert plasticity([[40.0]]) == 40
    assert math.isnan(backward_transfer([[40.0]]))
    assert math.isnan(forgetting([[40.0]]))
    assert math.isnan(paper_bwt([[40.0]]))
    assert paper_forg([[40.0]]) == 0


def test_a_class_without_test_pictures_does_not_count() -> None:
    wider = [[*row[:1], NAN, *row[1:]] for row in HISTORY]
    for metric in HISTORY_METRICS:
        assert metric(wider) == metric(HISTORY)


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


COSTS = Costs(
    embedding=0.010,
    embedding_taught=0.020,
    learning=0.6,
    predicting=0.002,
    taught=30,
    state_bytes=2_000_000,
    peak_bytes=3 * 2**20,
    feature_size=3.0,
    relative_speed=0.9,
)
OPEN_SET = OpenSetPredictions(
    is_known=np.array([True, True, True, True, False, False]),
    score=np.array([5.0, 4.0, 3.0, 1.0, 2.0, 0.0]),
    confidence=np.array([1.0, 1.0, 1.0, 0.5, 0.5, 0.5]),
    rejected=np.array([False, False, False, True, True, False]),
    correct=np.array([True, True, True, True, False, False]),
)
MEASURED = Measured(
    tests={
        "test/clean": Evaluation(("mug", "mug", "mug", "pen"), ("mug", "mug", "mug", "mug"), 0.0),
        "test/noise": Evaluation(("mug", "pen"), ("pen", "pen"), 0.0),
        "test/blur": Evaluation(("mug", "pen"), ("pen", "mug"), 0.0),
    },
    taught_as="test/clean",
    costs=COSTS,
    steps=[
        StepAccuracy(90.0, {"mug": 90.0}),
        StepAccuracy(70.0, {"mug": 60.0, "pen": 80.0}, {"pen": 4.0}),
    ],
    each_step_adds_labels=True,
    open_set={"test/clean": OPEN_SET},
)
BY_HAND = {
    "accuracy": {"test/clean": 75.0, "test/noise": 50.0, "test/blur": 0.0},
    "macro_accuracy": {"test/clean": 50.0, "test/noise": 50.0, "test/blur": 0.0},
    "average_other_domain": 25.0,
    "per_step": [90.0, 70.0],
    "backward_transfer": -30.0,
    "forgetting": 30.0,
    "plasticity": 85.0,
    "forward_transfer": 4.0,
    "paper_bwt": 60.0,
    "paper_forg": 15.0,
    "training_minutes": 0.02,
    "frames_per_second": 1 / 0.012,
    "relative_speed": 0.9,
    "state_megabytes": 2.0,
    "feature_size": 3.0,
    "milliseconds_to_embed": 10.0,
    "milliseconds_to_learn": 20.0,
    "milliseconds_to_predict": 2.0,
    "process_peak_megabytes": 3.0,
    "auroc": {"test/clean": 87.5},
    "unknown_detection_rate": {"test/clean": 50.0},
    "right_rate": {"test/clean": 75.0},
    "false_rejection_rate": {"test/clean": 25.0},
    "wrong_rate": {"test/clean": 0.0},
    "calibration_error": {"test/clean": 18.75},
}


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_of_a_small_trial_is_the_one_computed_by_hand(name: str) -> None:
    assert METRICS[name].compute(MEASURED) == pytest.approx(BY_HAND[name])


def test_every_computed_metric_has_words_for_reports() -> None:
    assert list(METRICS) == list(COMPUTED) == list(SHOWN)


def test_a_trial_without_steps_and_unknown_objects_has_no_metrics_of_them() -> None:
    plain = Measured(MEASURED.tests, "test/clean", COSTS)
    missing = {name for name, metric in METRICS.items() if metric.compute(plain) is None}
    assert missing == {
        *("per_step", "backward_transfer", "forgetting", "plasticity", "paper_bwt", "paper_forg"),
        "forward_transfer",
        *("auroc", "unknown_detection_rate", "false_rejection_rate", "calibration_error"),
        *("right_rate", "wrong_rate"),
    }


def test_where_labels_repeat_there_is_a_curve_but_no_forgetting() -> None:
    repeated = Measured(MEASURED.tests, "test/clean", COSTS, MEASURED.steps)
    assert METRICS["per_step"].compute(repeated) == [90.0, 70.0]
    assert METRICS["forgetting"].compute(repeated) is None


def test_the_mean_over_other_domains_covers_all_tests_if_the_taught_one_is_not_among_them() -> None:
    taught_elsewhere = Measured(MEASURED.tests, "test/geom", COSTS)
    found = METRICS["average_other_domain"].compute(taught_elsewhere)
    assert found == pytest.approx((75 + 50 + 0) / 3)


def test_open_set_metrics_without_unknown_objects_are_nan() -> None:
    known = OPEN_SET.is_known
    only_known = OpenSetPredictions(
        known[known],
        OPEN_SET.score[known],
        OPEN_SET.confidence[known],
        OPEN_SET.rejected[known],
        OPEN_SET.correct[known],
    )
    assert math.isnan(only_known.auroc)
    assert math.isnan(only_known.unknown_detection_rate)
    assert only_known.false_rejection_rate == 25.0
    assert only_known.calibration_error == 12.5
