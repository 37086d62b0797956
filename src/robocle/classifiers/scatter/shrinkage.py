"""Shrinkage of a covariance estimated from few samples towards a multiple of the identity.

The intensity is either fixed (the paper's epsilon, towards the identity itself), or the oracle
approximating shrinkage (OAS) of Chen, Wiesel, Eldar & Hero, "Shrinkage algorithms for MMSE
covariance estimation" (2010), eq. 23, towards the mean variance times the identity. Both need only
traces of the scatter, so they are exact for streaming samples.

OAS moves the ridge with every sample, and a ridge that moves forces a new factorisation. `stepped`
is OAS with the ridge, relative to the scatter, rounded to a power of the square root of 2.
It depends on the traces alone, like OAS, so it is the same for every order of samples. Bounds of
tr S^2 suffice to know the step, unless it lies between them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.state import Vector
from robocle.errors import SpecError
from robocle.spec import require_between

MIN_SHRINKAGE = 1e-9
# A scatter below this, relative to the squared means, is the rounding error of identical pictures.
NEGLIGIBLE = 1e-24
# In float64, a ridge below this, relative to the trace of the covariance, is lost in rounding.
SMALLEST_RIDGE = 1e-13


# The ratio of neighbouring ridges of stepped shrinkage: a ridge changes by at most 19 %.
STEP = 2**0.5

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Regulariser:
    """The shrunk covariance is `share * S + ridge * identity`."""

    share: float
    ridge: float


def fixed(shrinkage: float, samples: int) -> Regulariser:
    """Return the paper's regulariser: (1 - shrinkage) S / samples + shrinkage * identity."""
    return Regulariser((1 - shrinkage) / samples, shrinkage)


def oracle_approximating(
    samples: int, freedom: int, width: int, trace: float, square: float
) -> Regulariser:
    """Return the regulariser of Chen et al.

    Args:
        samples: The number of samples taught.
        freedom: The degrees of freedom: the number of independent deviations summed in S.
        width: The width of S.
        trace: tr S.
        square: tr S^2.
    """
    if trace == 0:  # no deviation yet: use the identity, as NCM does
        return Regulariser(0.0, 1.0)
    numerator = (1 - 2 / width) * square + trace**2
    denominator = (freedom + 1 - 2 / width) * (square - trace**2 / width)
    # With a width of 1, there is nothing to shrink towards: what remains is rounding error.
    rho = min(1.0, numerator / denominator) if denominator > 0 and width > 1 else 1.0
    return Regulariser((1 - rho) / samples, rho * trace / samples / width)


def stepped(
    samples: int, freedom: int, width: int, trace: float, squares: Callable[[], Bounds]
) -> Regulariser:
    """Return the regulariser of Chen et al. with the ridge, relative to S, rounded to a step.

    Args:
        samples: The number of samples taught.
        freedom: The degrees of freedom, as in `oracle_approximating`.
        width: The width of S.
        trace: tr S.
        squares: Returns bounds of tr S^2: bounds that are equal after one that was too wide.

    >>> stepped(10, 9, 4, 20.0, lambda: (200.0, 200.0))
    Regulariser(share=0.0469..., ridge=0.2654...)
    """
    low, high = squares()
    found = {
        _step(oracle_approximating(samples, freedom, width, trace, square))
        for square in (low, high)
    }
    if len(found) > 1:
        return stepped(samples, freedom, width, trace, squares)
    (steps,) = found
    if steps is None:
        return oracle_approximating(samples, freedom, width, trace, low)
    # The mean variance stays that of S, as in OAS.
    ridge = STEP**steps
    share = trace / (trace + ridge * width) / samples
    return Regulariser(share, share * ridge)


def _step(exact: Regulariser) -> int | None:
    """Return the number of the step; None if there is no ridge or no share."""
    if not (exact.share and exact.ridge):
        return None
    return round(math.log(exact.ridge / exact.share) / math.log(STEP))


def require_shrinkage(shrinkage: float | str) -> None:
    """Raise SpecError if a shrinkage is neither a number in range nor `oas` or `stepped`."""
    if not isinstance(shrinkage, str):
        require_between("shrinkage", shrinkage, MIN_SHRINKAGE, 1)
    elif shrinkage not in ("oas", "stepped"):
        raise SpecError(f"shrinkage={shrinkage} is unknown: give a number, oas or stepped")


def regularised(
    form: ScatterForm, power: Vector, shrinkage: float | str, samples: int, freedom: int
) -> tuple[float, Vector]:
    """Return the weight of the scatter and the ridge of each block in the shrunk covariance.

    Scaling the blocks by g turns s S + e I into s G S G + e I, which is equivalent to using the
    ridge e / g^2.

    Args:
        form: The scatter.
        power: g^2 of each block.
        shrinkage: A number, `oas`, or `stepped`.
        samples: The number of samples taught.
        freedom: The degrees of freedom, as in `oracle_approximating`.
    """
    trace = float(form.traces() @ power)
    least = NEGLIGIBLE * samples * float(power.max())
    if trace <= least * form.square_limit() and trace <= least * form.largest_square():
        trace = 0.0
    if shrinkage == "stepped" and form.blocks == 1:
        bounds = partial(_square_bounds, form, float(power[0]) ** 2)
        shrunk = stepped(samples, freedom, form.width, trace, bounds)
    elif isinstance(shrinkage, str):
        square = float(power @ form.squares() @ power)
        shrunk = oracle_approximating(samples, freedom, form.width, trace, square)
    else:
        shrunk = fixed(shrinkage, samples)
    ridge = max(shrunk.ridge, SMALLEST_RIDGE * shrunk.share * trace)
    return shrunk.share, ridge / power


def _square_bounds(form: ScatterForm, power: float) -> Bounds:
    low, high = form.square_bounds()
    return power * low, power * high
