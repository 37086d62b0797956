"""How much memory a program takes, measured in a process of its own."""

import os
import resource
import subprocess
import sys
from pathlib import Path


def peak_megabytes() -> float:
    """Return the largest amount of memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def output_of(program: str, *arguments: object) -> str:
    """Run a program, which may import this module, and return what it prints."""
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout
