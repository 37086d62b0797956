"""Every command refuses bad pictures, labels and states with a one-line error and no change."""

import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from command_line import assert_refused, run
from picture_files import black_png, encoded


def picture(kind: str) -> bytes:
    noise = np.random.default_rng(0).integers(0, 256, (12, 16, 3), np.uint8)
    return encoded(Image.fromarray(noise).resize((320, 240)), format=kind)


def animated_gif() -> bytes:
    frames = [Image.new("L", (64, 64), level) for level in (0, 255)]
    return encoded(frames[0], format="GIF", save_all=True, append_images=frames[1:])


BAD_PICTURES: dict[str, Callable[[], bytes]] = {
    "truncated.jpg": lambda: picture("JPEG")[:-400],
    "truncated.png": lambda: picture("PNG")[:-400],
    "empty.jpg": lambda: b"",
    "text.jpg": lambda: b"milk, bread, eggs\n" * 30,
    "dot.png": lambda: encoded(Image.new("RGB", (1, 1)), format="PNG"),
    "bomb.png": lambda: black_png(20_000, 20_000),
    "large.png": lambda: black_png(12_000, 10_001),
    "moving.gif": animated_gif,
}


@pytest.mark.parametrize("verb", ["teach", "predict"])
@pytest.mark.parametrize("name", BAD_PICTURES)
def test_a_bad_picture_is_refused_and_changes_nothing(
    name: str, verb: str, state: Path, taught: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(BAD_PICTURES[name]())
    label = ("ball",) if verb == "teach" else ()
    assert_refused(run(verb, state, *label, tmp_path / name), name)
    assert state.read_bytes() == taught


def test_missing_pictures_and_empty_folders_are_refused(
    state: Path, taught: bytes, tmp_path: Path
) -> None:
    (tmp_path / "bare").mkdir()
    missing, bare = tmp_path / "missing.jpg", tmp_path / "bare"
    assert_refused(run("teach", state, "ball", missing), "missing.jpg", "No such file")
    assert_refused(run("teach", state, "ball", bare), "there is no picture in")
    assert_refused(run("predict", state, bare), "there is no picture in")
    assert_refused(run("teach", state, bare), "has no label folders")
    rooms = bare / "all" / "rooms"
    (rooms / "kitchen").mkdir(parents=True)
    assert_refused(run("teach", state, bare), f"there is no picture of 'all' in {bare / 'all'}\n")
    (rooms / "kitchen" / "1.jpg").touch()
    assert_refused(run("teach", state, bare), f": teach {rooms}, if kitchen is a label")
    (rooms / "bath").mkdir()
    (rooms / "bath" / "1.jpg").touch()
    assert_refused(run("teach", state, bare), f": teach {rooms}, if bath, kitchen are labels")
    advice = f"leave out 'ball', and teach {rooms}, if bath, kitchen are labels"
    assert_refused(run("teach", state, "ball", rooms), f"there is no picture in {rooms}: {advice}")
    assert_refused(run("teach", state, missing), "there is no folder", "missing.jpg")
    assert_refused(run("predict", state, missing), "missing.jpg", "No such file")
    assert state.read_bytes() == taught


def test_a_picture_without_a_label_is_answered_with_the_arguments_to_give(
    state: Path, taught: bytes, objects: Path
) -> None:
    picture = objects / "ball" / "0.jpg"
    assert_refused(run("teach", state, picture), f"{picture} is a file", f"STATE LABEL {picture}")
    assert state.read_bytes() == taught


def test_a_new_state_is_not_given_the_name_of_a_picture(objects: Path, tmp_path: Path) -> None:
    result = run("teach", tmp_path / "new.JPG", "ball", objects / "ball" / "0.jpg")
    assert_refused(result, "new.JPG is the name of a picture", "STATE LABEL PICTURES")
    assert list(tmp_path.iterdir()) == []


def test_a_new_state_in_a_folder_that_does_not_exist_is_refused_before_pictures_are_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"not a picture")
    new = tmp_path / "gone" / "new.robocle"
    result = run("teach", new, "ball", tmp_path / "bad.jpg")
    assert_refused(result, f"cannot write {new}: there is no folder")


def test_a_folder_in_the_place_of_a_state_is_answered_with_what_to_give(objects: Path) -> None:
    for verb in ("teach", "predict", "inspect"):
        result = run(verb, objects)
        assert result.exit_code == 2
        assert f"{objects} is a folder: give a file, such as home.robocle" in result.stderr


def test_an_export_into_a_folder_that_does_not_exist_names_the_folder(
    state: Path, tmp_path: Path
) -> None:
    for name in ("sent.robocle", "model.onnx"):
        result = run("export", state, tmp_path / "gone" / name)
        assert_refused(result, f"there is no folder {tmp_path / 'gone'}")


# ---- labels

LABELS = {"empty": "", "spaces": "   ", "long": "x" * 10_000, "newline": "tea\ncup", "tab": "a\tb"}


