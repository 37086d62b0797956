"""Running programs in an environment that has only the wheel and what it requires."""

import os
import subprocess
from pathlib import Path


def run_in(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, without the environment of the tests."""
    unset = ("PYTHONPATH", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")
    clean = {key: value for key, value in os.environ.items() if key not in unset}
    return subprocess.run(
        command, cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
