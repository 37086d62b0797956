"""The table of metrics that each trial computes and reports show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from robocle.evaluation.metrics import over_steps
from robocle.evaluation.metrics.recognition import (
    OpenSetPredictions,
    accuracy,
    avg_other_domain,
    macro_accuracy,
)
from robocle.evaluation.teach_and_test import Evaluation

Value = float | dict[str, float] | list[float] | None


@dataclass(frozen=True)
class StepAccuracy:
    """The accuracy after one step, over all taught labels and on each."""

    overall: float
    by_label: Mapping[str, float]
    before: Mapping[str, float] = field(default_factory=dict)
    """On each label that the step taught first, just before it; empty for the first step."""


@dataclass(frozen=True)
class Costs:
    """The times and sizes of a trial. Times are in seconds."""

    embedding: float
    """Median time to embed a test picture."""
    embedding_taught: float
    """Median time to embed a taught picture with its views."""
    learning: float
    """Total time to learn all taught embeddings."""
    predicting: float
    """Median time to classify one embedding."""
    taught: int
    """The number of taught pictures."""
    state_bytes: int
    peak_bytes: float
    """The peak memory of the process."""
    feature_size: float
    """The width of an embedding, divided by the channels of the feature map."""
    relative_speed: float
    """The test pictures per second, divided by those of AVG pooling without a classifier."""


@dataclass(frozen=True)
class Measured:
    """Everything that a trial measured. Metrics are computed from it."""

    tests: Mapping[str, Evaluation[str]]
    """By "test set/corruption", over the taught labels."""
    taught_as: str
    """The key that a test in the taught domain under the taught corruption has in `tests`."""
    costs: Costs
    steps: Sequence[StepAccuracy] = ()
    """After each step, where that was evaluated."""
    each_step_adds_labels: bool = False
    """Whether every step taught a label that no step before it taught."""
    open_set: Mapping[str, OpenSetPredictions] = field(default_factory=dict)
    """By "test set/corruption", over all labels, where that was evaluated."""

    @property
    def history(self) -> NDArray[np.float64] | None:
        """The accuracy on each label after each step.

        None if labels repeat, as in videos of known objects: transfer and forgetting are not
        defined then.
        """
        if not (self.steps and self.each_step_adds_labels):
            return None
        labels = dict.fromkeys(label for step in self.steps for label in step.by_label)
        return np.array(
            [[step.by_label.get(label, np.nan) for label in labels] for step in self.steps]
        )


@dataclass(frozen=True)
class Metric:
    """A metric of a trial, and where reports show it."""

    title: str
    """Its name in reports."""
    unit: str
    compute: Callable[[Measured], Value]
    """Returns one value, one per test, one per step, or None where the trial has no such metric."""
    table: Literal["", "metrics", "unknown"] = ""
    """The table of a report that has a column for it."""
    paper: str = ""
    """Its name in the paper's numbers, if the paper prints it."""
    meaning: str = ""
    """What a report with such a column says about it."""
    better: Literal["high", "low", ""] = "high"
    """Which values are good; "" for a value that must be seen with another, or a measured time."""

    @property
    def heading(self) -> str:
        """The heading of its column, such as "accuracy, %"."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


def _per_test(
    metric: Callable[[Sequence[str], Sequence[str]], float],
) -> Callable[[Measured], Value]:
    return lambda measured: {
        name: metric(found.truth, found.predicted) for name, found in measured.tests.items()
    }


def _open_set(metric: Callable[[OpenSetPredictions], float]) -> Callable[[Measured], Value]:
    return lambda measured: {name: metric(p) for name, p in measured.open_set.items()} or None


def _over_steps(metric: Callable[[NDArray[np.float64]], float]) -> Callable[[Measured], Value]:
    return lambda measured: None if (h := measured.history) is None else metric(h)


def _forward_transfer(measured: Measured) -> Value:
    if measured.history is None:
        return None
    return over_steps.forward_transfer([a for s in measured.steps for a in s.before.values()])


def _cost(metric: Callable[[Costs], float]) -> Callable[[Measured], Value]:
    return lambda measured: metric(measured.costs)


def _average_other_domain(measured: Measured) -> Value:
    names = list(measured.tests)
    trained_on = names.index(measured.taught_as) if measured.taught_as in names else None
    accuracies = [accuracy(each.truth, each.predicted) for each in measured.tests.values()]
    return avg_other_domain(accuracies, trained_on)


# The keys are the names of the metrics in results. Columns of a table come in this order.
METRICS: dict[str, Metric] = {
    "accuracy": Metric(
        "accuracy",
        "%",
        _per_test(accuracy),
        "metrics",
        "accuracy",
        meaning="test pictures whose own label has the highest score, called unknown or not; the "
        "paper's Acc",
    ),
    "macro_accuracy": Metric(
        "macro accuracy",
        "%",
        _per_test(macro_accuracy),
        "metrics",
        meaning="the mean over the labels of each label's accuracy",
    ),
    "average_other_domain": Metric(
        "Avg OD",
        "%",
        _average_other_domain,
        meaning="average over the other domains: the mean accuracy, in percent, over the "
        "conditions that were not taught",
    ),
    "per_step": Metric(
        "accuracy after each step", "%", lambda m: [step.overall for step in m.steps] or None
    ),
    "backward_transfer": Metric(
        "backward transfer",
        "points",
        _over_steps(over_steps.backward_transfer),
        "metrics",
        meaning="BwT: how the accuracy on a label changes between the step that taught it and "
        "the end, in percentage points; negative if it falls",
        better="",
    ),
    "forgetting": Metric(
        "forgetting",
        "points",
        _over_steps(over_steps.forgetting),
        "metrics",
        meaning="Forg: how far the accuracy on a label is below its best at the end, in "
        "percentage points; low is good",
        better="low",
    ),
    "plasticity": Metric(
        "plasticity",
        "%",
        _over_steps(over_steps.plasticity),
        "metrics",
        "pla",
        meaning="Pla: the accuracy on a label right after it was taught",
    ),
    "forward_transfer": Metric(
        "forward transfer",
        "points",
        _forward_transfer,
        "metrics",
        "fwt",
        meaning="FwT: the accuracy on a label just before it was taught; 0 if every step teaches "
        "new labels, since a label that was not taught is never predicted",
    ),
    "paper_bwt": Metric(
        "BwT as printed",
        "%",
        _over_steps(over_steps.paper_bwt),
        "metrics",
        "bwt",
        meaning="what the paper's numbers for BwT fit: the mean accuracy on earlier labels "
        "over all steps",
    ),
    "paper_forg": Metric(
        "Forg as printed",
        "points",
        _over_steps(over_steps.paper_forg),
        "metrics",
        "forg",
        meaning="what the paper's numbers for Forg fit: the mean accuracy on the best label "
        "of a step, minus the accuracy at the end",
        better="low",
    ),
    "training_minutes": Metric(
        "TTime",
        "min",
        _cost(lambda c: (c.taught * c.embedding_taught + c.learning) / 60),
        "metrics",
        "ttime",
        meaning="training time: minutes to embed and learn all taught pictures",
        better="",
    ),
    "frames_per_second": Metric(
        "FPS",
        "",
        _cost(lambda c: 1 / (c.embedding + c.predicting)),
        "metrics",
        "fps",
        meaning="test pictures per second, from file to label, on one core",
        better="",
    ),
    "relative_speed": Metric("relative speed", "x AVG", _cost(lambda c: c.relative_speed)),
    "state_megabytes": Metric(
        "state",
        "MB",
        _cost(lambda c: c.state_bytes / 1e6),
        "metrics",
        meaning="the size of what was taught, as it is stored",
        better="low",
    ),
    "feature_size": Metric(
        "feature size",
        "x AVG",
        _cost(lambda c: c.feature_size),
        meaning="how many times as many values as with AVG pooling an embedding has, averaged "
        "over the backbones",
    ),
    "milliseconds_to_embed": Metric("embedding", "ms", _cost(lambda c: 1e3 * c.embedding)),
    "milliseconds_to_learn": Metric("learning", "ms", _cost(lambda c: 1e3 * c.learning / c.taught)),
    "milliseconds_to_predict": Metric("prediction", "ms", _cost(lambda c: 1e3 * c.predicting)),
    "process_peak_megabytes": Metric("peak memory", "MB", _cost(lambda c: c.peak_bytes / 2**20)),
    "right_rate": Metric(
        "right",
        "%",
        _open_set(lambda o: o.right_rate),
        "unknown",
        meaning="taught objects that get their own label",
    ),
    "false_rejection_rate": Metric(
        "false rejections",
        "%",
        _open_set(lambda o: o.false_rejection_rate),
        "unknown",
        meaning="taught objects that are called unknown",
        better="",
    ),
    "wrong_rate": Metric(
        "wrong",
        "%",
        _open_set(lambda o: o.wrong_rate),
        "unknown",
        meaning="taught objects that get the label of another one",
        better="low",
    ),
    "auroc": Metric(
        "AUROC",
        "%",
        _open_set(lambda o: o.auroc),
        "unknown",
        meaning="area under the ROC curve: how well the familiarity separates known from "
        "unknown objects; 50 % is chance",
    ),
    "unknown_detection_rate": Metric(
        "unknown detected",
        "%",
        _open_set(lambda o: o.unknown_detection_rate),
        "unknown",
        meaning="objects that were not taught and are called unknown",
    ),
    "calibration_error": Metric(
        "ECE",
        "%",
        _open_set(lambda o: o.calibration_error),
        "unknown",
        meaning="expected calibration error: the mean distance between confidence and accuracy, on "
        "a mix of known and unknown objects, half each",
        better="low",
    ),
}
