"""The weight of the earlier map's blocks in cosine scores, estimated from what was taught.

The last map carries what makes a mug, the earlier map what tells one mug from another. How much the
earlier map helps depends on what is taught: similar things that are met again, or kinds of things.
The samples themselves tell: each candidate weight is judged by the likelihood of the labels of
left-out samples. The estimate is the mean of the candidates under their posterior probability, so
it changes smoothly with every sample. Without samples that can be left out, it is the prior's mean.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.leave_one_out import LeftOutSamples
from robocle.classifiers.scatter.left_out_products import CosineParts, cosine_scores
from robocle.classifiers.state import Matrix, Vector
from robocle.errors import SpecError
from robocle.spec import require_between

CANDIDATES = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0)
PRIOR = np.array([1, 2, 4, 4, 2, 1]) / 14
PRIOR_MEAN = float(PRIOR @ np.array(CANDIDATES))
# The likelihood compares a sample's own label with this many others, those with the best scores.
RIVALS = 31
MAX_WEIGHT = 16
# Temperatures of the softmax, relative to the mean score of the sample's own label.
TEMPERATURES = np.geomspace(0.01, 1, 21)


def require_weight(weight: float | str) -> None:
    """Raise SpecError if a weight is neither a number in range nor `auto`."""
    if not isinstance(weight, str):
        require_between("earlier", weight, 0, MAX_WEIGHT)
    elif weight != "auto":
        raise SpecError(f"earlier={weight} is unknown: give a number or auto")


def estimated_weight(samples: LeftOutSamples | None, last: int) -> float:
    """Return the weight of the earlier map's blocks.

    Args:
        samples: Left-out samples; None if there are none.
        last: How many of the blocks are from the last map. The others are from the earlier map.
    """
    usable = ~samples.singleton if samples is not None else np.zeros(0, bool)
    if samples is None or not usable.any() or samples.classes < 2:
        return PRIOR_MEAN
    groups = [_added(samples.alone[:last]), _added(samples.alone[last:])]
    rows = samples.rows[usable]
    scored = (cosine_scores(groups, (1.0, weight))[usable] for weight in CANDIDATES)
    losses = [_loss(scores[:, : samples.classes], rows) for scores in scored]
    logarithms = np.log(PRIOR) - losses
    posterior = np.exp(logarithms - logarithms.max())
    return float(posterior @ CANDIDATES / posterior.sum())


def _added(blocks: Sequence[CosineParts]) -> CosineParts:
    return CosineParts(
        np.sum([block.numerators for block in blocks], axis=0),
        np.sum([block.squares for block in blocks], axis=0),
        sum(block.largest for block in blocks),
    )


def _loss(scores: Matrix, rows: NDArray[np.int64]) -> float:
    """Return the negative log likelihood of the labels, at the temperature that fits best."""
    own, margins = _margins(scores, rows)
    scale = max(float(np.abs(own).mean()), 1e-300)
    with np.errstate(over="ignore"):  # an infinite loss is not the smallest
        fits = [np.log1p(np.exp(margins / (scale * t)).sum(axis=1)).sum() for t in TEMPERATURES]
    return float(min(fits))


def _margins(scores: Matrix, rows: NDArray[np.int64]) -> tuple[Vector, Matrix]:
    """Return the scores of the own labels, and how far the best others lie above them."""
    place = np.arange(len(rows)), rows
    own = scores[place]
    others = scores.copy()
    others[place] = -np.inf
    if others.shape[1] > RIVALS + 1:
        others = -np.partition(-others, RIVALS, axis=1)[:, : RIVALS + 1]
    return own, others - own[:, None]
