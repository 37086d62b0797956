"""A test run ends with one line about the tests that were skipped because something is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHARED = Path(__file__).with_name("shared")
TESTS = """
import sys
import pytest

sys.modules["torch"] = None


@pytest.mark.parametrize("number", range(3))
def test_with_pytorch(number):
    pytest.importorskip("torch")


@pytest.mark.skipif(True, reason="needs data that is not in the repository: pictures")
def test_with_pictures():
    pass


@pytest.mark.skipif(True, reason="needs a full moon")
def test_at_night():
    pass


def test_that_runs():
    pass
"""


def last_lines(tmp_path: Path, *options: str) -> list[str]:
    """Run the tests in a process of their own and return what it prints after the summary."""
    (tmp_path / "test_it.py").write_text(TESTS, "utf-8")
    places = [str(SHARED), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "skipped_tests", "-p", "no:cacheprovider", *options],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = run.stdout.splitlines()
    summaries = [number for number, line in enumerate(lines) if line.startswith("SKIPPED")]
    return lines[summaries[-1] + 1 : -1] if summaries else lines[-2:-1]


@pytest.mark.slow
def test_each_thing_that_is_missing_is_named_once_with_what_to_do(tmp_path: Path) -> None:
    assert last_lines(tmp_path, "-rs") == [
        "3 tests skipped without PyTorch: `make torch` installs it, then `make test` runs them",
        "1 test skipped for want of data that is not in the repository",
    ]


@pytest.mark.slow
def test_tests_in_parallel_processes_are_counted_once(tmp_path: Path) -> None:
    assert last_lines(tmp_path, "-rs", "-n", "2")[0].startswith("3 tests skipped without PyTorch")


@pytest.mark.slow
def test_nothing_is_said_if_nothing_is_missing(tmp_path: Path) -> None:
    assert "skipped" not in "".join(last_lines(tmp_path, "-k", "runs"))
