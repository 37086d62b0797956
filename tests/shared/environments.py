"""Environments of the processes that tests start."""

import os


def unmeasured_environment() -> dict[str, str]:
    """Return the environment of a process whose coverage is not measured.

    For one that gets a signal: it may arrive while coverage holds a lock, which nobody releases
    then. And for one that is killed, which reports no coverage.
    """
    return {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_PROCESS")}


def plain_environment() -> dict[str, str]:
    """Return the environment of a process that has nothing of the tests."""
    return {k: v for k, v in unmeasured_environment().items() if k != "PYTHONPATH"}
