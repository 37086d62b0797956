"""Waiting for something that another process or thread does."""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def wait_for(condition: Callable[[], Value], what: str, seconds: float = 60) -> Value:
    """Wait until a condition holds and return its value; fail if it never does."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"in vain: {what}"
        time.sleep(0.02)
    return value
