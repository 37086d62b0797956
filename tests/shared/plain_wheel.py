"""Running programs in an environment that has only the wheel and what it requires."""

import subprocess
from pathlib import Path

from environments import plain_environment


def run_in(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, without the environment of the tests."""
    return subprocess.run(
        command, cwd=folder, env=plain_environment(), capture_output=True, text=True, check=False
    )
