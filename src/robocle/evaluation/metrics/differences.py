"""The difference of two methods on the same pictures, with its confidence interval.

Both methods learn the same orderings and are tested on the same pictures, so whatever makes an
ordering or a picture hard is the same for both, and only the difference counts. The interval is
that of a bootstrap over orderings and pictures: both are drawn with replacement, independently of
each other, since most pictures are tested in several orderings (Owen 2007, the pigeonhole
bootstrap).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robocle._internal.randomness import keyed_rng
from robocle.evaluation.metrics.recognition import mean

REPLICATES = 2000
LEVEL = 95
"""The percentage of the replicates that the interval contains."""
NOT_TESTED = 2
NUMBERS_AT_ONCE = 4_000_000


class Paired(NamedTuple):
    """The predictions of two methods in one ordering: one value per test picture each."""

    places: NDArray[np.int64]
    """Which picture of the data set it is."""
    baseline: NDArray[np.bool_]
    """Whether the method that is compared with predicts it right."""
    achieved: NDArray[np.bool_]
    """Whether the method itself does."""


class Difference(NamedTuple):
    """The difference in accuracy in percentage points, and its confidence interval."""

    mean: float
    low: float
    high: float


def paired_difference(orderings: Sequence[Paired]) -> Difference:
    """Return by how much a method is more accurate than another, averaged over the orderings.

    Args:
        orderings: The predictions of both methods in each ordering. With one ordering, the interval
            is about other pictures, not about other orderings.

    Example:
        >>> one = Paired(np.arange(4), np.array([1, 0, 0, 1], bool), np.array([1, 1, 1, 1], bool))
        >>> paired_difference([one, one])
        Difference(mean=50.0, low=0.0, high=100.0)
    """
    gained = [each.achieved.astype(np.int8) - each.baseline for each in orderings]
    pictures = np.unique(np.concatenate([each.places for each in orderings]))
    table = np.full((len(pictures), len(orderings)), NOT_TESTED, np.int8)
    for column, (each, its_gain) in enumerate(zip(orderings, gained, strict=True)):
        table[np.searchsorted(pictures, each.places), column] = its_gain
    low, high = np.percentile(_replicates(table), [50 - LEVEL / 2, 50 + LEVEL / 2])
    return Difference(mean([100 * each.mean() for each in gained]), float(low), float(high))


def _replicates(table: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the mean difference of each draw of pictures (rows) and orderings (columns).

    Pictures with the same differences in all orderings are alike, so it is enough to draw how often
    each pattern comes.
    """
    patterns, counts = np.unique(table, axis=0, return_counts=True)
    is_tested = (patterns != NOT_TESTED).astype(np.float64)
    gained = np.where(is_tested, patterns, 0).astype(np.float64)
    pictures, orderings = table.shape
    rng = keyed_rng(0, "paired difference", pictures, orderings)
    found: list[NDArray[np.float64]] = []
    at_once = max(1, NUMBERS_AT_ONCE // len(patterns))
    for start in range(0, REPLICATES, at_once):
        size = min(at_once, REPLICATES - start)
        drawn = rng.multinomial(pictures, counts / pictures, size)
        weights = rng.multinomial(orderings, [1 / orderings] * orderings, size).astype(np.float64)
        tested = drawn @ is_tested
        weights *= tested > 0  # a draw may contain no picture of an ordering
        of_each = 100 * (drawn @ gained) / np.maximum(tested, 1)
        found.append((weights * of_each).sum(1) / np.maximum(weights.sum(1), 1))
    return np.concatenate(found)
