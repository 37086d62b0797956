"""Explanations: why a picture got its label, or why it was called unknown.

The heat map shows where in the picture the evidence for the nearest label lies. The evidence is the
score or, with a world, what the label adds to the familiarity. Both are linear in the embedding.
The first block of the embedding is the mean of the feature map over its positions, so each position
has an exact share in that block's part. The other blocks are moments, which cannot be divided among
positions, and are left out.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocle.backbones.world import World
from robocle.classifiers import StreamingClassifier
from robocle.classifiers.samples import Vector
from robocle.errors import InexactError, NothingTaughtError
from robocle.poolings import Pooling
from robocle.poolings.focus import Focus, window_weights
from robocle.poolings.moments import Moments
from robocle.poolings.plain import Average
from robocle.recognition.decision import Decision
from robocle.types import Prediction, numbers_of


@dataclass(frozen=True, eq=False)
class Explanation:
    """A prediction, and what led to it."""

    prediction: Prediction
    confidences: dict[str, float]
    """The confidences of the nearest labels, the best first."""
    others: float
    """The probability of all other labels."""
    unknown_probability: float
    """The probability of an unknown object. With `confidences` and `others`, the sum is 1."""
    reason: str
    """Why the picture was called unknown, in a sentence; empty if it was recognised."""
    heat: NDArray[np.float32] | None
    """Where the evidence for the nearest label is, from 0 to 1, on the grid of the feature map
    (rows, columns); None if the pooling or the classifier cannot tell."""


def explanation(
    prediction: Prediction,
    decision: Decision | None,
    false_accept: float,
    top: int,
    heat: NDArray[np.float32] | None,
) -> Explanation:
    """Return the explanation of a prediction.

    Args:
        prediction: The prediction.
        decision: The decision of the learner.
        false_accept: The rate that the prediction was made with.
        top: How many labels to name.
        heat: The heat map of the nearest label, if there is one.
    """
    nearest = dict(prediction.top(top))
    known = numbers_of(prediction, "confidences").total()
    rest = max(0.0, known - sum(nearest.values()))
    reason = "" if prediction.label is not None else _reason(prediction, decision, false_accept)
    return Explanation(prediction, nearest, rest, prediction.unknown_probability, reason, heat)


def _reason(prediction: Prediction, decision: Decision | None, false_accept: float) -> str:
    if prediction.nothing:
        return f"there is nothing to see: {prediction.nothing}"
    if decision is None:  # another thread has changed the learner meanwhile
        return "it is unlike all taught objects"
    nearest, found = prediction.nearest, prediction.familiarity
    facts = f"its familiarity is {found:.1f}, below {decision.threshold(false_accept):.1f}"
    # What is too familiar to be unrelated may still be below the bound of a strict rate.
    shares = [
        pictures.share_above(found)
        for pictures in decision.unrelated
        if found < pictures.bound(false_accept)
    ]
    if shares and max(shares) > 0:
        more = f"{max(shares):.0%} of unrelated pictures look more like a taught object"
        return f"{nearest!r} is nearest, but {more}: {facts}"
    if shares:
        return f"{nearest!r} is nearest, but the rate {false_accept} demands more: {facts}"
    return (
        f"{nearest!r} is nearest, but other objects of the same scene look as much like it: {facts}"
    )


def heat_of(
    classifier: StreamingClassifier,
    label: str,
    pooling: Pooling,
    grid: NDArray[np.float32],
    world: World | None,
    share: float = 1.0,
) -> NDArray[np.float32] | None:
    """Return where in a picture the evidence for a label is.

    Args:
        classifier: The classifier.
        label: The label.
        pooling: The pooling.
        grid: The feature map of the picture, (positions, channels).
        world: The world of the classifier, if it has one.
        share: The side of what the feature map covers, relative to the side of the picture.

    Returns:
        A map (rows, columns) from 0 to 1; None if the pooling has no mean, the map is no square, or
        the classifier has no linear scores.
    """
    try:
        rows, bias = classifier.linear()
    except (InexactError, NothingTaughtError):
        return None
    if label not in classifier.labels:  # another thread has forgotten it meanwhile
        return None
    answer = classifier.answer()
    familiarity = answer.familiarity() if answer is not None else None
    rows = familiarity.linear(rows, bias)[0] if familiarity else rows
    anything = world.pictures.mean(axis=0, dtype=np.float64) if world else None
    shares = position_shares(pooling, grid, rows[classifier.labels.index(label)], anything)
    side = math.isqrt(len(grid))
    if shares is None or side * side != len(grid):
        return None
    positive = np.maximum(shares, 0)
    heat = (positive / (positive.max() or 1)).astype(np.float32)
    return in_picture(heat.reshape(side, side), share)


def in_picture(heat: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    """Return a heat map of a look at the centre of a picture as one of the whole picture.

    Args:
        heat: The heat map, (rows, columns).
        share: The side of what the look covers, relative to the side of the picture.

    >>> in_picture(np.ones((4, 4), np.float32), 0.5).tolist()[1]
    [0.0, 1.0, 1.0, 0.0]
    """
    side = len(heat)
    places = ((np.arange(side) + 0.5) / side - 0.5) / share + 0.5
    inside = np.flatnonzero((places >= 0) & (places < 1))
    seen = np.ix_(*2 * [(places[inside] * side).astype(int)])
    whole = np.zeros_like(heat)
    whole[np.ix_(inside, inside)] = heat[seen]
    return whole


def position_shares(
    pooling: Pooling, grid: NDArray[np.float32], weights: Vector, anything: Vector | None = None
) -> Vector | None:
    """Return the share of each position in the score: their sum is the mean block's part of it.

    Args:
        pooling: The pooling.
        grid: The feature map of the picture, (positions, channels).
        weights: The row of W of the label, (width,).
        anything: The world's mean embedding, (width,), whose score is subtracted.

    Returns:
        The shares, (positions,); None if the pooling has no mean.
    """
    counts = _position_weights(pooling, len(grid))
    if counts is None:
        return None
    own = weights[: grid.shape[1]]
    shares: Vector = counts * (grid.astype(np.float64) @ own)
    if anything is not None:
        shares -= counts * float(anything[: grid.shape[1]] @ own)
    return shares


def _position_weights(pooling: Pooling, positions: int) -> Vector | None:
    """Return the weight of each position in the mean, the embedding's first block, if it is one."""
    if isinstance(pooling, Focus):
        window = window_weights(positions, pooling.window)
        return window if window is not None else np.full(positions, 1 / positions)
    if isinstance(pooling, Average | Moments):
        return np.full(positions, 1 / positions)
    return None
