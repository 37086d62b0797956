"""Shrinkage: how far a covariance estimated from few samples is drawn to a multiple of identity.

Two ways: a fixed share (the paper's epsilon, towards the identity itself), and the oracle
approximating share of Chen, Wiesel, Eldar & Hero, "Shrinkage algorithms for MMSE covariance
estimation" (2010), eq. 23, towards the mean variance. Both need only traces of the scatter, so
they stay exact while samples stream in.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Regulariser:
    """The shrunk covariance is `share * S + ridge * identity`."""

    share: float
    ridge: float


def fixed(shrinkage: float, samples: int) -> Regulariser:
    """The paper's: (1 - shrinkage) of the covariance S / samples, shrinkage of the identity."""
    return Regulariser((1 - shrinkage) / samples, shrinkage)


def oracle_approximating(
    samples: int, freedom: int, width: int, trace: float, square: float
) -> Regulariser:
    """Chen et al.'s, from tr S and tr S^2; `freedom` deviations were summed up in S."""
    if trace == 0:  # no deviation met yet: every direction alike, as NCM
        return Regulariser(0.0, 1.0)
    numerator = (1 - 2 / width) * square + trace**2
    denominator = (freedom + 1 - 2 / width) * (square - trace**2 / width)
    rho = min(1.0, numerator / denominator) if denominator > 0 else 1.0
    return Regulariser((1 - rho) / samples, rho * trace / samples / width)
