"""Benchmark figures are recorded, and a release that got slower is found."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def figure(**changes: object) -> dict[str, Any]:
    return {
        "benchmark": "bench_slda",
        "workload": "few shots",
        "name": "learning",
        "value": 100.0,
        "unit": "x",
        "limit": 50,
        "at_least": True,
        "quick": False,
        "machine": "a robot",
        "python": "3.11.7",
        **changes,
    }


def compared(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> tuple[int, str]:
    for name, record in (("old", old), ("new", new)):
        (folder / f"{name}.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    files = [str(folder / "old.jsonl"), str(folder / "new.jsonl")]
    command = [sys.executable, str(BENCHMARKS / "compare.py"), *files]
    found = subprocess.run(command, capture_output=True, text=True)
    return found.returncode, found.stdout


@pytest.mark.parametrize(("before", "after"), [(100, 70), (100, 1)])
def test_a_ratio_that_fell_is_listed(tmp_path: Path, before: float, after: float) -> None:
    code, output = compared(tmp_path, figure(value=before), figure(value=after))
    assert code == 1
    assert "bench_slda / few shots / learning" in output
    assert "1 figures got worse by more than 20%" in output


def test_a_ratio_within_the_tolerance_is_not_listed(tmp_path: Path) -> None:
    code, output = compared(tmp_path, figure(value=100), figure(value=90))
    assert code == 0
    assert "old -> new: 0 figures got worse" in output


def test_a_time_that_grew_is_listed_on_the_same_machine_only(tmp_path: Path) -> None:
    slow = {"value": 200, "unit": " ms", "at_least": False}
    old = figure(value=100, unit=" ms", at_least=False)
    assert compared(tmp_path, old, figure(**slow))[0] == 1
    assert compared(tmp_path, old, figure(**slow, machine="another robot"))[0] == 0


def test_a_quick_run_is_not_compared_with_a_full_one(tmp_path: Path) -> None:
    code, output = compared(tmp_path, figure(), figure(value=1, quick=True))
    assert code == 0
    assert "0 compared, 1 no longer measured" in output


def test_every_reported_figure_is_recorded(tmp_path: Path) -> None:
    script = tmp_path / "bench_example.py"
    script.write_text(
        "from measuring import finish, report, workload\n"
        "workload('small')\n"
        "report('speed', 3.0, 2, at_least=True)\n"
        "report('size', 3.0, 2, at_least=False, unit=' MB')\n"
        "finish(demanding=True)\n",
        "utf-8",
    )
    record = tmp_path / "figures.jsonl"
    environment = os.environ | {
        "PYTHONPATH": str(BENCHMARKS),
        "ROBOCLE_BENCH_RECORD": str(record),
    }
    run = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert run.returncode == 1
    assert "1 of 2 limits missed: size" in run.stderr
    speed, size = (json.loads(line) for line in record.read_text("utf-8").splitlines())
    assert (speed["benchmark"], speed["workload"]) == ("bench_example", "small")
    assert (speed["value"], speed["limit"], speed["quick"]) == (3.0, 2, False)
    assert (size["unit"], size["machine"]) == (" MB", speed["machine"])
