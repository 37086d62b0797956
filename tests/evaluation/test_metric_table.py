"""The table of metrics: every entry is computed from what a trial measured, and documented."""

import math

import numpy as np
import pytest

from robocle.evaluation.metrics import METRICS, Costs, Measured, OpenSetPredictions, StepAccuracy
from robocle.evaluation.teach_and_test import Evaluation

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
