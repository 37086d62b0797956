"""Running programs without anything of the tests."""

import os
import subprocess
from pathlib import Path


def plain_environment() -> dict[str, str]:
    """Return the environment of a process that finds only what is installed."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


def run_in(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, without the environment of the tests."""
    return subprocess.run(
        command, cwd=folder, env=plain_environment(), capture_output=True, text=True, check=False
    )
