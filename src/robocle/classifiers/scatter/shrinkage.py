"""Shrinkage of a covariance estimated from few samples towards a multiple of the identity.

The intensity is either fixed (the paper's epsilon, towards the identity itself), or the oracle
approximating shrinkage (OAS) of Chen, Wiesel, Eldar & Hero, "Shrinkage algorithms for MMSE
covariance estimation" (2010), eq. 23, towards the mean variance times the identity. Both need only
traces of the scatter, so they are exact for streaming samples.

OAS moves the ridge with every sample, and a ridge that moves forces a new factorisation. `stepped`
is OAS with the ridge, relative to the scatter, rounded to steps of a fifth on a logarithmic scale.
It depends on the traces alone, like OAS, so it is the same for every order of samples.
"""

import math
from dataclasses import dataclass

from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.state import Vector
from robocle.errors import SpecError
from robocle.spec import require_between

MIN_SHRINKAGE = 1e-9
# A scatter below this, relative to the squared means, is the rounding error of identical pictures.
NEGLIGIBLE = 1e-24
# In float64, a ridge below this, relative to the trace of the covariance, is lost in rounding.
SMALLEST_RIDGE = 1e-13


# The ratio of neighbouring ridges of stepped shrinkage: a ridge changes by at most 9 %.
STEP = 2**0.25


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
    rho = min(1.0, numerator / denominator) if denominator > 0 else 1.0
    return Regulariser((1 - rho) / samples, rho * trace / samples / width)


def stepped(exact: Regulariser) -> Regulariser:
    """Return a regulariser whose ridge, relative to its share, is rounded to a step.

    >>> stepped(Regulariser(0.5, 0.51))
    Regulariser(share=0.5, ridge=0.5)
    """
    if not (exact.share and exact.ridge):
        return exact
    steps = round(math.log(exact.ridge / exact.share) / math.log(STEP))
    return Regulariser(exact.share, exact.share * STEP**steps)


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
    if trace <= NEGLIGIBLE * samples * form.largest_square() * float(power.max()):
        trace = 0.0
    if isinstance(shrinkage, str):
        square = float(power @ form.squares() @ power)
        shrunk = oracle_approximating(samples, freedom, form.width, trace, square)
        shrunk = stepped(shrunk) if shrinkage == "stepped" else shrunk
    else:
        shrunk = fixed(shrinkage, samples)
    ridge = max(shrunk.ridge, SMALLEST_RIDGE * shrunk.share * trace)
    return shrunk.share, ridge / power
