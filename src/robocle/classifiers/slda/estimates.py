"""What is estimated from the samples: the shrinkage, and the weight of the earlier map.

The covariance of a block is shrunk towards the identity: share * S + ridge * identity.
- A number e: (1 - e) S / n + e I, as in the paper (eq. 3).
- `oas`: the oracle approximating shrinkage of Chen et al. 2010, which needs only tr S and tr S^2.
- `stepped`: the same with ridge / share rounded to a step. Between two steps it does not change, so
  the inverse of S + (ridge / share) I can follow each sample.

The last map carries what makes a mug, the earlier map what tells one mug from another. How much the
earlier map helps depends on what is taught: similar objects that are seen again, or kinds of
objects. Each candidate weight is judged by the likelihood of the labels of left-out samples. The
estimate is a mean of the candidates under their posterior probability, so it changes smoothly with
every sample. Without samples that can be left out, it is the prior's mean.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from robocle.classifiers.samples import Vector
from robocle.classifiers.scatter import Scatter
from robocle.classifiers.slda.left_out import LeftOut

Shrinkage = float | Literal["oas", "stepped"]

STEP = 2**0.5  # the ratio of neighbouring ridges of stepped shrinkage
NEGLIGIBLE = 1e-24  # a scatter below this, relative to the samples, is rounding error
SMALLEST_RIDGE = 1e-13  # relative to the trace: a smaller ridge is lost in rounding

CANDIDATES = np.array([0, 0.125, 0.25, 0.5, 1, 2, 4])
# Large weights are less probable: they cost most if other objects of a kind are shown.
PRIOR = np.array([1, 1, 1, 1, 1, 0.5, 0.25])
# A left-out sample stands for as many of the taught samples, but at most for this many: the frames
# of a video are alike and add little.
MOST_ALIKE = 4
# The likelihood compares a sample's own label with this many others, those with the best scores.
RIVALS = 32
# The temperature of the softmax, relative to the mean score of the sample's own label. It is not
# fitted: where almost all left-out samples are recognised, a fitted one sees only the others.
TEMPERATURE = 0.1


@dataclass(frozen=True)
class Shrunk:
    """The inverse of the shrunk covariance of a block is scale * (S + ridge I)^-1."""

    ridge: float
    """It is infinite if the covariance is a multiple of the identity; the inverse is scale * I."""
    scale: float


def shrunk(
    scatter: Scatter, shrinkage: Shrinkage, samples: int, freedom: int, largest: float
) -> Shrunk:
    """Return the shrunk covariance of a block.

    Args:
        scatter: The scatter S.
        shrinkage: The weight of the identity, `oas`, or `stepped`.
        samples: The number of samples taught.
        freedom: The degrees of freedom: the number of independent deviations summed in S.
        largest: The largest squared length of a sample.
    """
    trace = scatter.trace if scatter.trace > NEGLIGIBLE * samples * largest else 0.0
    if not isinstance(shrinkage, str):
        share, ridge = (1 - shrinkage) / samples, shrinkage
    elif trace == 0:  # no deviation yet: the identity, as NCM
        share, ridge = 0.0, 1.0
    elif shrinkage == "oas":
        share, ridge = _oas(samples, freedom, scatter.width, trace, scatter.square())
    else:
        share, ridge = _stepped(scatter, samples, freedom, trace)
    if share == 0:
        return Shrunk(math.inf, 1 / ridge)
    return Shrunk(max(ridge / share, SMALLEST_RIDGE * trace), 1 / share)


def _oas(
    samples: int, freedom: int, width: int, trace: float, square: float
) -> tuple[float, float]:
    """Return share and ridge of the covariance share * S + ridge * identity."""
    numerator = (1 - 2 / width) * square + trace**2
    denominator = (freedom + 1 - 2 / width) * (square - trace**2 / width)
    # With a width of 1, there is nothing to shrink towards: what remains is rounding error.
    rho = min(1.0, numerator / denominator) if denominator > 0 and width > 1 else 1.0
    return (1 - rho) / samples, rho * trace / samples / width


def _stepped(scatter: Scatter, samples: int, freedom: int, trace: float) -> tuple[float, float]:
    exact = [_oas(samples, freedom, scatter.width, trace, each) for each in scatter.squares()]
    if _step(*exact[0]) != _step(*exact[1]):  # the bounds of tr S^2 are too wide
        exact = [_oas(samples, freedom, scatter.width, trace, scatter.square())]
    step = _step(*exact[0])
    if step is None:
        return exact[0]
    # The mean variance stays that of S, as in OAS.
    ridge = STEP**step
    share = trace / (trace + ridge * scatter.width) / samples
    return share, share * ridge


def _step(share: float, ridge: float) -> int | None:
    """Return the number of the step; None if there is no ridge or no share."""
    if not (share and ridge):
        return None
    return round(math.log(ridge / share) / math.log(STEP))


def _mean(probabilities: Vector) -> float:
    """Return the mean of the candidates by their roots: the largest do not dominate it."""
    return float((probabilities @ np.sqrt(CANDIDATES) / probabilities.sum()) ** 2)


PRIOR_WEIGHT = _mean(PRIOR)
"""The weight of the earlier map's blocks before any sample can be left out."""


def estimated_weight(samples: LeftOut | None, taught: int) -> float:
    """Return the weight of the earlier map's blocks.

    Args:
        samples: Left-out samples, with blocks of both maps; None if there are none.
        taught: The number of taught samples of which these were chosen.
    """
    usable = ~samples.singleton if samples is not None else np.zeros(0, bool)
    if samples is None or not usable.any() or samples.classes < 2:
        return PRIOR_WEIGHT
    losses = _losses(samples)
    alike = min(max(taught / np.count_nonzero(usable), 1), MOST_ALIKE)
    return _mean(PRIOR * np.exp(alike * (losses.min() - losses)))


def _losses(samples: LeftOut) -> Vector:
    """Return the negative log likelihood of the samples' labels with each of the candidates."""
    weights = np.stack([np.ones(len(CANDIDATES)), CANDIDATES], axis=1)
    usable = ~samples.singleton
    scores = samples.products.scores(weights)[:, usable]
    place = np.s_[:, np.arange(scores.shape[1]), samples.places[usable]]
    own = scores[place][..., None]
    others = -scores
    others[place] = np.inf
    if others.shape[2] > RIVALS:
        others.partition(RIVALS - 1, axis=2)
        others = others[..., :RIVALS]
    temperature = np.maximum(TEMPERATURE * np.abs(own).mean(axis=(1, 2)), 1e-300)
    margins = (-others - own) / temperature[:, None, None]
    highest = margins.max(axis=2, initial=0.0)
    # The margin of the own label is 0.
    rest = np.exp(margins - highest[..., None]).sum(axis=2) + np.exp(-highest)
    losses: Vector = (highest + np.log(rest)).sum(axis=1)
    return losses
