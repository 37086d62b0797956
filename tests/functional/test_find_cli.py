"""`robocle find`: what it prints and draws."""

import json
from pathlib import Path

import pytest
from PIL import Image

from bright_detector import bright_detector
from command_line import assert_refused, run


@pytest.fixture
def room(objects: Path, tmp_path: Path) -> Path:
    image = Image.new("RGB", (320, 240), (10, 10, 10))
    image.paste(Image.new("RGB", (90, 90), (255, 255, 255)), (200, 100))
    image.paste(Image.open(objects / "ball" / "2.jpg").resize((80, 80)), (205, 105))
    image.save(tmp_path / "room.png")
    return tmp_path / "room.png"


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "bright.onnx").write_bytes(bright_detector())
    return f"onnx:{tmp_path / 'bright.onnx'},pixels=unit"


def test_each_object_is_a_line_with_its_box(
    state: Path, room: Path, model: str, tmp_path: Path
) -> None:
    options = ["--finder", model, "--false-accept", "1"]
    result = run("find", state, room, *options, "--draw", tmp_path / "drawn")
    assert (result.exit_code, result.stderr) == (0, "")
    picture, box, label, confidence = result.stdout.splitlines()[0].split("\t")
    assert picture == str(room)
    assert [float(each) for each in box.split(",")] == pytest.approx([200, 100, 90, 90], abs=6)
    assert label.endswith("ball")
    assert 0 <= float(confidence) <= 1
    drawn = Image.open(tmp_path / "drawn" / "room.png")
    assert drawn.size == (320, 240)
    assert drawn.tobytes() != Image.open(room).tobytes()
    found = json.loads(run("find", state, room, *options, "--json").stdout.splitlines()[0])
    assert found["label"] == "ball"
    assert len(found["box"]) == 4


def test_pictures_of_one_name_are_drawn_to_files_of_their_own(
    state: Path, room: Path, model: str, tmp_path: Path
) -> None:
    pictures = [tmp_path / folder / "1.png" for folder in ("a", "b")]
    for number, each in enumerate(pictures):
        each.parent.mkdir()
        Image.open(room).crop((0, 0, 300 + number, 240)).save(each)
    options = ["--finder", model, "--draw"]
    for _ in range(2):
        assert run("find", state, *pictures, *options, tmp_path / "drawn").exit_code == 0
        for name, width in (("1", 300), ("1-2", 301)):
            with Image.open(tmp_path / "drawn" / f"{name}.png") as drawn:
                assert drawn.width == width
    before = pictures[0].read_bytes()
    refused = run("find", state, *pictures, *options, tmp_path / "a")
    assert_refused(refused, f"{pictures[0]} is one of the pictures: draw to another folder")
    assert pictures[0].read_bytes() == before


def test_bad_input_is_one_line(state: Path, room: Path, model: str, tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("no picture")
    result = run("find", state, tmp_path / "text.jpg", "--finder", model)
    assert_refused(result, "text.jpg", "is not a picture")
    assert_refused(run("find", state, room, "--finder", "onnx:none.onnx"), "cannot read none.onnx")
    assert_refused(run("find", state, room, "--finder", "yolo"), "unknown finder 'yolo'")
    assert_refused(run("find", state, room, "--finder", "yolo.onnx"), "write onnx:yolo.onnx")
    blocked = tmp_path / "bright.onnx"
    result = run("find", state, room, "--finder", model, "--draw", blocked / "folder")
    assert_refused(result, "cannot write to")
