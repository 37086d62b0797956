"""`robocle predict`: what it prints, for known and unknown objects."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from command_line import assert_refused, run, run_subprocess


def test_predictions_as_json_contain_all_scores(state: Path, objects: Path) -> None:
    result = run("predict", "--json", state, objects / "ball" / "2.jpg", objects / "box" / "2.jpg")
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    keys = {"picture", "label", "confidence", "scores", "nearest", "known_probability", "nothing"}
    assert first.keys() == keys | {"familiarity", "sure", "verdict", "unknown_probability"}
    assert first["nothing"] == ""
    assert (first["label"], second["label"]) == ("ball", "box")
    assert first["picture"] == str(objects / "ball" / "2.jpg")
    assert list(first["scores"]) == ["ball", "box"]
    assert first["scores"]["ball"] > first["scores"]["box"]
    assert 0.5 <= first["confidence"] <= 1


def test_a_black_picture_shows_nothing_and_the_line_says_why(state: Path, tmp_path: Path) -> None:
    Image.new("RGB", (320, 240)).save(tmp_path / "black.png")
    result = run("predict", state, tmp_path / "black.png")
    assert result.stdout == f"{tmp_path / 'black.png'}\tnothing: the picture is black\t1.00\n"


def test_nested_folders_are_searched_and_hidden_ones_are_not(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    names = ["top.jpg", "b/2.jpg", "b/10.jpg", "a/deep/er/3.png.jpg", ".trash/old.jpg"]
    for name in names:
        (tmp_path / "home" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(objects / "ball" / "2.jpg", tmp_path / "home" / name)
    result = run("predict", state, tmp_path / "home")
    assert (result.exit_code, result.stderr) == (0, "")
    found = [line.split("\t")[0] for line in result.stdout.splitlines()]
    expected = ["top.jpg", "a/deep/er/3.png.jpg", "b/10.jpg", "b/2.jpg"]
    assert found == [str(tmp_path / "home" / name) for name in expected]


def test_the_best_labels_are_printed_with_their_confidences(state: Path, objects: Path) -> None:
    picture = objects / "box" / "2.jpg"
    plain = run("predict", state, picture).stdout
    line = run("predict", state, picture, "--top", "3").stdout
    path, *rest = line.rstrip("\n").split("\t")
    assert path == str(picture)
    assert (rest[0], rest[2]) == ("box", "ball")
    assert line.startswith(plain.rstrip("\n"))
    assert float(rest[1]) > float(rest[3]) >= 0
    assert float(rest[1]) + float(rest[3]) <= 1.01
    assert run("predict", state, picture, "--top", "1").stdout == plain
    found, whole = (
        json.loads(run("predict", state, picture, "--json", *option).stdout)
        for option in (("--top", "2"), ())
    )
    assert found == {**whole, "top": {"box": found["confidence"], "ball": found["top"]["ball"]}}


@pytest.mark.slow
@pytest.mark.parametrize("option", [(), ("--json",)], ids=["plain", "json"])
def test_a_file_name_that_is_not_unicode_is_printed_escaped(
    option: tuple[str, ...], state: Path, objects: Path, tmp_path: Path
) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.jpg"
    Path(os.fsdecode(name)).write_bytes((objects / "ball" / "2.jpg").read_bytes())
    result = run_subprocess("predict", *option, state, name, PYTHONIOENCODING="utf-8:strict")
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"\\udcff.jpg" in result.stdout
    if option:
        assert os.fsencode(json.loads(result.stdout)["picture"]) == name


def test_an_object_that_was_not_taught_is_unknown(state: Path, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (240, 320, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    result = run("predict", state, tmp_path / "noise.png")
    _, label, probability, nearest = result.stdout.strip().split("\t")
    assert label == "unknown"
    assert 0.5 < float(probability) <= 1
    assert nearest in ("most like ball", "most like box")
    line = run("predict", state, tmp_path / "noise.png", "--top", "2").stdout
    _, label, _, *best = line.rstrip("\n").split("\t")
    assert (label, {best[0], best[2]}) == ("unknown", {"ball", "box"})
    assert float(best[1]) >= float(best[3])
    never = run("predict", state, tmp_path / "noise.png", "--false-accept", "1")
    assert never.stdout.split("\t")[1] in ("perhaps ball", "perhaps box")


def test_predicting_a_box_equals_predicting_the_cropped_picture(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    picture, cropped = objects / "ball" / "2.jpg", tmp_path / "cropped.png"
    with Image.open(picture) as image:
        image.crop((100, 50, 250, 200)).save(cropped)
    found, expected, whole = (
        json.loads(run("predict", "--json", state, *arguments).stdout)
        for arguments in ((picture, "--box", "100,50,150,150"), (cropped,), (picture,))
    )
    assert found == {**expected, "picture": str(picture)}
    assert found["scores"] != whole["scores"]


@pytest.mark.parametrize("option", [(), ("--json",)], ids=["plain", "json"])
def test_several_threads_print_the_same_lines_in_the_same_order(
    option: tuple[str, ...], state: Path, objects: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"")
    (tmp_path / "worse.jpg").write_bytes(b"not a picture")
    pictures = [
        objects / "box", tmp_path / "bad.jpg", objects / "ball", tmp_path / "worse.jpg",
        objects / "box" / "3.jpg",
    ]  # fmt: skip
    one, three = (
        run("predict", *option, state, *pictures, "--threads", str(threads)) for threads in (1, 3)
    )
    assert (three.stdout, three.stderr) == (one.stdout, one.stderr)
    assert len(one.stdout.splitlines()) == 9
    assert len(one.stderr.splitlines()) == 3
    assert one.exit_code == three.exit_code == 1


def test_predicting_before_teaching_is_refused(state: Path, objects: Path) -> None:
    assert run("forget", state, "ball").exit_code == 0
    assert run("forget", state, "box").exit_code == 0
    assert_refused(run("predict", state, objects / "ball" / "0.jpg"), "nothing has been taught")
