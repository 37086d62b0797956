"""Shrinkage: how far a covariance of few samples is drawn to a multiple of the identity.

Two ways: a fixed share (the paper's epsilon, towards the identity itself), and the oracle
approximating share of Chen, Wiesel, Eldar & Hero, "Shrinkage algorithms for MMSE covariance
estimation" (2010), eq. 23, towards the mean variance. Both need only traces of the scatter, so they
stay exact while samples stream in.
"""

from dataclasses import dataclass

from robocle.classifiers.scatter.form import ScatterForm
from robocle.classifiers.state import Vector
from robocle.errors import SpecError
from robocle.spec import require_between

MIN_SHRINKAGE = 1e-9
# Relative to the squared means: a scatter below this is rounding, of pictures that are the same.
NEGLIGIBLE = 1e-24
# Relative to the trace of the covariance: float64 cannot tell a smaller ridge from rounding.
SMALLEST_RIDGE = 1e-13


@dataclass(frozen=True)
class Regulariser:
    """The shrunk covariance is `share * S + ridge * identity`."""

    share: float
    ridge: float


def fixed(shrinkage: float, samples: int) -> Regulariser:
    """Return the paper's: (1 - shrinkage) S / samples + shrinkage * identity."""
    return Regulariser((1 - shrinkage) / samples, shrinkage)


def oracle_approximating(
    samples: int, freedom: int, width: int, trace: float, square: float
) -> Regulariser:
    """Return the regulariser of Chen et al.

    Args:
        samples: How many samples were taught.
        freedom: How many independent deviations are summed in the scatter S.
        width: The width of S.
        trace: tr S.
        square: tr S^2.
    """
    if trace == 0:  # no deviation yet: all directions count equally, as in NCM
        return Regulariser(0.0, 1.0)
    numerator = (1 - 2 / width) * square + trace**2
    denominator = (freedom + 1 - 2 / width) * (square - trace**2 / width)
    rho = min(1.0, numerator / denominator) if denominator > 0 else 1.0
    return Regulariser((1 - rho) / samples, rho * trace / samples / width)


def require_shrinkage(shrinkage: float | str) -> None:
    """Raise SpecError if a shrinkage is neither a number in range nor `oas`."""
    if not isinstance(shrinkage, str):
        require_between("shrinkage", shrinkage, MIN_SHRINKAGE, 1)
    elif shrinkage != "oas":
        raise SpecError(f"shrinkage={shrinkage} is not known: give a number or oas")


def regularised(
    form: ScatterForm, power: Vector, shrinkage: float | str, samples: int, freedom: int
) -> tuple[float, Vector]:
    """Return the share of the scatter and the ridge of each block that make a shrunk covariance.

    Blocks scaled by g turn (s S + e I) into (s G S G + e I), which is the same as a ridge e / g^2.

    Args:
        form: The scatter.
        power: g^2 of each block.
        shrinkage: A number, or `oas`.
        samples: How many samples were taught.
        freedom: How many independent deviations are summed in the scatter.
    """
    trace = float(form.traces() @ power)
    if trace <= NEGLIGIBLE * samples * form.largest_square() * float(power.max()):
        trace = 0.0
    if isinstance(shrinkage, str):
        square = float(power @ form.squares() @ power)
        shrunk = oracle_approximating(samples, freedom, form.width, trace, square)
    else:
        shrunk = fixed(shrinkage, samples)
    ridge = max(shrunk.ridge, SMALLEST_RIDGE * shrunk.share * trace)
    return shrunk.share, ridge / power
