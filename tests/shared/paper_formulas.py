"""The paper's pooling and metrics in plain loops: docs/poolings.md and docs/metrics.md."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
History = Sequence[Sequence[float]]
"""The accuracy after step i (row) on class j (column); NaN before the class is taught."""


def moments(grid: Floats, order: int, form: str) -> Floats:
    """Eq. 1 for one picture's map (positions, channels), in float64; no channel may be constant."""
    mean = grid.sum(axis=0) / len(grid)
    central = [((grid - mean) ** r).sum(axis=0) / len(grid) for r in range(order + 1)]
    deviation = np.sqrt(central[2])
    blocks = [mean, deviation]
    for r in range(3, order + 1):
        if form == "standardised":
            blocks.append(central[r] / deviation**r)
        else:
            blocks.append(np.sign(central[r]) * np.abs(central[r]) ** (1 / r))
    return np.concatenate(blocks)


def mean_of(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def accuracy(truth: Sequence[str], predicted: Sequence[str | None]) -> float:
    return mean_of([100.0 * (a == b) for a, b in zip(truth, predicted, strict=True)])


def avg_other_domain(accuracies: Sequence[float], trained_on: int) -> float:
    return mean_of([value for place, value in enumerate(accuracies) if place != trained_on])


def room_aware_gain(one: float, two: float) -> float:
    return 100.0 * (two - one) / (100.0 - one)


def mean_step_gain(baseline: Sequence[float], achieved: Sequence[float]) -> float:
    return mean_of([two - one for one, two in zip(baseline, achieved, strict=True)])


def forward_transfer(a: History) -> float:
    """Of a whole matrix, tested on all classes after each step: class j is taught in step j."""
    return mean_of([a[j - 1][j] for j in range(1, len(a))])


def step_metrics(a: History) -> dict[str, float]:
    """The metrics over the steps, by the names that `robocle.evaluation.metrics` gives them."""
    steps, classes = len(a), len(a[0])
    last = steps - 1
    taught = [next(i for i in range(steps) if not math.isnan(a[i][j])) for j in range(classes)]
    earlier = [j for j in range(classes) if taught[j] < last]
    best_before = {j: max(a[i][j] for i in range(taught[j], last)) for j in earlier}
    best_of_step = [
        max(a[i][j] for j in range(classes) if taught[j] <= i)
        for i in range(steps)
        if min(taught) <= i
    ]
    below = [a[i][j] for i in range(steps) for j in range(classes) if i > taught[j]]
    return {
        "plasticity": mean_of([a[taught[j]][j] for j in range(classes)]),
        "backward_transfer": mean_of([a[last][j] - a[taught[j]][j] for j in earlier]),
        "forgetting": mean_of([best_before[j] - a[last][j] for j in earlier]),
        "paper_bwt": mean_of(below),
        "paper_forg": mean_of(best_of_step) - mean_of(a[last]),
    }
