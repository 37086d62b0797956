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
