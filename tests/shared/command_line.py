"""Functions that run the command `robocle` in tests and check its errors and its states."""

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from robocle.cli import main, output
from robocle.learner import Learner

output.LINE_SECONDS = float("inf")  # a busy machine adds no lines to what a command prints


def run(*arguments: str | Path) -> Result:
    """Run the command in this process, which is faster than in a new one."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="robocle")


def run_subprocess(
    *arguments: str | Path | bytes, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a separate process, as a shell does."""
    command = [sys.executable, "-m", "robocle", *arguments]
    return subprocess.run(command, capture_output=True, env=os.environ | environment, check=False)


def assert_one_line(stderr: str) -> None:
    """Assert that an error is printed as one line without a traceback."""
    assert stderr.startswith("robocle: ")
    assert stderr.endswith("\n")
    assert stderr.count("\n") == 1
    assert len(stderr) > len("robocle: \n")
    assert "Traceback" not in stderr


def assert_refused(result: Result, *words: str) -> None:
    """Assert that a command printed nothing but an error of one line that contains the words."""
    assert_one_line(result.stderr)
    assert result.exit_code == 1
    assert result.stdout == ""
    for word in words:
        assert word in result.stderr


def assert_usage_error(result: Result, *words: str) -> None:
    """Assert that an option was refused with one line below the usage of the command."""
    assert result.exit_code == 2
    assert result.stdout == ""
    usage, _, _, error = result.stderr.splitlines()
    assert usage.startswith("Usage: robocle ")
    assert error.startswith("Error: Invalid value for ")
    for word in words:
        assert word in error


def error_of(*arguments: str | Path) -> str:
    """Run a command that fails with an error of one line, and return the error."""
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("robocle: ")
    return line.removeprefix("robocle: ")


def counts_of(state: Path) -> dict[str, int]:
    """Return the labels of a state file, each with its number of pictures."""
    with Learner.edit(state) as learner:
        return learner.counts
