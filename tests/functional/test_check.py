"""`robocle check` on users' own pictures."""

import json
import re
import shutil
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from PIL import Image

from command_line import assert_refused, run

CONDITIONS = ("clean", "illum", "geom", "noise", "blur")
HOME = Path(str(files("robocle.demo"))) / "home" / "clean"


def check(*arguments: str | Path) -> Result:
    return run("check", *arguments)


def counts(*arguments: str | Path) -> dict[str, Any]:
    """The counts of a check with one draw per corruption."""
    result = check(*arguments, "--draws", "1", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def copied(pictures: Iterable[Path], folder: Path) -> Path:
    """A folder with copies of pictures, under new names."""
    folder.mkdir(parents=True)
    for number, picture in enumerate(pictures):
        shutil.copy(picture, folder / f"{number}.jpg")
    return folder


# ---- cross-validation


@pytest.mark.slow
def test_the_table_has_one_row_per_condition(objects: Path) -> None:
    result = check(objects, "--draws", "2")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("8 pictures of 2 labels, each tested clean and 2 times")
    rows = [line.split(",")[0].strip() for line in lines[4:9]]
    assert tuple(rows) == CONDITIONS
    for line in lines[4:10]:
        assert sum(map(int, re.findall(r"(\d+)%", line))) in (99, 100, 101)
        assert len(line.split()[-1]) == 30
    assert lines[9].startswith("  all but clean")


@pytest.mark.slow
def test_every_picture_is_tested_once_per_draw(objects: Path) -> None:
    result = check(objects, "--draws", "3", "--json")
    found = json.loads(result.stdout)
    assert found["pictures"] == 8
    tests = {name: sum(tally.values()) for name, tally in found["taught"].items()}
    assert tests == {"clean": 8, "illum": 24, "geom": 24, "noise": 24, "blur": 24}
    assert set(found["labels"]) == {"ball", "box"}
    assert (found["seed"], found["draws"], found["false_accept"]) == (0, 3, 0.05)


@pytest.mark.slow
def test_another_seed_changes_the_corruptions_but_not_the_clean_pictures(tmp_path: Path) -> None:
    labels = [
        copied(sorted((HOME / name).iterdir())[:4], tmp_path / name)
        for name in ("ball_01", "apple_01", "bowl_01", "mug_01", "hammer_01")
    ]
    one, other = (counts(*labels, "--seed", seed) for seed in ("0", "1"))
    assert one["taught"]["clean"] == other["taught"]["clean"]
    assert one["labels"] != other["labels"]
    assert one["taught"]["clean"]["right"] >= 0.9 * one["pictures"]
    for condition in CONDITIONS[1:]:
        assert one["taught"][condition]["right"] >= 0.6 * one["pictures"]


@pytest.mark.slow
def test_with_meaningless_labels_accuracy_is_no_better_than_chance(
    objects: Path, tmp_path: Path
) -> None:
    """A learner that was taught its own test pictures would do better than chance."""
    for label, numbers in (("this", (0, 1)), ("that", (2, 3))):
        mixed = [objects / kind / f"{n}.jpg" for n in numbers for kind in ("ball", "box")]
        copied(mixed, tmp_path / label)
    found = counts(tmp_path, "--false-accept", "1")
    assert found["taught"]["clean"]["right"] <= 5


@pytest.mark.slow
def test_copies_of_a_picture_are_left_out(objects: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(objects, tmp_path / "mine")
    shutil.copy(objects / "ball" / "0.jpg", folder / "ball" / "again.jpg")
    result = check(folder, "--draws", "1", "--json")
    assert result.exit_code == 0
    assert "again.jpg is a copy of" in result.stderr or "0.jpg is a copy of" in result.stderr
    assert json.loads(result.stdout)["pictures"] == 8


# ---- a state


@pytest.mark.slow
def test_a_state_is_tested_and_not_changed(state: Path, objects: Path) -> None:
    folder = {path: path.read_bytes() for path in state.parent.iterdir()}
    found = counts(objects, "--state", state)
    assert found["pictures"] == 8
    assert found["taught"]["clean"] == {"right": 8, "unknown": 0, "wrong": 0}
    assert {path: path.read_bytes() for path in state.parent.iterdir()} == folder


def test_a_label_that_the_state_was_not_taught_is_right_when_it_is_called_unknown(
    state: Path, tmp_path: Path
) -> None:
    (tmp_path / "grain").mkdir()
    noise = np.random.default_rng(0).integers(0, 255, (240, 320, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "grain" / "0.png")
    found = counts(tmp_path, "--state", state)
    assert found["not_taught"]["clean"] == {"right": 1, "unknown": 0, "wrong": 0}
    assert found["labels"]["grain"]["taught"] is False
    never = counts(tmp_path, "--state", state, "--false-accept", "1")
    assert never["not_taught"]["clean"] == {"right": 0, "unknown": 0, "wrong": 1}
    assert never["advice"][0]["taken_for"] in ("ball", "box")


def test_a_state_can_be_tested_on_a_single_picture(state: Path, objects: Path) -> None:
    result = check(objects / "ball" / "3.jpg", "--state", state)
    assert result.exit_code == 0
    assert result.stdout.startswith("1 picture of 1 label, each tested clean and 3 times")


# ---- the page


@pytest.mark.slow
def test_the_page_needs_no_other_file_and_nothing_else_is_written(
    objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in objects.rglob("*")}
    result = check(objects, "--draws", "1", "--out", "mine.html")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith("the page with tables and pictures is mine.html\n")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.html"]
    assert {path: path.stat().st_mtime_ns for path in objects.rglob("*")} == before
    html = (tmp_path / "mine.html").read_text("utf-8")
    heat_map, bars = 2 * len(CONDITIONS), 3 * (len(CONDITIONS) + 1)
    assert html.count('style="--share:') == heat_map + bars
    assert html.count("data:image/jpeg") == 2 * len(CONDITIONS)  # a picture of each label
    assert not re.search(r"(src|href)=\"(?!data:|#)", html)
    assert str(objects) not in html


def test_the_page_shows_labels_literally(objects: Path, tmp_path: Path) -> None:
    for label, name in (("ball", "<b>$1 & $2"), ("box", "Kiste ⬛ " + "x" * 60)):
        copied(sorted((objects / label).iterdir())[:2], tmp_path / "mine" / name)
    out = tmp_path / "mine.html"
    assert check(tmp_path / "mine", "--draws", "1", "--out", out).exit_code == 0
    html = out.read_text("utf-8")
    assert "<b>$1" not in html
    assert "&lt;b&gt;$1 &amp; $2" in html
    assert "Kiste ⬛ xxx" in html


# ---- errors


def test_too_few_pictures_are_an_error(objects: Path, tmp_path: Path) -> None:
    assert_refused(check(objects / "ball"), "all pictures are of 'ball'", "--state")
    lone = tmp_path / "lone"
    lone.mkdir()
    (lone / "dark.jpg").write_bytes(b"")
    shutil.copy(objects / "ball" / "0.jpg", lone / "light.jpg")
    result = check(objects, lone, "--unreadable", "skip")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "too few pictures of 'lone'" in result.stderr.splitlines()[-1]
    (tmp_path / "bare").mkdir()
    assert_refused(check(tmp_path / "bare"), "there is no picture in")


def test_the_folder_of_those_to_teach_and_to_test_is_refused(objects: Path, tmp_path: Path) -> None:
    for kind in ("teach", "test"):
        copied([objects / "ball" / "0.jpg"], tmp_path / kind / "ball")
    teach, test = tmp_path / "teach", tmp_path / "test"
    assert_refused(
        check(tmp_path),
        f"{tmp_path} has two folders 'ball', {teach / 'ball'} and {test / 'ball'}: give the folder "
        f"of one of them, such as {teach}",
    )


@pytest.mark.slow
def test_a_state_with_one_label_is_tested_with_its_world(objects: Path, tmp_path: Path) -> None:
    single = tmp_path / "single.robocle"
    run("teach", single, "ball", objects / "ball" / "0.jpg")
    result = check(objects, "--state", single, "--draws", "1")
    assert result.exit_code == 0
    assert "walls, darkness, noise and patterns: 4" in result.stdout
    values = json.loads(check(objects, "--state", single, "--draws", "1", "--json").stdout)
    assert values["nothing"]["unknown"] >= 0.9 * values["nothing"]["total"]


def test_a_state_that_cannot_be_tested_is_an_error(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    assert_refused(check(objects, "--state", tmp_path / "none"), "there is no state file")
    single = tmp_path / "single.robocle"
    run("teach", single, "ball", objects / "ball" / "0.jpg", "--classifier", "ncm")
    assert_refused(check(objects, "--state", single), "knows only 'ball'", "teach it a second")
    run("forget", single, "ball")
    assert_refused(check(objects, "--state", single), "nothing has been taught")


def test_a_page_never_replaces_another_kind_of_file(state: Path, objects: Path) -> None:
    before = state.read_bytes()
    assert_refused(check(objects, "--out", state), "ends in .html")
    page = state.with_name("my.html")
    page.write_text("my own page", "utf-8")
    assert_refused(check(objects, "--out", page), "my.html exists and was not written by robocle")
    assert state.read_bytes() == before


def test_a_state_among_the_pictures_is_answered_with_its_option(state: Path, objects: Path) -> None:
    result = check(state, objects)
    assert result.exit_code == 2
    assert f"{state} is a state: give it as --state {state}" in result.stderr


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    assert_refused(check(tmp_path / "nothere"), "nothere", "No such file")


def test_a_page_that_cannot_be_written_is_an_error_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "page.html").touch(0o444)
    assert_refused(check(tmp_path, "--out", tmp_path / "page.html"), "page.html", "is read-only")


def test_a_page_in_a_missing_folder_is_an_error_before_any_work(tmp_path: Path) -> None:
    assert_refused(check(tmp_path, "--out", tmp_path / "no" / "page.html"), "there is no folder")
