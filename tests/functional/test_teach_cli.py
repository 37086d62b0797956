"""`robocle teach`: labels, folders, parts, boxes, threads, and poor pictures."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from command_line import assert_refused, assert_usage_error, counts_of, run, run_subprocess
from robocle import Learner
from robocle.learner.embedding import Embedder


def test_pictures_are_taught_and_predicted_from_a_shell(objects: Path, tmp_path: Path) -> None:
    state = tmp_path / "home.robocle"
    balls = [objects / "ball" / f"{number}.jpg" for number in (0, 1)]
    first = run_subprocess("teach", state, "ball", *balls)
    assert first.stderr == b""
    assert first.returncode == 0
    assert first.stdout.decode() == f"taught 2 pictures of ball; {state} knows 1 label\n"
    second = run_subprocess("teach", state, "box", objects / "box" / "0.jpg")
    assert second.stdout.decode() == f"taught 1 picture of box; {state} knows 2 labels\n"
    tested = [objects / "ball" / "3.jpg", objects / "box" / "3.jpg"]
    predicted = run_subprocess("predict", state, *tested)
    assert (predicted.returncode, predicted.stderr) == (0, b"")
    rows = [line.split("\t") for line in predicted.stdout.decode().splitlines()]
    assert [(row[0], row[1]) for row in rows] == [(str(path), path.parent.name) for path in tested]
    assert all(0.5 <= float(row[2]) <= 1 for row in rows)


def test_a_backbone_without_a_world_is_named(objects: Path, tmp_path: Path) -> None:
    state, name = tmp_path / "home.robocle", "efficientnet_lite0:size=96"
    first = run_subprocess("teach", state, "ball", objects / "ball/0.jpg", "--backbone", name)
    assert first.returncode == 0
    assert f"run robocle backbones world {name} FOLDER --pooling focus" in first.stderr.decode()
    second = run_subprocess("teach", state, "ball", objects / "ball/1.jpg")
    assert (second.returncode, second.stderr) == (0, b"")


def test_a_folder_of_label_folders_is_taught_at_once(objects: Path, tmp_path: Path) -> None:
    result = run("teach", tmp_path / "all.robocle", objects)
    expected = f"taught 8 pictures of ball, box; {tmp_path / 'all.robocle'} knows 2 labels\n"
    assert (result.exit_code, result.stdout, result.stderr) == (0, expected, "")
    assert counts_of(tmp_path / "all.robocle") == {"ball": 4, "box": 4}


@pytest.mark.slow
def test_folders_of_pictures_are_taught_as_one_label(objects: Path, tmp_path: Path) -> None:
    result = run("teach", tmp_path / "one.robocle", "toy", objects / "ball", objects / "box")
    assert result.stdout.startswith("taught 8 pictures of toy; ")


def test_folders_as_a_shell_expands_them_are_labels(
    objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "home.robocle"
    result = run("teach", state, objects / "ball", objects / "box")
    assert result.stdout == f"taught 8 pictures of ball, box; {state} knows 2 labels\n"
    monkeypatch.chdir(objects)
    assert run("teach", tmp_path / "one.robocle", "ball", "ball/").exit_code == 0  # not twice
    assert run("teach", tmp_path / "one.robocle", "ball", "ball/0.jpg").exit_code == 0
    assert counts_of(tmp_path / "one.robocle") == {"ball": 5}
    monkeypatch.chdir(tmp_path)
    shutil.copytree(objects / "box", "cup/front")
    assert run("teach", "cup.robocle", "cup", "cup/front").exit_code == 0  # cup is the label
    assert list(counts_of(tmp_path / "cup.robocle")) == ["cup"]


def test_a_folder_or_a_file_in_the_place_of_the_label_is_refused(
    objects: Path, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("milk")
    new, ball, box = tmp_path / "new.robocle", objects / "ball", objects / "box"
    for what in ((ball, box, box / "0.jpg"), (ball, box / "0.jpg", box / "1.jpg")):
        assert_refused(run("teach", new, *what), "ball' is a folder, not a label", "only folders")
    refused = run("teach", new, tmp_path / "notes.txt", ball)
    assert_refused(refused, "notes.txt' is a file, not a label")
    for name in ("mug1.jpg", "home.robocle"):
        assert_refused(run("teach", new, name, "mug2.jpg"), "is a file, not a label")
    assert not new.exists()


def test_hidden_folders_are_not_labels(objects: Path, tmp_path: Path) -> None:
    for label, name in (("ball", "ball"), ("box", ".thumbnails")):
        (tmp_path / "home" / name).mkdir(parents=True)
        content = (objects / label / "0.jpg").read_bytes()
        (tmp_path / "home" / name / "0.jpg").write_bytes(content)
    result = run("teach", tmp_path / "s.robocle", tmp_path / "home")
    assert result.stdout.startswith("taught 1 picture of ball; ")


def test_teaching_a_known_label_adds_to_its_pictures(state: Path, objects: Path) -> None:
    assert run("teach", state, "ball", objects / "ball" / "2.jpg").exit_code == 0
    assert counts_of(state) == {"ball": 3, "box": 2}


# ---- parts


def test_a_new_state_can_have_other_parts(objects: Path, tmp_path: Path) -> None:
    parts = ("--pooling", "avg", "--classifier", "ncm", "--backbone", "efficientnet_lite0")
    path = tmp_path / "other.robocle"
    assert run("teach", *parts, path, "ball", objects / "ball" / "0.jpg").exit_code == 0
    with Learner.edit(path) as learner:
        assert (learner.parts.pooling, learner.parts.classifier) == ("avg", "ncm")
    assert run("predict", path, objects / "ball" / "0.jpg").exit_code == 0


@pytest.mark.parametrize(
    ("option", "spec", "complaint"),
    [
        (
            "pooling",
            "avg",
            "its pooling focus:r=3,window=0.3,earlier=2, not avg: leave out the pooling",
        ),
        ("classifier", "ncm", "not ncm: leave out the classifier, or start a new state"),
        ("views", "plain", "not plain: leave out the views, or start a new state"),
        ("backbone", "avg", "'avg'"),
    ],
)
def test_an_existing_state_keeps_its_parts(
    option: str, spec: str, complaint: str, state: Path, taught: bytes, objects: Path
) -> None:
    picture = objects / "ball" / "0.jpg"
    result = run("teach", f"--{option}", spec, state, "ball", picture)
    assert_refused(result, complaint)
    assert state.read_bytes() == taught


def test_an_existing_state_can_be_taught_with_the_parts_it_has(state: Path, objects: Path) -> None:
    parts = ("--pooling", "focus:r=3", "--views", "centre", "--profile", "fast")
    result = run("teach", *parts, state, "ball", objects / "ball" / "2.jpg")
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("option", "spec", "words"),
    [
        ("pooling", "momets", "did you mean 'moments'?"),
        ("pooling", "moments:r=99", "out of range"),
        ("classifier", "slda:scater=exact", "did you mean 'scatter'?"),
        ("backbone", "efficientnet_lite", "efficientnet_lite0"),
    ],
)
def test_a_wrong_spec_is_refused_and_creates_no_state(
    option: str, spec: str, words: str, objects: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new.robocle"
    assert_refused(run("teach", f"--{option}", spec, new, "ball", objects / "ball"), words)
    assert not new.exists()


# ---- boxes and threads


def embeddings_of(state: Path) -> NDArray[np.float32]:
    """Return the embeddings that a state was taught, in their order."""
    with closing(sqlite3.connect(state)) as file:
        rows = file.execute("SELECT embedding FROM samples ORDER BY number").fetchall()
    return np.array([np.frombuffer(content, "<f4") for (content,) in rows])


def test_teaching_a_box_equals_teaching_the_cropped_picture(objects: Path, tmp_path: Path) -> None:
    pictures = [objects / "ball" / f"{number}.jpg" for number in (0, 1)]
    result = run("teach", tmp_path / "box", "ball", *pictures, "--box", "60,40,200,160.5")
    assert result.stdout == f"taught 2 pictures of ball; {tmp_path / 'box'} knows 1 label\n"
    for number, picture in enumerate(pictures):
        with Image.open(picture) as image:
            image.crop((60, 40, 260, 201)).save(tmp_path / f"{number}.png")
    cropped = [tmp_path / f"{number}.png" for number in (0, 1)]
    assert run("teach", tmp_path / "cropped", "ball", *cropped).exit_code == 0
    assert run("teach", tmp_path / "whole", "ball", *pictures).exit_code == 0
    found, expected, other = (
        embeddings_of(tmp_path / name) for name in ("box", "cropped", "whole")
    )
    assert len(found) == 2
    assert np.array_equal(found, expected)
    assert not np.allclose(found, other, rtol=0.01)


def test_a_box_that_covers_too_little_of_a_picture_is_refused_and_nothing_is_taught(
    state: Path, taught: bytes, objects: Path
) -> None:
    picture = objects / "ball" / "2.jpg"
    for box in ("310,0,100,100", "0,0,-1,9", "0,0,nan,100", "0,0,inf,100"):
        assert_refused(run("teach", state, "ball", picture, "--box", box), "box", str(picture))
    assert state.read_bytes() == taught


@pytest.mark.parametrize("verb", ["teach", "predict"])
@pytest.mark.parametrize("box", ["", "10,20,30", "10,20,30,40,50", "a,b,c,d", "10 20 30 40"])
def test_a_box_that_is_not_four_numbers_is_a_usage_error(
    box: str, verb: str, state: Path, taught: bytes, objects: Path
) -> None:
    label = ("ball",) if verb == "teach" else ()
    result = run(verb, state, *label, objects / "ball" / "2.jpg", "--box", box)
    assert_usage_error(result, "'--box'", f"{box!r} is not X,Y,WIDTH,HEIGHT in pixels")
    assert state.read_bytes() == taught


# ---- poor pictures


@pytest.fixture
def dark(objects: Path, tmp_path: Path) -> Path:
    """A picture of a ball that is very dark."""
    path = tmp_path / "dark.jpg"
    with Image.open(objects / "ball" / "2.jpg") as image:
        image.point([level // 12 for level in range(256)] * 3).save(path)
    return path


def test_a_dark_picture_is_taught_with_a_warning(state: Path, dark: Path) -> None:
    result = run("teach", state, "ball", dark)
    assert result.exit_code == 0
    assert result.stderr.startswith(f"robocle: {dark}: the picture is very dark")
    assert counts_of(state) == {"ball": 3, "box": 2}


def test_one_poor_picture_that_is_refused_prevents_teaching_any(
    state: Path, taught: bytes, objects: Path, dark: Path
) -> None:
    result = run("teach", state, "ball", objects / "ball" / "2.jpg", dark, "--poor", "refuse")
    assert_refused(result, str(dark), "very dark", "nothing was taught")
    assert state.read_bytes() == taught


def test_poor_pictures_can_be_left_out(
    state: Path, taught: bytes, objects: Path, dark: Path
) -> None:
    result = run("teach", state, "ball", dark, "--poor", "skip")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.endswith("none of the pictures is good enough: nothing was taught\n")
    assert state.read_bytes() == taught
    result = run("teach", state, "ball", dark, objects / "ball" / "2.jpg", "--poor", "skip")
    assert result.exit_code == 0
    assert result.stderr.startswith(f"robocle: skipped: {dark}: the picture is very dark")
    assert counts_of(state) == {"ball": 3, "box": 2}


def test_poor_pictures_can_be_accepted_without_a_check(state: Path, dark: Path) -> None:
    result = run("teach", state, "ball", dark, dark, "--poor", "accept")
    assert (result.exit_code, result.stderr) == (0, "")


def test_teaching_the_last_picture_again_in_another_command_prints_a_warning(
    objects: Path, tmp_path: Path
) -> None:
    state, picture = tmp_path / "home.robocle", objects / "ball" / "0.jpg"
    assert run("teach", state, "ball", picture).stderr == ""
    warning = run("teach", state, "ball", picture).stderr
    assert "almost the same as the last picture of 'ball' (difference 0.00" in warning
    assert warning.endswith(": turn the object, or move it; taught all the same\n")
    assert run("undo", state, "--times", "2").exit_code == 0
    assert run("teach", state, "ball", picture).stderr == ""


# ---- pictures that were taught before


def test_the_same_picture_under_two_labels_is_pointed_out(objects: Path, tmp_path: Path) -> None:
    picture = objects / "ball" / "0.jpg"
    expected = (
        "the same picture was taught as 'ball': teach it under one label only; taught all the same"
    )
    state = tmp_path / "home.robocle"
    assert run("teach", state, "ball", picture).stderr == ""
    assert run("teach", state, "cup", picture).stderr == f"robocle: {picture}: {expected}\n"
    for label in ("ball", "cup"):
        (tmp_path / "home" / label).mkdir(parents=True)
        shutil.copy(picture, tmp_path / "home" / label)
    result = run("teach", tmp_path / "new.robocle", tmp_path / "home")
    assert result.stderr == f"robocle: {tmp_path / 'home' / 'cup' / '0.jpg'}: {expected}\n"


@pytest.mark.slow
def test_a_folder_that_is_taught_twice_is_pointed_out_picture_by_picture(
    objects: Path, tmp_path: Path
) -> None:
    state = tmp_path / "home.robocle"
    assert run("teach", state, objects).stderr == ""
    *lines, last = run("teach", state, objects).stderr.splitlines()
    assert f"all 8 pictures repeat others: `robocle undo {state}` reverts" in last
    assert len(lines) == 8
    for line, path in zip(lines, sorted(objects.rglob("*.jpg")), strict=True):
        label = path.parent.name
        assert f"{path}: near-duplicate of a picture already taught as '{label}'" in line
    assert run("undo", state, "--times", "2").exit_code == 0
    assert run("teach", state, objects).stderr == ""


def test_a_state_that_another_program_teaches_while_pictures_are_embedded_keeps_both(
    state: Path, objects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = counts_of(state)
    embed_each = Embedder.embed_each
    before_that: list[Path] = [state]

    def embed_late(self: Embedder, *arguments: Any, **options: Any) -> Iterator[Any]:
        while before_that:
            other = run("teach", before_that.pop(), "pan", objects / "box" / "2.jpg")
            assert other.exit_code == 0
        return embed_each(self, *arguments, **options)

    monkeypatch.setattr(Embedder, "embed_each", embed_late)
    result = run("teach", state, "cup", objects / "box" / "3.jpg")
    assert (result.exit_code, result.stderr) == (0, "")
    assert counts_of(state) == {**counts, "pan": 1, "cup": 1}


@pytest.mark.parametrize(("pooling", "complaint"), [(None, ""), ("avg", "keeps its pooling avg")])
def test_a_lesson_is_never_lost_if_another_program_creates_the_state_meanwhile(
    pooling: str | None,
    complaint: str,
    objects: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embed_each = Embedder.embed_each
    new = tmp_path / "new.robocle"

    def embed_late(self: Embedder, *arguments: Any, **options: Any) -> Iterator[Any]:
        Learner.open(new, pooling=pooling).close()
        return embed_each(self, *arguments, **options)

    monkeypatch.setattr(Embedder, "embed_each", embed_late)
    result = run("teach", new, "cup", objects / "box" / "3.jpg")
    assert (result.exit_code, complaint in result.stderr) == (int(bool(complaint)), True)
    assert counts_of(new) == ({} if complaint else {"cup": 1})


IMPORTED = """
import subprocess
import sys
from contextlib import suppress
from robocle.cli import main
with suppress(SystemExit):
    main(sys.argv[1:])
print(*sys.modules)
"""


def test_teaching_one_picture_imports_nothing_that_it_does_not_need(
    state: Path, objects: Path
) -> None:
    command = [sys.executable, "-c", IMPORTED, "teach", str(state), "cup"]
    command.append(str(objects / "box" / "2.jpg"))
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    said, imported = result.stdout.splitlines()
    assert said.startswith("taught 1 picture of cup; ")
    predicting = {"recognition.temperature", "recognition.explanation"}
    unneeded = {f"robocle.{name}" for name in predicting}
    assert not {"concurrent.futures", "importlib.resources", *unneeded} & set(imported.split())
