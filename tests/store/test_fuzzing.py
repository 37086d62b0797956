"""Mutated and hostile states are used or refused in little time and memory, and nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from exhaustive import only

SHARED = Path(__file__).parents[1] / "shared"
SECONDS = 5
"""How long a file may take, with everything that is done with it."""


def driven(*arguments: object) -> dict[str, Any]:
    """Run the driver, which limits its memory, and return its report."""
    # Each thread of OpenBLAS would reserve memory.
    paths = os.pathsep.join([str(SHARED), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    driver = Path(__file__).with_name("fuzz_driver.py")
    command = [sys.executable, str(driver), *map(str, arguments)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert report["failures"] == []
    assert report["slowest"] < SECONDS
    return report


@pytest.mark.slow
@pytest.mark.parametrize("label", only("ball", ["ball", "mug", "clock"]))
def test_a_mutated_state_is_used_or_refused_in_one_line_and_not_touched(
    label: str,
) -> None:
    report = driven(label, 100)
    for use in ("load", "inspect", "merge", "recover"):
        assert report[f"{use} done"] > 5, report
    for use in ("load", "inspect", "merge"):
        assert report[f"{use} refused"] > 30, report


@pytest.mark.slow
def test_no_hostile_state_takes_much_time_or_memory() -> None:
    report = driven()
    assert "load done" not in report
    assert report["load refused"] > 60
