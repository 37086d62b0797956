"""Parameters of which `make test` takes one and `make test-exhaustive` the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def only(quick: object, values: Iterable[Any]) -> list[Any]:
    """Return the values as parameters, all but one of them marked as exhaustive."""
    return [
        each if quick in (each, *(each[:1] if isinstance(each, tuple) else ()))
        else pytest.param(*(each if isinstance(each, tuple) else (each,)),
                          marks=pytest.mark.exhaustive)
        for each in values
    ]  # fmt: skip
