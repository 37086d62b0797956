"""Shrinkage of a covariance estimated from few samples towards a multiple of the identity.

The intensity is either fixed (the paper's epsilon, towards the identity itself), or the oracle
approximating shrinkage (OAS) of Chen, Wiesel, Eldar & Hero, "Shrinkage algorithms for MMSE
covariance estimation" (2010), eq. 23, towards the mean variance times the identity. Both need only
traces of the scatter, so they are exact for streaming samples.
"""

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


def require_shrinkage(shrinkage: float | str) -> None:
    """Raise SpecError if a shrinkage is neither a number in range nor `oas`."""
    if not isinstance(shrinkage, str):
        require_between("shrinkage", shrinkage, MIN_SHRINKAGE, 1)
    elif shrinkage != "oas":
        raise SpecError(f"shrinkage={shrinkage} is unknown: give a number or oas")


def regularised(
    form: ScatterForm, power: Vector, shrinkage: float | str, samples: int, freedom: int
) -> tuple[float, Vector]:
    """Return the weight of the scatter and the ridge of each block in the shrunk covariance.

    Scaling the blocks by g turns s S + e I into s G S G + e I, which is equivalent to using the
    ridge e / g^2.

    Args:
        form: The scatter.
        power: g^2 of each block.
        shrinkage: A number, or `oas`.
        samples: The number of samples taught.
        freedom: The degrees of freedom, as in `oracle_approximating`.
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
