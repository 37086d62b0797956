"""Recognition: what scores mean.

- `decision`, `temperature`: the threshold between known and unknown, and calibrated confidences.
- `meaning`: from the scores of a picture to its prediction. `explanation`: why that one.
- `readiness`: how well the taught pictures are recognised when they are left out.
- `temporal_filter`: what a video shows.

The rate that a user sets is here: how many unrelated objects may be taken for a taught one.
Commands check it before they import numpy.
"""

from numbers import Real
from typing import Literal

from robocle.errors import SpecError

DEFAULT_RATE = 0.05
SMALLEST_RATE, LARGEST_RATE = 0.001, 0.5
NEVER_UNKNOWN = 1.0
"""The rate with which nothing is called unknown."""
Rate = float | Literal["strict", "normal", "lenient"]
NAMED_RATES: dict[str, float] = {"strict": 0.01, "normal": DEFAULT_RATE, "lenient": 0.2}
"""Rates for those who choose without figures, as on the teach page."""


def rate_named(text: str) -> float:
    """Return the rate that a text means: a name, or a number that is not checked yet.

    Raises:
        ValueError: It is neither.

    >>> rate_named("strict"), rate_named("0.1")
    (0.01, 0.1)
    """
    return NAMED_RATES[text] if text in NAMED_RATES else float(text)


def require_rate(false_accept: Rate) -> float:
    """Return a rate as a number from 0.001 to 0.5, or 1.

    >>> require_rate("strict")
    0.01
    >>> require_rate(0.7)
    Traceback (most recent call last):
    robocle.errors.SpecError: false_accept=0.7 is out of range: give 0.001 to 0.5, strict, normal or lenient, or 1 to call nothing unknown
    """  # noqa: E501
    if isinstance(false_accept, str):
        false_accept = NAMED_RATES.get(false_accept, false_accept)
    if (
        isinstance(false_accept, Real)
        and not isinstance(false_accept, bool)
        and (SMALLEST_RATE <= false_accept <= LARGEST_RATE or false_accept == NEVER_UNKNOWN)
    ):
        return float(false_accept)
    raise SpecError(
        f"false_accept={false_accept!r} is out of range: give {SMALLEST_RATE} to {LARGEST_RATE}, "
        "strict, normal or lenient, or 1 to call nothing unknown"
    )
