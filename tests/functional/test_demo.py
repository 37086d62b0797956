"""The demo as a newcomer runs it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_demo_prints_a_table_and_writes_a_report_that_stands_alone(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    run = subprocess.run(
        [sys.executable, "-m", "robocle", "demo", "--out", str(report)],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line for line in run.stdout.splitlines() if line.startswith("robocle default")]
    assert len(rows) == 2  # the taught thing, and another of its kind
    clean, *_, changed = (float(cell) for cell in rows[0].split()[2:])
    assert clean > 90
    assert changed > 60
    html = report.read_text("utf-8")
    assert html.count("<svg") == 2
    assert html.count("data:image/jpeg") > 40
    assert not re.search(r"(src|href)=\"(?!data:|#)", html)