@pytest.mark.parametrize("name", LABELS)
def test_a_bad_label_is_refused_and_changes_nothing(
    name: str, state: Path, taught: bytes, objects: Path
) -> None:
    label, picture = LABELS[name], objects / "ball" / "0.jpg"
    for result in (run("teach", state, label, picture), run("rename", state, "ball", label)):
        assert_refused(result, "label")
        assert len(result.stderr) < 200
    assert state.read_bytes() == taught


def test_a_folder_whose_name_cannot_be_a_label_is_named(
    state: Path, taught: bytes, objects: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "home" / "m\u00adug"
    folder.mkdir(parents=True)
    (folder / "0.jpg").write_bytes((objects / "ball" / "0.jpg").read_bytes())
    assert_refused(run("teach", state, folder.parent), "invisible characters")
    assert state.read_bytes() == taught


# ---- states

Arguments = list[str | Path]


@pytest.fixture
def arguments(objects: Path) -> dict[str, Arguments]:
    """The arguments of each command after the state."""
    picture = objects / "ball" / "0.jpg"
    return {
        "teach": ["ball", picture],
        "predict": [picture],
        "inspect": [],
        "forget": ["ball"],
        "rename": ["ball", "toy"],
        "undo": [],
        "redo": [],
        "samples": [],
        "remove": ["0"],
    }


@pytest.mark.parametrize(
    "verb", ["predict", "inspect", "forget", "rename", "undo", "redo", "samples", "remove"]
)
def test_a_missing_state_is_refused(
    verb: str, arguments: dict[str, Arguments], tmp_path: Path
) -> None:
    result = run(verb, tmp_path / "nowhere.robocle", *arguments[verb])
    assert_refused(result, "there is no state file", "check the name")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_no_missing_state(tmp_path: Path) -> None:
    (tmp_path / "empty.robocle").touch()
    result = run("inspect", tmp_path / "empty.robocle")
    assert_refused(result, "empty.robocle is an empty file", "check the name")


@pytest.mark.parametrize("verb", ["teach", "predict"])
def test_a_state_name_that_cannot_exist_is_refused(
    verb: str, arguments: dict[str, Arguments]
) -> None:
    assert_refused(run(verb, "x" * 5000, *arguments[verb]))


def execute(statement: str) -> Callable[[Path], None]:
    """Return a function that changes a state file with a statement of SQL."""

    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as file, file:
            file.execute(statement)

    return change


def part(name: str, value: str) -> Callable[[Path], None]:
    return execute(f"UPDATE parts SET value = '{value}' WHERE name = '{name}'")


# Which names of parts a command needs depends on whether it computes embeddings.
WRONG_STATES: dict[str, tuple[Callable[[Path], object], str]] = {
    "another version": (execute("PRAGMA user_version = 99"), "format 99"),
    "another classifier": (part("classifier", "elephant"), "elephant"),
    "other tables": (execute("ALTER TABLE samples ADD COLUMN colour TEXT"), "is damaged"),
    "text": (lambda path: path.write_text("milk, bread, eggs\n" * 30), "not a state, or"),
    "old": (lambda path: path.write_bytes(b"\x08\0\0\0\0\0\0\0{}      "), "not a state, or"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:-5000]), "is damaged"),
}
WRONG_NETWORKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "another backbone": (part("fingerprint", "1f3a" * 16), "1f3a1f3a"),
    "an unknown backbone": (part("backbone", "resnet50"), "resnet50"),
    "another preprocessing": (part("preprocessing", "crop/7"), "crop/7"),
}


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        *itertools.product(WRONG_STATES, ["teach", "predict", "forget", "undo", "redo", "remove"]),
        *itertools.product(WRONG_NETWORKS, ["teach", "predict"]),
    ],
)
def test_a_wrong_state_is_refused_and_not_changed(
    name: str, verb: str, state: Path, arguments: dict[str, Arguments]
) -> None:
    damage, words = {**WRONG_STATES, **WRONG_NETWORKS}[name]
    damage(state)
    before = state.read_bytes()
    assert_refused(run(verb, state, *arguments[verb]), words)
    assert state.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", ""),
        ("predict", "", "mug.jpg"),
        ("predict", "home.robocle", ""),
        ("check", ""),
        ("merge", "", "sent.robocle"),
        ("merge", "home.robocle", ""),
        ("recover", "home.robocle", ""),
        ("sim", ""),
        ("demo", "--pictures", ""),
        ("teach", "", "mug", "mug.jpg"),
    ],
)
def test_an_empty_path_does_not_stand_for_the_present_folder(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert "the path is empty" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", [("",), ("mug", ""), ("", "mug.jpg")])
def test_nothing_that_is_taught_has_an_empty_name(what: tuple[str, ...], tmp_path: Path) -> None:
    assert_refused(run("teach", tmp_path / "home.robocle", *what), "is empty")
