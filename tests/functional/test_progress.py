"""Progress where there is no terminal: what `-v` prints, and a line every minute."""

import re
from pathlib import Path

import pytest

from command_line import run_subprocess
from robocle.cli.output import progress


@pytest.mark.slow
def test_verbose_says_what_is_going_on(objects: Path, tmp_path: Path) -> None:
    state = tmp_path / "home.robocle"
    result = run_subprocess("-v", "teach", state, objects)
    lines = [re.sub(r"\d+\.\d+", "N", line) for line in result.stderr.decode().splitlines()]
    assert lines == [
        "starting",
        "starting: N s",
        "loading the backbone",
        "loading the backbone: N s",
        "embedding: 8",
        "embedding: 8 in N s, N ms each",
        f"{state} has N MB",
    ]
    result = run_subprocess("predict", state, objects / "ball", "-v")
    assert b"recognising: 4 in " in result.stderr
    assert len(result.stdout.splitlines()) == 4


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that progress sees."""
    now = [0.0]
    monkeypatch.setattr("robocle.cli.output.time.monotonic", lambda: now[0])
    monkeypatch.setattr("robocle.cli.output.LINE_SECONDS", 60)
    return now


def test_a_line_is_printed_every_minute(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in progress(range(9), "embedding", 9):
        clock[0] += 25.0
    assert capsys.readouterr().err.splitlines() == [
        "embedding: 3 of 9",
        "embedding: 6 of 9",
        "embedding: 9 of 9",
    ]
