"""The types of the fixtures `refusal` and `set_umask`."""

from collections.abc import Callable
from typing import Protocol

from robocle.errors import RobocleError

SetUmask = Callable[[int], int]
"""Sets the umask for one test."""


class Refusal(Protocol):
    """Checks that a call raises an error with a message of one line, and returns the message."""

    def __call__(self, error: type[RobocleError], call: Callable[[], object]) -> str: ...
