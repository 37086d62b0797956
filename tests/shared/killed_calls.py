"""Runs work in a fork that is killed at a chosen call to the system."""

import os
import signal
from collections.abc import Callable
from typing import Any

# Every call by which the store changes something, or makes a change durable.
CALLS = (
    "open", "write", "fsync", "fdatasync", "replace", "unlink", "remove", "ftruncate", "close",
    "chmod", "lseek",
)  # fmt: skip


def killed_at(call: int, work: Callable[[], None], *, after: bool) -> bool:
    """Run some work in a fork and kill the fork at one of its calls to the system.

    Args:
        call: The number of the call among all of them, counted from 1.
        work: The work.
        after: Whether to kill the fork after the call instead of before it.

    Returns:
        Whether the fork was killed. If not, it made fewer calls.
    """
    child = os.fork()
    if child == 0:
        try:
            _count_calls(call, after)
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0, "the work failed"
    return os.WIFSIGNALED(status)


def _count_calls(fatal: int, after: bool) -> None:
    made = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal made
            made += 1
            number = made
            if number == fatal and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return real(*arguments, **options)
            finally:
                if number == fatal:
                    os.kill(os.getpid(), signal.SIGKILL)

        return call

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
