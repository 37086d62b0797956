"""The input sizes that a network can be used at, and how its name shows another size.

A built-in backbone has the size as an option. A network that is added for another size than its own
has the size at the end of its name, as in "resnet50_288".
"""

import re

from robocle.errors import SpecError
from robocle.spec import require_whole

SIZES = range(64, 1025, 32)
"""The sides of the input that a network can be used at, besides its own. Most networks halve it
five times."""


def require_size(size: int) -> None:
    """Raise SpecError if no network can be used at a size, unless it is its own."""
    require_whole("size", size, SIZES[0], SIZES[-1])
    if size not in SIZES:
        below = size - size % SIZES.step
        raise SpecError(
            f"size={size} is not a multiple of {SIZES.step}: give {below} or {below + SIZES.step}"
        )


def sized_name(name: str, size: int) -> str:
    """Return the name of a network at another size than its own.

    Example:
        >>> sized_name("resnet50", 288)
        'resnet50_288'
    """
    return f"{name}_{size}"


def split_size(name: str) -> tuple[str, int]:
    """Return what a name may be without its size, and the size; 0 if it does not end in one.

    Example:
        >>> split_size("vit_b_16_384"), split_size("vit_b_16")
        (('vit_b_16', 384), ('vit_b_16', 0))
    """
    found = re.fullmatch("(.+)_([1-9][0-9]{1,3})", name)
    if found and int(found[2]) in SIZES:
        return found[1], int(found[2])
    return name, 0
