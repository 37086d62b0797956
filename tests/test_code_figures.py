"""The script that measures the source tree, and the property that it must show."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_no_modules_import_each_other_in_a_circle() -> None:
    command = [sys.executable, str(ROOT / "tools" / "code_figures.py"), str(ROOT)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    figures = dict(line.rsplit("  ", 1) for line in printed.splitlines() if "  " in line)
    found = {name.strip(): value.strip() for name, value in figures.items()}
    assert found["import cycles"] == "0", printed
    assert int(found["files"]) > 100
