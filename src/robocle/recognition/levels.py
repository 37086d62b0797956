"""The level: the fraction of taught objects, seen again, that may be called unknown."""

from numbers import Real

from robocle.errors import SpecError
from robocle.spec import require_between

DEFAULT_UNKNOWN = 0.05
LARGEST_UNKNOWN = 0.5


def require_level(unknown: float) -> None:
    """Raise SpecError if a level is not a number from 0 to 0.5."""
    if not isinstance(unknown, Real):
        raise SpecError(f"unknown={unknown!r} is not a number: give 0 to {LARGEST_UNKNOWN}")
    require_between("unknown", unknown, 0, LARGEST_UNKNOWN)
