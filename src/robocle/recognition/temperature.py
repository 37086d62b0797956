"""The temperature of the softmax over scores, fitted to samples whose labels are known."""

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.softmax import softmax
from robocle.types import Scores

# The spread of the logarithm of the temperature's prior.
SPREAD = 0.5
STEPS = np.exp(np.linspace(-2, 2, 41))
# Temperatures to try without a prior, relative to the scale of the scores.
RANGE = np.geomspace(0.002, 1, 61)


def likely_temperature(scores: Scores, rows: NDArray[np.int64], assumed: float) -> float:
    """Return the maximum a posteriori temperature, with a log-normal prior around `assumed`.

    Without the prior, samples that are all recognised would make the confidence far too high.

    Args:
        scores: The scores of samples, (n, labels).
        rows: The label of each sample.
        assumed: The median of the prior.
    """
    tried = assumed * STEPS
    losses = [_negative_log_likelihood(scores / temperature, rows) for temperature in tried]
    prior = (np.log(STEPS) / SPREAD) ** 2 / 2
    return float(tried[np.argmin(losses + prior)])


def best_temperature(scores: Scores, rows: NDArray[np.int64], scale: float) -> float:
    """Return the maximum likelihood temperature.

    Args:
        scores: The scores of samples, (n, labels).
        rows: The label of each sample.
        scale: The size of the scores.
    """
    tried = scale * RANGE
    losses = [_negative_log_likelihood(scores / temperature, rows) for temperature in tried]
    return float(tried[np.argmin(losses)])


def _negative_log_likelihood(logits: Scores, rows: NDArray[np.int64]) -> float:
    own = softmax(logits)[np.arange(len(rows)), rows]
    return -float(np.log(np.maximum(own, 1e-300)).sum())
