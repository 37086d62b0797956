"""The temperature of the softmax over scores, fitted to samples whose labels are known."""

import numpy as np
from numpy.typing import NDArray

from robocle.types import Scores

# The spread of the logarithm of the temperature's prior.
SPREAD = 0.5
STEPS = np.exp(np.linspace(-2, 2, 41))
# Temperatures to try without a prior, relative to the scale of the scores.
RANGE = np.geomspace(0.002, 1, 61)
# The temperature is fitted to the scores of this many labels, the best ones of each sample.
MOST_RIVALS = 128
# A sample whose label is as unlikely as this does not decide the temperature alone.
LARGEST_LOSS = 690.0


def likely_temperature(scores: Scores, rows: NDArray[np.int64], assumed: float) -> float:
    """Return the maximum a posteriori temperature, with a log-normal prior around `assumed`.

    Without the prior, samples that are all recognised would make the confidence far too high.

    Args:
        scores: The scores of samples, (n, labels).
        rows: The label of each sample.
        assumed: The median of the prior.
    """
    tried, margins = assumed * STEPS, _margins(scores, rows)
    losses = [_negative_log_likelihood(margins / temperature) for temperature in tried]
    prior = (np.log(STEPS) / SPREAD) ** 2 / 2
    return float(tried[np.argmin(losses + prior)])


def best_temperature(scores: Scores, rows: NDArray[np.int64], scale: float) -> float:
    """Return the maximum likelihood temperature.

    Args:
        scores: The scores of samples, (n, labels).
        rows: The label of each sample.
        scale: The size of the scores.
    """
    tried, margins = scale * RANGE, _margins(scores, rows)
    losses = [_negative_log_likelihood(margins / temperature) for temperature in tried]
    return float(tried[np.argmin(losses)])


def _margins(scores: Scores, rows: NDArray[np.int64]) -> Scores:
    """Return the scores relative to those of the own labels: the best ones of each sample."""
    margins: Scores = scores - np.take_along_axis(scores, rows[:, None], axis=1)
    if margins.shape[1] > MOST_RIVALS:
        margins = -np.partition(-margins, MOST_RIVALS, axis=1)[:, :MOST_RIVALS]
    return margins


def _negative_log_likelihood(margins: Scores) -> float:
    """Return -sum log softmax of the own labels, from the logits relative to theirs."""
    highest = margins.max(axis=1, initial=0.0, keepdims=True)
    losses = highest[:, 0] + np.log(np.exp(margins - highest).sum(axis=1))
    return float(np.minimum(losses, LARGEST_LOSS).sum())
