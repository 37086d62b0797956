"""The command `robocle` itself: how it starts, its help, and how it reports bugs."""

import subprocess
import sys
from pathlib import Path

import pytest

from command_line import run, run_subprocess


def test_the_installed_script_and_the_module_are_the_same_program() -> None:
    module = run_subprocess("--version")
    script = Path(sys.executable).with_name("robocle")
    assert module.stdout.startswith(b"robocle, version ")
    if script.exists():
        installed = subprocess.run([script, "--version"], capture_output=True, check=True)
        assert installed.stdout == module.stdout


@pytest.mark.parametrize("group", [[], ["backbones"]])
def test_the_help_describes_every_command_in_a_whole_sentence(group: list[str]) -> None:
    commands = run(*group, "--help").stdout.partition("Commands:\n")[2].splitlines()
    assert commands
    assert [line for line in commands if not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.parametrize("group", [[], ["bag"]])
def test_a_group_without_a_command_prints_its_help(group: list[str]) -> None:
    result = run(*group)
    assert (result.stdout + result.stderr).startswith("Usage: robocle")
    assert "\n\nCommands:\n" in result.stdout + result.stderr


def test_a_bug_shows_its_traceback(
    state: Path, objects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("robocle.learner.embedding.read", bug)
    result = run("predict", state, objects / "ball" / "0.jpg")
    assert isinstance(result.exception, ZeroDivisionError)
