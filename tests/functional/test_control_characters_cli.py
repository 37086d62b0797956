"""No control character from a file name, a state or an argument reaches the terminal."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from robocle import Learner
from robocle.cli import main
from state_files import edit, set_parts

NAME = "\x1b[2Jmug\x9b2J\x7f\u202e"
ESCAPED = r"\x1b[2Jmug\x9b2J\x7f\u202e"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="such names are refused there")


def in_terminal(*arguments: str | Path) -> Result:
    """Run a command as on a terminal: click removes no control sequence, as it does elsewhere."""
    given = [str(argument) for argument in arguments]
    result = CliRunner().invoke(main, given, prog_name="robocle", color=True)
    assert not isinstance(result.exception, Exception), result.exception
    shown = result.stdout + result.stderr
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown) is None, shown
    return result


def test_a_picture_with_a_hostile_name_is_printed_on_one_line(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    picture = tmp_path / f"{NAME}\n\t.jpg"
    shutil.copy(objects / "ball" / "2.jpg", picture)
    (line,) = in_terminal("predict", state, picture).stdout.splitlines()
    path, label, _ = line.split("\t")
    assert path == str(tmp_path / rf"{ESCAPED}\n\t.jpg")
    assert label == "ball"


def test_json_has_the_whole_name_of_a_picture(state: Path, objects: Path, tmp_path: Path) -> None:
    picture = tmp_path / f"{NAME}\n\N{LATIN SMALL LETTER E WITH ACUTE}\U000e0001.jpg"
    shutil.copy(objects / "ball" / "2.jpg", picture)
    (line,) = in_terminal("predict", "--json", state, picture).stdout.splitlines()
    assert json.loads(line)["picture"] == str(picture)
    assert "\N{LATIN SMALL LETTER E WITH ACUTE}" in line


def test_errors_escape_the_name_of_a_picture(state: Path, tmp_path: Path) -> None:
    picture = tmp_path / f"{NAME}.jpg"
    picture.write_bytes(b"")
    assert f"{ESCAPED}.jpg is empty" in in_terminal("predict", state, picture).stderr
    assert ESCAPED in in_terminal("teach", tmp_path / "new.robocle", "mug", picture).stderr


def test_all_commands_escape_the_name_of_a_state(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    hostile = tmp_path / f"{NAME}.robocle"
    shutil.copy(state, hostile)
    with Learner.edit(state) as learner:
        id = learner.samples[0].id
    for arguments in (
        ("-v", "teach", hostile, "ball", objects / "ball" / "3.jpg"),
        ("inspect", hostile),
        ("undo", hostile),
        ("remove", hostile, id),
        ("rename", hostile, "ball", "sphere"),
        ("forget", hostile, "sphere"),
        ("export", hostile, tmp_path / f"{NAME}-sent.robocle"),
        ("inspect", tmp_path / f"{NAME}-absent.robocle"),
    ):
        result = in_terminal(*arguments)
        assert ESCAPED in result.stdout + result.stderr, arguments


@pytest.mark.parametrize(
    "arguments", [(f"{NAME}",), (f"--{NAME}",), ("predict", f"--{NAME}"), ("undo", "--times", NAME)]
)
def test_usage_errors_escape_the_arguments(arguments: tuple[str, ...]) -> None:
    result = in_terminal(*arguments)
    assert result.exit_code == 2
    assert r"\x1b" in result.stderr


def test_a_part_with_a_hostile_name_is_escaped(tmp_path: Path, objects: Path) -> None:
    for option in ("--backbone", "--pooling", "--classifier", "--views"):
        result = in_terminal("teach", tmp_path / "new.robocle", objects, option, f"x{NAME}")
        assert result.exit_code == 1
        assert r"\x1b" in result.stderr


@pytest.mark.parametrize("part", ["backbone", "preprocessing", "pooling", "classifier", "views"])
def test_a_state_with_hostile_parts_is_escaped(part: str, state: Path, objects: Path) -> None:
    set_parts(state, **{part: f"x{NAME}"})
    for arguments in (("inspect", state), ("predict", state, objects / "ball" / "2.jpg")):
        assert in_terminal(*arguments).exit_code == 1


@pytest.mark.parametrize("column", ["label", "quality"])
def test_a_state_with_hostile_samples_is_escaped(column: str, state: Path) -> None:
    edit(state, (f"UPDATE samples SET {column} = ?", (f"x{NAME}",)))
    for arguments in (("inspect", state), ("samples", state)):
        assert in_terminal(*arguments).exit_code == 1


def test_a_state_with_hostile_steps_is_escaped(state: Path) -> None:
    assert in_terminal("rename", state, "ball", "sphere").exit_code == 0
    edit(state, ("UPDATE steps SET token = ?, title = ?, done = ?", (NAME, NAME, NAME)))
    for arguments in (("inspect", "--json", state), ("undo", "--list", state), ("undo", state)):
        assert in_terminal(*arguments).exit_code == 0
