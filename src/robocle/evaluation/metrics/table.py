"""The table of metrics that each trial computes and reports show.

How a metric is computed is here; how reports show it is in `metrics.toml`.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from operator import attrgetter
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


Computation = Callable[[Measured], Value]


@dataclass(frozen=True)
class Metric:
    """A metric of a trial, and how reports show it."""

    compute: Computation
    """Returns one value, one per test, one per step, or None where the trial has no such metric."""
    title: str
    """Its name in reports."""
    unit: str = ""
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


def _per_test(metric: Callable[[Sequence[str], Sequence[str]], float]) -> Computation:
    return lambda measured: {
        name: metric(found.truth, found.predicted) for name, found in measured.tests.items()
    }


def _open_set(name: str) -> Computation:
    value = attrgetter(name)
    return lambda measured: {test: value(p) for test, p in measured.open_set.items()} or None


def _over_steps(metric: Callable[[NDArray[np.float64]], float]) -> Computation:
    return lambda measured: None if (h := measured.history) is None else metric(h)


def _forward_transfer(measured: Measured) -> Value:
    if measured.history is None:
        return None
    return over_steps.forward_transfer([a for s in measured.steps for a in s.before.values()])


def _cost(metric: Callable[[Costs], float]) -> Computation:
    return lambda measured: metric(measured.costs)


def _average_other_domain(measured: Measured) -> Value:
    names = list(measured.tests)
    trained_on = names.index(measured.taught_as) if measured.taught_as in names else None
    accuracies = [accuracy(each.truth, each.predicted) for each in measured.tests.values()]
    return avg_other_domain(accuracies, trained_on)


COMPUTED: dict[str, Computation] = {
    "accuracy": _per_test(accuracy),
    "macro_accuracy": _per_test(macro_accuracy),
    "average_other_domain": _average_other_domain,
    "per_step": lambda measured: [step.overall for step in measured.steps] or None,
    "backward_transfer": _over_steps(over_steps.backward_transfer),
    "forgetting": _over_steps(over_steps.forgetting),
    "plasticity": _over_steps(over_steps.plasticity),
    "forward_transfer": _forward_transfer,
    "paper_bwt": _over_steps(over_steps.paper_bwt),
    "paper_forg": _over_steps(over_steps.paper_forg),
    "training_minutes": _cost(lambda c: (c.taught * c.embedding_taught + c.learning) / 60),
    "frames_per_second": _cost(lambda c: 1 / (c.embedding + c.predicting)),
    "relative_speed": _cost(lambda c: c.relative_speed),
    "state_megabytes": _cost(lambda c: c.state_bytes / 1e6),
    "feature_size": _cost(lambda c: c.feature_size),
    "milliseconds_to_embed": _cost(lambda c: 1e3 * c.embedding),
    "milliseconds_to_learn": _cost(lambda c: 1e3 * c.learning / c.taught),
    "milliseconds_to_predict": _cost(lambda c: 1e3 * c.predicting),
    "process_peak_megabytes": _cost(lambda c: c.peak_bytes / 2**20),
    "right_rate": _open_set("right_rate"),
    "false_rejection_rate": _open_set("false_rejection_rate"),
    "wrong_rate": _open_set("wrong_rate"),
    "auroc": _open_set("auroc"),
    "unknown_detection_rate": _open_set("unknown_detection_rate"),
    "calibration_error": _open_set("calibration_error"),
}
"""How each metric is computed, by its name in results."""
SHOWN = tomllib.loads(
    files("robocle.evaluation.metrics").joinpath("metrics.toml").read_text("utf-8")
)
METRICS = {name: Metric(COMPUTED[name], **shown) for name, shown in SHOWN.items()}
"""All metrics by their names in results."""
