"""Bad files in a folder: all are listed, and `--unreadable` says whether the command goes on."""

import json
import shutil
from pathlib import Path

import pytest

from command_line import assert_refused, run
from robocle import Learner

GOOD, BAD = 4, 2


@pytest.fixture
def folder(objects: Path, tmp_path: Path) -> Path:
    """Two label folders with two good pictures each, and a bad one in each of them."""
    for label in ("ball", "box"):
        (tmp_path / "home" / label).mkdir(parents=True)
        for number in (2, 3):
            shutil.copy(objects / label / f"{number}.jpg", tmp_path / "home" / label)
    (tmp_path / "home" / "ball" / "1-empty.jpg").write_bytes(b"")
    (tmp_path / "home" / "box" / "9-text.jpg").write_bytes(b"milk, bread, eggs")
    return tmp_path / "home"


def assert_all_listed(stderr: str) -> None:
    """Assert that the first lines are about the two bad files."""
    first, second = stderr.splitlines()[:2]
    assert "1-empty.jpg is empty" in first
    assert "9-text.jpg is not a picture" in second


REFUSED = "robocle: 2 of 6 pictures cannot be read: {}"
SKIPPING = "--unreadable skip goes on without them"


@pytest.mark.parametrize("threads", ["1", "2"])
def test_teach_lists_all_bad_files_and_teaches_nothing(
    threads: str, state: Path, taught: bytes, folder: Path, tmp_path: Path
) -> None:
    for path in (state, tmp_path / "new.robocle"):
        result = run("teach", path, folder, "--threads", threads)
        assert (result.exit_code, result.stdout) == (1, "")
        assert_all_listed(result.stderr)
        assert result.stderr.splitlines()[2:] == [REFUSED.format(f"nothing was taught; {SKIPPING}")]
    assert state.read_bytes() == taught
    assert not (tmp_path / "new.robocle").exists()


def test_teach_skips_bad_files_if_told_so(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.robocle"
    result = run("teach", path, folder, "--unreadable", "skip")
    assert result.exit_code == 0
    assert_all_listed(result.stderr)
    assert len(result.stderr.splitlines()) == BAD
    assert result.stdout == f"taught {GOOD} pictures of ball, box; {path} knows 2 labels\n"
    with Learner.edit(path) as learner:
        assert learner.counts == {"ball": 2, "box": 2}


def test_predict_recognises_the_others_and_exits_with_1(state: Path, folder: Path) -> None:
    result = run("predict", state, folder)
    assert result.exit_code == 1
    assert [line.split("\t")[1] for line in result.stdout.splitlines()] == ["ball"] * 2 + [
        "box"
    ] * 2
    assert_all_listed(result.stderr)
    assert result.stderr.splitlines()[2:] == [
        REFUSED.format("the others were recognised; with --unreadable skip the exit code is 0")
    ]


def test_predict_exits_with_0_if_told_to_skip_bad_files(state: Path, folder: Path) -> None:
    result = run("predict", state, folder, "--unreadable", "skip")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == GOOD
    assert_all_listed(result.stderr)


@pytest.mark.parametrize("option", [(), ("--state", "home.robocle")], ids=["folds", "state"])
def test_check_lists_all_bad_files_and_tests_nothing(
    option: tuple[str, ...], state: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(state.parent)
    result = run("check", folder, *option)
    assert (result.exit_code, result.stdout) == (1, "")
    assert_all_listed(result.stderr)
    assert result.stderr.splitlines()[2:] == [REFUSED.format(f"nothing was tested; {SKIPPING}")]


def test_check_tests_the_others_if_told_to_skip_bad_files(folder: Path) -> None:
    result = run("check", folder, "--draws", "1", "--unreadable", "skip", "--json")
    assert result.exit_code == 0
    assert_all_listed(result.stderr)
    found = json.loads(result.stdout)
    assert (found["pictures"], len(found["unreadable"])) == (GOOD, BAD)


@pytest.mark.parametrize("verb", ["teach", "predict", "check"])
def test_skipping_fails_if_nothing_can_be_read(verb: str, state: Path, tmp_path: Path) -> None:
    bad = [tmp_path / "a.jpg", tmp_path / "b.jpg"]
    for path in bad:
        path.write_bytes(b"")
    start = {"teach": ("teach", state, "ball"), "predict": ("predict", state), "check": ("check",)}
    result = run(*start[verb], *bad, "--unreadable", "skip")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines()[2:] == ["robocle: none of the 2 pictures can be read"]


@pytest.mark.parametrize("unreadable", ["refuse", "skip"])
@pytest.mark.parametrize("verb", ["teach", "predict"])
def test_a_single_bad_picture_is_refused_in_one_line(
    verb: str, unreadable: str, state: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"")
    label = ("ball",) if verb == "teach" else ()
    result = run(verb, state, *label, tmp_path / "bad.jpg", "--unreadable", unreadable)
    assert_refused(result, "bad.jpg is empty")


def test_pictures_beside_the_label_folders_are_named_and_not_taught(
    objects: Path, tmp_path: Path
) -> None:
    shutil.copytree(objects, tmp_path / "home")
    for name in ("a.jpg", "b.png"):
        shutil.copy(objects / "ball" / "0.jpg", tmp_path / "home" / name)
    result = run("teach", tmp_path / "s.robocle", tmp_path / "home")
    assert result.stdout.startswith("taught 8 pictures of ball, box; ")
    assert result.stderr == (
        f"robocle: ignored 2 pictures beside the label folders of {tmp_path / 'home'}, such as "
        "a.jpg: move each into the folder of its label\n"
    )


def test_a_folder_with_pictures_only_is_refused_with_the_command_that_teaches_them(
    objects: Path, tmp_path: Path
) -> None:
    result = run("teach", tmp_path / "s.robocle", objects / "ball")
    assert_refused(result, "has no label folders", f"give STATE LABEL {objects / 'ball'}")
