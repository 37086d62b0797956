"""The Makefile: each Python has an environment of its own, and setting it up is announced."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(
    ("options", "folder"),
    [
        ([], ".venv"),
        (["PYTHON=python3"], ".venv"),
        (["PYTHON=python3.13"], ".venv-python3.13"),
        (["PYTHON=/opt/python/bin/python3.14"], ".venv-python3.14"),
    ],
    ids=["default", "python3", "a name", "a path"],
)
def test_the_checks_run_in_the_environment_of_the_given_python(
    options: list[str], folder: str, tmp_path: Path
) -> None:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    # This test may itself be run by `make test PYTHON=...`.
    ours = {key: value for key, value in os.environ.items() if "MAKE" not in key}
    ours.pop("PYTHON", None)
    ours.pop("MFLAGS", None)
    planned = subprocess.run(
        ["make", "--dry-run", "check", *options],
        cwd=tmp_path, env=ours, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    announced, setup = planned.split(f"Setting up {folder}, once", 1)
    assert "pip" not in announced  # the user is told what takes so long, before it does
    assert f"-m venv {folder}\n" in setup
    assert f"{folder}/bin/python -m pip install --progress-bar off --editable" in setup
    assert f"{folder}/bin/python -m pytest" in planned
