"""How the covariance of a block is shrunk towards the identity: share * S + ridge * identity.

- A number e: (1 - e) S / n + e I, as in the paper (eq. 3).
- `oas`: the oracle approximating shrinkage of Chen et al. 2010, which needs only tr S and tr S^2.
- `stepped`: the same with ridge / share rounded to a step. Between two steps it does not change, so
  the inverse of S + (ridge / share) I can follow each sample.
"""

import math
from dataclasses import dataclass
from typing import Literal

from robocle.classifiers.slda.scatter import Scatter
from robocle.errors import SpecError
from robocle.spec import require_between

Shrinkage = float | Literal["oas", "stepped"]

MIN_SHRINKAGE = 1e-9
STEP = 2**0.5  # the ratio of neighbouring ridges of stepped shrinkage
NEGLIGIBLE = 1e-24  # a scatter below this, relative to the samples, is rounding error
SMALLEST_RIDGE = 1e-13  # relative to the trace: a smaller ridge is lost in rounding


def require_shrinkage(shrinkage: float | str) -> None:
    """Raise SpecError if a shrinkage is neither a number in range nor `oas` or `stepped`."""
    if not isinstance(shrinkage, str):
        require_between("shrinkage", shrinkage, MIN_SHRINKAGE, 1)
    elif shrinkage not in ("oas", "stepped"):
        raise SpecError(f"shrinkage={shrinkage} is unknown: give a number, oas or stepped")


@dataclass(frozen=True)
class Shrunk:
    """The shrunk covariance of a block is share * S + ridge * identity."""

    share: float
    ridge: float

    @property
    def relative(self) -> float:
        """The ridge relative to S: infinite if the covariance is the identity alone."""
        return self.ridge / self.share if self.share else math.inf

    @property
    def scale(self) -> float:
        """What the inverse of S + relative I, or I if that is infinite, is multiplied by."""
        return 1 / self.share if self.share else 1 / self.ridge


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
        found = Shrunk((1 - shrinkage) / samples, shrinkage)
    elif shrinkage == "oas" or trace == 0:
        found = _oas(samples, freedom, scatter.width, trace, scatter.square() if trace else 0.0)
    else:
        found = _stepped(scatter, samples, freedom, trace)
    return Shrunk(found.share, max(found.ridge, SMALLEST_RIDGE * found.share * trace))


def _oas(samples: int, freedom: int, width: int, trace: float, square: float) -> Shrunk:
    if trace == 0:  # no deviation yet: the identity, as NCM
        return Shrunk(0.0, 1.0)
    numerator = (1 - 2 / width) * square + trace**2
    denominator = (freedom + 1 - 2 / width) * (square - trace**2 / width)
    # With a width of 1, there is nothing to shrink towards: what remains is rounding error.
    rho = min(1.0, numerator / denominator) if denominator > 0 and width > 1 else 1.0
    return Shrunk((1 - rho) / samples, rho * trace / samples / width)


def _stepped(scatter: Scatter, samples: int, freedom: int, trace: float) -> Shrunk:
    exact = [_oas(samples, freedom, scatter.width, trace, each) for each in scatter.squares()]
    if len({_step(each) for each in exact}) > 1:  # the bounds of tr S^2 are too wide
        exact = [_oas(samples, freedom, scatter.width, trace, scatter.square())]
    step = _step(exact[0])
    if step is None:
        return exact[0]
    # The mean variance stays that of S, as in OAS.
    ridge = STEP**step
    share = trace / (trace + ridge * scatter.width) / samples
    return Shrunk(share, share * ridge)


def _step(exact: Shrunk) -> int | None:
    """Return the number of the step; None if there is no ridge or no share."""
    if not (exact.share and exact.ridge):
        return None
    return round(math.log(exact.relative) / math.log(STEP))
