"""The comparison of an emulated aarch64 with this machine: its verdict, and when it is skipped."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "tools" / "aarch64_check.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("aarch64_check", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prediction(label: str, *scores: float) -> dict[str, Any]:
    return {"labels": [label, label], "scores": dict(zip(("mug", "key"), scores, strict=True))}


def test_small_differences_of_scores_are_printed_and_accepted(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    script.compare([prediction("mug", 50, -10)], {"there": [prediction("mug", 50.0001, -10)]})
    assert capsys.readouterr().out == "there: 1 of 1 labels equal, scores within 2.0e-06\n"


@pytest.mark.parametrize(
    "found",
    [prediction("key", 50, -10), prediction("mug", 50.01, -10), prediction("mug", float("nan"), 0)],
    ids=["another label", "another score", "no number"],
)
def test_another_label_or_score_fails(found: dict[str, Any], script: ModuleType) -> None:
    with pytest.raises(SystemExit, match="aarch64 differs"):
        script.compare([prediction("mug", 50, -10)], {"there": [found]})


def test_without_apt_one_line_says_why_it_is_skipped(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env={"PATH": "", "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert line.startswith("aarch64 check skipped: ")
    assert list(tmp_path.iterdir()) == []
