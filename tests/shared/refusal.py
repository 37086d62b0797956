"""The type of the fixture `refusal`."""

from collections.abc import Callable
from typing import Protocol

from robocle.errors import RobocleError


class Refusal(Protocol):
    """Checks that a call raises an error with a message of one line, and returns the message."""

    def __call__(self, error: type[RobocleError], call: Callable[[], object]) -> str: ...
