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
# In float64, exp(-x) of a larger x is 0.
EXPONENT_OF_ZERO = 800.0


def likely_temperature(scores: Scores, rows: NDArray[np.int64], assumed: float) -> float:
    """Return the maximum a posteriori temperature, with a log-normal prior around `assumed`.

    Without the prior, samples that are all recognised would make the confidence far too high.

    Args:
        scores: The scores of samples, (n, labels).
        rows: The label of each sample.
        assumed: The median of the prior.
    """
    tried, margins = assumed * STEPS, _margins(scores, rows)
    prior = (np.log(STEPS) / SPREAD) ** 2 / 2
    return float(tried[_best_step(margins, tried, prior)])


def best_temperature(scores: Scores, rows: NDArray[np.int64], scale: float) -> float:
    """Return the maximum likelihood temperature.

    Args:
        scores: The scores of samples, (n, labels).
        rows: The label of each sample.
        scale: The size of the scores.
    """
    tried, margins = scale * RANGE, _margins(scores, rows)
    return float(tried[_best_step(margins, tried, np.zeros(len(tried)))])


def _margins(scores: Scores, rows: NDArray[np.int64]) -> Scores:
    """Return the scores relative to those of the own labels: the best ones of each sample."""
    margins: Scores = scores - np.take_along_axis(scores, rows[:, None], axis=1)
    if margins.shape[1] > MOST_RIVALS:
        margins = -np.partition(-margins, MOST_RIVALS, axis=1)[:, :MOST_RIVALS]
    return margins


def _best_step(margins: Scores, tried: Scores, prior: Scores) -> int:
    """Return the index of the temperature with the smallest loss, with the prior added.

    The loss is convex in the inverse temperature, so its tangents are lower bounds. Temperatures
    whose bound is above a known loss are not tried.

    Args:
        margins: The scores relative to those of the own labels.
        tried: The temperatures, ascending.
        prior: What is added to the loss of each.
    """
    inverse = 1 / tried
    # Lower ones count as 0 at every temperature; they may be infinite.
    margins = np.maximum(margins, -EXPONENT_OF_ZERO * tried[-1])
    highest = margins.max(axis=1, initial=0.0)
    most = float(highest.max(initial=0.0)) * inverse[0] + np.log(max(margins.shape[1], 1))
    if most > LARGEST_LOSS:  # the limit of the losses makes them not convex
        losses = [_negative_log_likelihood(margins / temperature) for temperature in tried]
        return int(np.argmin(losses + prior))
    rest = margins - highest[:, None]
    bounds, found = np.full(len(tried), -np.inf), np.full(len(tried), np.inf)
    step, unknown = len(tried) // 2, np.zeros(len(tried))
    while unknown[step] == 0 and (bounds + prior)[step] <= found.min():
        loss, slope = _loss_and_slope(highest, rest, float(inverse[step]))
        found[step], unknown[step] = loss + prior[step], np.inf
        bounds = np.maximum(bounds, loss + slope * (inverse - inverse[step]))
        step = int(np.argmin(bounds + prior + unknown))
    return int(np.argmin(found))


def _loss_and_slope(highest: Scores, rest: Scores, inverse: float) -> tuple[float, float]:
    """Return -sum log softmax of the own labels, and its slope in the inverse temperature.

    Args:
        highest: The highest margin of each sample.
        rest: The margins minus these.
        inverse: The inverse temperature.
    """
    likelihoods = np.exp(inverse * rest)
    sums = likelihoods.sum(axis=1)
    slopes = highest + np.einsum("ij,ij->i", likelihoods, rest) / sums
    return float((inverse * highest + np.log(sums)).sum()), float(slopes.sum())


def _negative_log_likelihood(margins: Scores) -> float:
    """Return -sum log softmax of the own labels, from the logits relative to theirs."""
    highest = margins.max(axis=1, initial=0.0, keepdims=True)
    losses = highest[:, 0] + np.log(np.exp(margins - highest).sum(axis=1))
    return float(np.minimum(losses, LARGEST_LOSS).sum())
