"""Metrics: how well a learner recognises, what it forgets, and what it costs.

    accuracy(found.truth, found.predicted)
    METRICS["accuracy"].compute(measured)

The metrics are pure functions; `METRICS` lists those that a trial computes and reports show. A new
metric is one function, one entry in `COMPUTED`, and one section in `metrics.toml`. Accuracies and
rates are in percent. A metric that is not defined is NaN, never 0: accuracy without pictures,
forgetting after one step.
"""

from robocle.evaluation.metrics.over_steps import (
    backward_transfer,
    forgetting,
    forward_transfer,
    mean_step_gain,
    paper_bwt,
    paper_forg,
    plasticity,
)
from robocle.evaluation.metrics.recognition import (
    Difference,
    OpenSetPredictions,
    Paired,
    accuracy,
    area_under_curve,
    avg_other_domain,
    calibration_error,
    class_accuracies,
    macro_accuracy,
    mean,
    paired_difference,
    percentage,
    room_aware_gain,
    standard_deviation,
)
from robocle.evaluation.metrics.stored import (
    Pictures,
    load_measured,
    load_pictures,
    right_predictions,
    stored,
)
from robocle.evaluation.metrics.table import METRICS, Costs, Measured, Metric, StepAccuracy

__all__ = [
    "METRICS",
    "Costs",
    "Difference",
    "Measured",
    "Metric",
    "OpenSetPredictions",
    "Paired",
    "Pictures",
    "StepAccuracy",
    "accuracy",
    "area_under_curve",
    "avg_other_domain",
    "backward_transfer",
    "calibration_error",
    "class_accuracies",
    "forgetting",
    "forward_transfer",
    "load_measured",
    "load_pictures",
    "macro_accuracy",
    "mean",
    "mean_step_gain",
    "paired_difference",
    "paper_bwt",
    "paper_forg",
    "percentage",
    "plasticity",
    "right_predictions",
    "room_aware_gain",
    "standard_deviation",
    "stored",
]
