"""States work without the module fcntl, and where open files cannot be replaced or removed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("other_system.py")
SHARED = Path(__file__).parents[1] / "shared"
SYSTEMS = ("no-fcntl", "windows")


def started(system: str, verb: str, state: Path) -> subprocess.Popen[str]:
    places = [str(SHARED), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
    command = [sys.executable, str(PROGRAM), system, verb, str(state)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def answer(system: str, verb: str, state: Path) -> Any:
    with started(system, verb, state) as program:
        written, _ = program.communicate(timeout=60)
    assert program.returncode == 0
    return json.loads(written)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_state_is_taught_closed_and_reopened(system: str, tmp_path: Path) -> None:
    found = answer(system, "teach", tmp_path / "home")
    assert found["predicted"] == "mug"
    assert "another learner of this one" in found["refused"]
    assert found["while_journal"] == {"mug": 2, "cup": 2}
    assert found["counts"] == {"mug": 2, "cup": 2, "jar": 1}
    assert found["files"] == ["home"]
    # The imitation of Windows did refuse to touch open files, and robocle tried again.
    assert (str(tmp_path / "home") in found["refusals"]) == (system == "windows")
    assert (str(tmp_path / "home-journal") in found["refusals"]) == (system == "windows")


def test_every_module_can_be_imported_without_what_only_posix_has(tmp_path: Path) -> None:
    assert answer("no-fcntl", "import", tmp_path) > 150


@pytest.mark.parametrize("system", SYSTEMS)
def test_another_program_is_refused_until_the_first_one_is_killed(
    system: str, tmp_path: Path
) -> None:
    state = tmp_path / "home"
    with started(system, "hold", state) as program:
        assert program.stdout is not None
        assert json.loads(program.stdout.readline()) == "open"
        assert "being taught by another program" in answer(system, "open", state)
        program.send_signal(signal.SIGKILL)
    assert (tmp_path / "home-lock").exists()
    assert answer(system, "open", state) == "('held',)"
    assert [file.name for file in tmp_path.iterdir()] == ["home"]
