"""The weight of the earlier map's blocks in cosine scores, estimated from what was taught.

The last map carries what makes a mug, the earlier map what tells one mug from another. How much the
earlier map helps depends on what is taught: similar objects that are seen again, or kinds of
objects. The samples themselves tell: each candidate weight is judged by the likelihood of the
labels of left-out samples. The estimate is a mean of the candidates under their posterior
probability, so it changes smoothly with every sample. Without samples that can be left out, it is
the prior's mean.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.scatter.leave_one_out import LeftOutSamples
from robocle.classifiers.scatter.left_out_products import CosineParts
from robocle.classifiers.state import Matrix, Vector
from robocle.errors import SpecError
from robocle.spec import require_between

CANDIDATES = np.array([0, 0.125, 0.25, 0.5, 1, 2, 4])
# Large weights are less probable: they cost most if other objects of a kind are shown.
PRIOR = np.array([1, 1, 1, 1, 1, 0.5, 0.25])
# A left-out sample stands for as many of the taught samples, but at most for this many: the frames
# of a video are alike and add little.
MOST_ALIKE = 4
# The likelihood compares a sample's own label with this many others, those with the best scores.
RIVALS = 31
MAX_WEIGHT = 16
# The temperature of the softmax, relative to the mean score of the sample's own label. It is not
# fitted: where almost all left-out samples are recognised, a fitted one sees only the others.
TEMPERATURE = 0.1


def require_weight(weight: float | str) -> None:
    """Raise SpecError if a weight is neither a number in range nor `auto`."""
    if not isinstance(weight, str):
        require_between("earlier", weight, 0, MAX_WEIGHT)
    elif weight != "auto":
        raise SpecError(f"earlier={weight} is unknown: give a number or auto")


def estimated_weight(samples: LeftOutSamples | None, last: int, taught: int) -> float:
    """Return the weight of the earlier map's blocks.

    Args:
        samples: Left-out samples; None if there are none.
        last: How many of the blocks are from the last map. The others are from the earlier map.
        taught: The number of taught samples of which these were chosen.
    """
    usable = ~samples.singleton if samples is not None else np.zeros(0, bool)
    if samples is None or not usable.any() or samples.classes < 2:
        return prior_weight()
    # Without a world: what all classes have in common says nothing about the labels.
    parts = samples.without_world
    groups = [_added(parts[:last]), _added(parts[last:])]
    places = samples.places[usable]
    scored = (samples.column_scores(groups, (1.0, weight))[usable] for weight in CANDIDATES)
    losses = np.array([_loss(scores, places) for scores in scored])
    alike = min(max(taught / np.count_nonzero(usable), 1), MOST_ALIKE)
    return _mean(PRIOR * np.exp(alike * (losses.min() - losses)))


def prior_weight() -> float:
    """Return the weight of the earlier map's blocks before any sample can be left out."""
    return _mean(PRIOR)


def _mean(probabilities: Vector) -> float:
    """Return the mean of the candidates by their roots: the largest do not dominate it."""
    return float((probabilities @ np.sqrt(CANDIDATES) / probabilities.sum()) ** 2)


def _added(blocks: Sequence[CosineParts]) -> CosineParts:
    return CosineParts(
        np.sum([block.numerators for block in blocks], axis=0),
        np.sum([block.squares for block in blocks], axis=0),
        sum(block.largest for block in blocks),
    )


def _loss(scores: Matrix, places: NDArray[np.int64]) -> float:
    """Return the negative log likelihood of the labels, which are in these columns."""
    own, margins = _margins(scores, places)
    temperature = max(TEMPERATURE * float(np.abs(own).mean()), 1e-300)
    return float(np.logaddexp.reduce(margins / temperature, axis=1, initial=0.0).sum())


def _margins(scores: Matrix, places: NDArray[np.int64]) -> tuple[Vector, Matrix]:
    """Return the scores of the own labels, and how far the best others lie above them."""
    place = np.arange(len(places)), places
    own = scores[place]
    others = scores.copy()
    others[place] = -np.inf
    if others.shape[1] > RIVALS + 1:
        others = -np.partition(-others, RIVALS, axis=1)[:, : RIVALS + 1]
    return own, others - own[:, None]
