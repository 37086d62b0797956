"""The weight of the earlier map's blocks in cosine scores, estimated from what was taught.

The last map carries what makes a mug, the earlier map what tells one mug from another. How much the
earlier map helps depends on what is taught: similar objects that are seen again, or kinds of
objects. The samples themselves tell: each candidate weight is judged by the likelihood of the
labels of left-out samples. The estimate is a mean of the candidates under their posterior
probability, so it changes smoothly with every sample. Without samples that can be left out, it is
the prior's mean.
"""

import numpy as np

from robocle.classifiers.samples import Vector
from robocle.classifiers.slda.left_out import LeftOut
from robocle.errors import SpecError
from robocle.spec import require_between

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
MAX_WEIGHT = 16


def _mean(probabilities: Vector) -> float:
    """Return the mean of the candidates by their roots: the largest do not dominate it."""
    return float((probabilities @ np.sqrt(CANDIDATES) / probabilities.sum()) ** 2)


PRIOR_WEIGHT = _mean(PRIOR)
"""The weight of the earlier map's blocks before any sample can be left out."""


def require_weight(weight: float | str) -> None:
    """Raise SpecError if a weight is neither a number in range nor `auto`."""
    if not isinstance(weight, str):
        require_between("earlier", weight, 0, MAX_WEIGHT)
    elif weight != "auto":
        raise SpecError(f"earlier={weight} is unknown: give a number or auto")


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
