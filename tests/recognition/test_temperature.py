"""The fitted temperature, against losses computed at every temperature."""

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.recognition.temperature import (
    LARGEST_LOSS,
    RANGE,
    SPREAD,
    STEPS,
    best_temperature,
    likely_temperature,
)

Array = NDArray[np.float64]


def scored(seed: int) -> tuple[Array, NDArray[np.int64]]:
    """Scores of some samples and labels; with some seeds, not all labels are scored."""
    rng = np.random.default_rng(seed)
    samples, labels = int(rng.integers(1, 60)), int(rng.integers(2, 120))
    scores, rows = rng.normal(size=(samples, labels)), rng.integers(0, labels, samples)
    scores[np.arange(samples), rows] += rng.uniform(0, 6)
    if seed % 3 == 0:
        unscored = rng.random((samples, labels)) < 0.3
        unscored[np.arange(samples), rows] = False
        scores[unscored] = -np.inf
    return scores, rows


def losses(scores: Array, rows: NDArray[np.int64], temperatures: Array) -> Array:
    own = scores[np.arange(len(rows)), rows][:, None]
    each = [np.logaddexp.reduce((scores - own) / t, axis=1) for t in temperatures]
    return np.array([np.minimum(loss, LARGEST_LOSS).sum() for loss in each])


@pytest.mark.parametrize("seed", range(40))
def test_the_temperature_has_the_smallest_loss_of_all_that_could_be_tried(seed: int) -> None:
    scores, rows = scored(seed)
    assumed = float(np.geomspace(0.01, 3, 40)[seed])
    prior = (np.log(STEPS) / SPREAD) ** 2 / 2
    expected = assumed * STEPS[np.argmin(losses(scores, rows, assumed * STEPS) + prior)]
    assert likely_temperature(scores, rows, assumed) == expected
    expected = assumed * RANGE[np.argmin(losses(scores, rows, assumed * RANGE))]
    assert best_temperature(scores, rows, assumed) == expected


def test_samples_that_are_far_off_do_not_decide_the_temperature_alone() -> None:
    scores, rows = scored(1)
    scores[0, (rows[0] + 1) % scores.shape[1]] = 1e6
    prior = (np.log(STEPS) / SPREAD) ** 2 / 2
    expected = 0.1 * STEPS[np.argmin(losses(scores, rows, 0.1 * STEPS) + prior)]
    assert likely_temperature(scores, rows, 0.1) == expected


def test_without_samples_the_temperature_is_the_assumed_one() -> None:
    assert likely_temperature(np.empty((0, 3)), np.empty(0, np.int64), 0.2) == pytest.approx(0.2)
