"""The command as people use it: what it prints, what it leaves behind, and how it refuses."""

import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from click.testing import CliRunner, Result
from PIL import Image
from safetensors.numpy import save

from robocle.cli import main
from robocle.store import StoredState, read_state
from robocle.store.snapshot import checksums, sealed


def run(*arguments: str | Path) -> Result:
    """The command in this process: quick."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="robocle")


def run_alone(
    *arguments: str | Path | bytes, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, as from a shell."""
    command = [sys.executable, "-m", "robocle", *arguments]
    return subprocess.run(command, capture_output=True, env=os.environ | environment, check=False)


@pytest.fixture(scope="module")
def taught(objects: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a state that knows a ball and a box."""
    path = tmp_path_factory.mktemp("taught") / "home.robocle"
    for label in ("ball", "box"):
        pictures = [objects / label / f"{number}.jpg" for number in (0, 1)]
        assert run("teach", path, label, *pictures).exit_code == 0
    assert run("export", path, path.with_name("sent.robocle")).exit_code == 0
    return path.with_name("sent.robocle").read_bytes()


@pytest.fixture
def state(taught: bytes, tmp_path: Path) -> Path:
    """A state file of this test's own."""
    path = tmp_path / "home.robocle"
    path.write_bytes(taught)
    return path


# ---- teaching and recognising, in processes of their own


def test_teaching_and_predicting_from_a_shell(objects: Path, tmp_path: Path) -> None:
    state = tmp_path / "home.robocle"
    balls = [objects / "ball" / f"{number}.jpg" for number in (0, 1)]
    first = run_alone("teach", state, "ball", *balls)
    assert first.stderr == b""
    assert first.returncode == 0
    assert first.stdout.decode() == f"taught 2 pictures of ball; {state} knows 1 label\n"
    second = run_alone("teach", state, "box", objects / "box" / "0.jpg")
    assert second.stdout.decode() == f"taught 1 picture of box; {state} knows 2 labels\n"
    seen = run_alone("predict", state, objects / "ball" / "3.jpg", objects / "box" / "3.jpg")
    assert (seen.returncode, seen.stderr) == (0, b"")
    rows = [line.split("\t") for line in seen.stdout.decode().splitlines()]
    assert [(row[0], row[1]) for row in rows] == [
        (str(objects / "ball" / "3.jpg"), "ball"),
        (str(objects / "box" / "3.jpg"), "box"),
    ]
    assert all(0.5 <= float(row[2]) <= 1 for row in rows)


def test_the_installed_command_and_the_module_are_one() -> None:
    module = run_alone("--version")
    script = Path(sys.executable).with_name("robocle")
    assert module.stdout.startswith(b"robocle, version ")
    if script.exists():
        installed = subprocess.run([script, "--version"], capture_output=True, check=True)
        assert installed.stdout == module.stdout


def test_predicting_in_a_process_of_its_own_is_predicting_in_this_one(
    state: Path, objects: Path
) -> None:
    picture = objects / "box" / "2.jpg"
    alone = run_alone("predict", "--json", state, picture)
    assert alone.stdout.decode() == run("predict", "--json", state, picture).stdout


# ---- teach


def test_a_folder_a_label_is_taught_in_one_go(objects: Path, tmp_path: Path) -> None:
    result = run("teach", tmp_path / "all.robocle", objects)
    expected = f"taught 8 pictures of ball, box; {tmp_path / 'all.robocle'} knows 2 labels\n"
    assert (result.exit_code, result.stdout, result.stderr) == (0, expected, "")
    assert read_state(tmp_path / "all.robocle").counts == {"ball": 4, "box": 4}


def test_a_folder_of_pictures_is_taught_as_one_label(objects: Path, tmp_path: Path) -> None:
    result = run("teach", tmp_path / "one.robocle", "toy", objects / "ball", objects / "box")
    assert result.stdout.startswith("taught 8 pictures of toy; ")


def test_hidden_folders_are_no_labels(objects: Path, tmp_path: Path) -> None:
    for label, name in (("ball", "ball"), ("box", ".thumbnails")):
        (tmp_path / "home" / name).mkdir(parents=True)
        content = (objects / label / "0.jpg").read_bytes()
        (tmp_path / "home" / name / "0.jpg").write_bytes(content)
    result = run("teach", tmp_path / "s.robocle", tmp_path / "home")
    assert result.stdout.startswith("taught 1 picture of ball; ")


def test_teaching_again_adds_to_what_is_known(state: Path, objects: Path) -> None:
    assert run("teach", state, "ball", objects / "ball" / "2.jpg").exit_code == 0
    assert read_state(state).counts == {"ball": 3, "box": 2}


def test_a_new_state_may_have_other_parts(objects: Path, tmp_path: Path) -> None:
    parts = ("--pooling", "avg", "--classifier", "ncm", "--backbone", "efficientnet_lite0")
    path = tmp_path / "other.robocle"
    assert run("teach", *parts, path, "ball", objects / "ball" / "0.jpg").exit_code == 0
    assert (read_state(path).parts.pooling, read_state(path).parts.classifier) == ("avg", "ncm")
    assert run("predict", path, objects / "ball" / "0.jpg").exit_code == 0


# ---- predict


def test_predictions_as_json_hold_every_score(state: Path, objects: Path) -> None:
    result = run("predict", "--json", state, objects / "ball" / "2.jpg", objects / "box" / "2.jpg")
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    assert first.keys() == {"image", "label", "confidence", "scores", "nearest", "known"}
    assert (first["label"], second["label"]) == ("ball", "box")
    assert first["image"] == str(objects / "ball" / "2.jpg")
    assert list(first["scores"]) == ["ball", "box"]
    assert first["scores"]["ball"] > first["scores"]["box"]
    assert 0.5 <= first["confidence"] <= 1


def test_a_folder_is_predicted_picture_by_picture(state: Path, objects: Path) -> None:
    result = run("predict", state, objects / "ball")
    names = [Path(line.split("\t")[0]).name for line in result.stdout.splitlines()]
    assert names == ["0.jpg", "1.jpg", "2.jpg", "3.jpg"]


def test_predicting_goes_on_after_a_bad_picture_and_fails_at_the_end(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"")
    result = run("predict", state, tmp_path / "bad.jpg", objects / "ball" / "2.jpg")
    assert result.exit_code == 1
    assert result.stdout.count("\n") == 1
    assert "ball" in result.stdout
    assert result.stderr.startswith(f"robocle: {tmp_path / 'bad.jpg'} is empty")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("option", [(), ("--json",)], ids=["plain", "json"])
def test_a_file_name_that_is_no_unicode_is_printed_escaped(
    option: tuple[str, ...], state: Path, objects: Path, tmp_path: Path
) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.jpg"
    Path(os.fsdecode(name)).write_bytes((objects / "ball" / "2.jpg").read_bytes())
    result = run_alone("predict", *option, state, name, PYTHONIOENCODING="utf-8:strict")
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"\\udcff.jpg" in result.stdout
    if option:
        assert os.fsencode(json.loads(result.stdout)["image"]) == name


# ---- unknown objects and poor pictures


def test_a_thing_that_was_not_taught_is_unknown(state: Path, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (240, 320, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    result = run("predict", state, tmp_path / "noise.png")
    _, label, known, nearest = result.stdout.strip().split("\t")
    assert label == "unknown"
    assert 0 <= float(known) < 0.5
    assert nearest in ("most like ball", "most like box")
    never = run("predict", state, tmp_path / "noise.png", "--unknown", "0")
    assert never.stdout.split("\t")[1] in ("ball", "box")


@pytest.fixture
def dark(objects: Path, tmp_path: Path) -> Path:
    path = tmp_path / "dark.jpg"
    Image.open(objects / "ball" / "2.jpg").point([level // 12 for level in range(256)] * 3).save(
        path
    )
    return path


def test_a_dark_picture_is_complained_of_and_taught(state: Path, dark: Path) -> None:
    result = run("teach", state, "ball", dark)
    assert result.exit_code == 0
    assert result.stderr.startswith(f"robocle: {dark}: the picture is very dark")
    assert read_state(state).counts == {"ball": 3, "box": 2}


def test_a_gate_that_refuses_teaches_nothing_of_the_lot(
    state: Path, objects: Path, dark: Path
) -> None:
    before = state.read_bytes()
    result = run("teach", state, "ball", objects / "ball" / "2.jpg", dark, "--gate", "refuse")
    assert_refused(result, str(dark), "very dark")
    assert state.read_bytes() == before


def test_a_gate_that_is_off_says_nothing(state: Path, dark: Path) -> None:
    result = run("teach", state, "ball", dark, dark, "--gate", "off")
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_last_picture_again_is_complained_of_in_the_next_command(
    objects: Path, tmp_path: Path
) -> None:
    state, picture = tmp_path / "home.robocle", objects / "ball" / "0.jpg"
    assert run("teach", state, "ball", picture).stderr == ""
    assert "almost the same picture" in run("teach", state, "ball", picture).stderr
    assert run("undo", state, "--times", "2").exit_code == 0
    assert run("teach", state, "ball", picture).stderr == ""


# ---- inspect, forget, rename


def test_inspecting_shows_labels_counts_and_parts(state: Path) -> None:
    result = run("inspect", state)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{state}: 2 labels, 4 pictures, ")
    assert [line.split() for line in lines[2:5]] == [
        ["label", "pictures", "recognised", "when", "left", "out"],
        ["ball", "2", "2", "of", "2"],
        ["box", "2", "2", "of", "2"],
    ]
    shown = {line.split()[0]: line.split()[1] for line in lines[6:]}
    assert shown["backbone"] == "efficientnet_lite0"
    assert shown["pooling"] == read_state(state).parts.pooling


def test_inspecting_a_state_without_leave_one_out_scores_shows_the_counts(
    objects: Path, tmp_path: Path
) -> None:
    state = tmp_path / "ncm.robocle"
    run("teach", state, "ball", objects / "ball" / "0.jpg", "--classifier", "ncm")
    lines = run("inspect", state).stdout.splitlines()
    assert lines[3].split() == ["ball", "1"]


def test_inspecting_as_json_gives_one_object(state: Path) -> None:
    result = run("inspect", "--json", state)
    summary = json.loads(result.stdout)
    assert [each["recognised"] for each in summary["readiness"]["labels"]] == [2, 2]
    assert summary["labels"] == {"ball": 2, "box": 2}
    assert summary["parts"] == vars(read_state(state).parts)
    assert summary["bytes"] == state.stat().st_size
    assert summary["arrays"]["counts"] == [2]


def test_forgetting_removes_a_label(state: Path, objects: Path) -> None:
    result = run("forget", state, "ball")
    assert result.stdout == f"forgot ball; {state} knows 1 label\n"
    assert list(read_state(state).counts) == ["box"]
    prediction = run("predict", state, objects / "ball" / "2.jpg")
    assert prediction.stdout.split("\t")[1] == "box"


def test_undoing_takes_back_the_last_picture_and_then_says_that_nothing_is_left(
    state: Path, objects: Path
) -> None:
    before = run("predict", "--json", state, objects / "ball" / "3.jpg").stdout
    run("teach", state, "ball", objects / "box" / "2.jpg", objects / "box" / "3.jpg")
    result = run("undo", state, "--times", "2")
    assert result.stdout.splitlines() == [
        "took back teaching 'ball'",
        "took back teaching 'ball'",
        f"{state} knows 2 labels",
    ]
    assert run("predict", "--json", state, objects / "ball" / "3.jpg").stdout == before
    assert_refused(run("undo", state), "nothing to undo")


def test_a_forgotten_label_comes_back_unless_it_is_forgotten_for_good(
    state: Path, objects: Path
) -> None:
    before = run("predict", "--json", state, objects / "ball" / "3.jpg").stdout
    run("forget", state, "ball")
    assert run("undo", state).stdout.startswith("took back forgetting 'ball'\n")
    assert run("predict", "--json", state, objects / "ball" / "3.jpg").stdout == before
    run("forget", state, "ball", "--for-good")
    assert_refused(run("undo", state), "nothing to undo")
    assert b"ball" not in state.read_bytes()


def test_states_of_two_robots_merge_in_any_order(objects: Path, tmp_path: Path) -> None:
    for robot, number in (("one", 0), ("two", 1)):
        for label in ("ball", "box"):
            run("teach", tmp_path / robot, label, objects / label / f"{number}.jpg")
    for name, order in (("ab", ("one", "two")), ("ba", ("two", "one"))):
        result = run("merge", *[tmp_path / each for each in order], "-o", tmp_path / name)
        assert result.stdout.endswith("it knows 2 labels, 4 pictures\n")
    run("teach", tmp_path / "all", "ball", *[objects / "ball" / f"{n}.jpg" for n in (0, 1)])
    run("teach", tmp_path / "all", "box", *[objects / "box" / f"{n}.jpg" for n in (0, 1)])
    found = [
        json.loads(run("predict", "--json", tmp_path / name, objects / "box" / "3.jpg").stdout)
        for name in ("ab", "ba", "all")
    ]
    assert found[0]["scores"] == pytest.approx(found[2]["scores"], rel=1e-6)
    assert found[1]["scores"] == pytest.approx(found[2]["scores"], rel=1e-6)
    assert_refused(run("merge", tmp_path / "one", "-o", tmp_path / "ab"), "exists")


def test_an_exported_state_is_imported_by_another_robot(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    run("teach", tmp_path / "mine", "toy", objects / "ball" / "3.jpg")
    run("export", state, tmp_path / "sent")
    result = run("import", tmp_path / "mine", tmp_path / "sent")
    assert result.stdout.endswith("knows 3 labels\n")
    assert run("import", tmp_path / "new", tmp_path / "sent").exit_code == 0
    assert read_state(tmp_path / "new").counts == {"ball": 2, "box": 2}


@pytest.mark.parametrize("pooling", ["avg", "moments:r=3,form=root", "moments:form=standardised"])
@pytest.mark.parametrize("classifier", ["ncm", "slda"])
def test_an_exported_model_gives_the_same_labels_with_onnx_runtime_alone(
    pooling: str, classifier: str, objects: Path, tmp_path: Path
) -> None:
    state, model = tmp_path / "home", tmp_path / "home.onnx"
    parts = ["--pooling", pooling, "--classifier", classifier]
    for label in ("ball", "box"):
        run("teach", state, label, *[objects / label / f"{n}.jpg" for n in (0, 1)], *parts)
        parts = []
    assert run("export", state, model).stdout == f"exported 2 labels to {model}\n"
    session = onnxruntime.InferenceSession(model)
    for picture in (objects / "ball" / "2.jpg", objects / "box" / "2.jpg"):
        pixels = np.asarray(Image.open(picture).resize((224, 224), Image.Resampling.BILINEAR))
        (label,), _ = session.run(None, {"pixels": pixels[None]})
        assert label == run("predict", state, picture).stdout.split("\t")[1] == picture.parent.name
    labels = session.get_modelmeta().custom_metadata_map["robocle.labels"]
    assert json.loads(labels) == ["ball", "box"]


def test_an_exported_model_says_under_which_score_a_thing_is_unknown(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    run("export", state, tmp_path / "home.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "home.onnx")
    lowest = float(session.get_modelmeta().custom_metadata_map["robocle.unknown_below"])
    noise = np.random.default_rng(0).integers(0, 255, (1, 224, 224, 3), np.uint8)
    ball = np.asarray(Image.open(objects / "ball" / "2.jpg").resize((224, 224)))[None]
    best = [session.run(["scores"], {"pixels": pixels})[0].max() for pixels in (noise, ball)]
    assert best[0] < lowest < best[1]


def test_a_model_that_cannot_be_exported_is_refused(objects: Path, tmp_path: Path) -> None:
    for number, parts in enumerate((["--pooling", "max"], ["--classifier", "sqda"])):
        state = tmp_path / f"{number}"
        run("teach", state, "ball", objects / "ball" / "0.jpg", *parts)
        result = run("export", state, tmp_path / "x.onnx")
        assert_refused(result, "only")
        assert not (tmp_path / "x.onnx").exists()


def test_a_damaged_state_gives_back_what_is_sound(objects: Path, tmp_path: Path) -> None:
    state = tmp_path / "home"
    parts = ["--classifier", "ncm", "--pooling", "avg"]
    run("teach", tmp_path / "taught", objects, *parts)
    run("export", tmp_path / "taught", state)
    content = bytearray(state.read_bytes())
    content[-100] ^= 1  # in the mean of the last label
    state.write_bytes(content)
    assert_refused(run("predict", state, objects / "ball" / "0.jpg"), "means", "row 2", "recover")
    result = run("recover", state, tmp_path / "rest")
    assert result.stdout.splitlines() == [
        "lost: the label 'box'",
        f"recovered 1 label to {tmp_path / 'rest'}",
    ]
    assert read_state(tmp_path / "rest").counts == {"ball": 4}


def test_renaming_keeps_what_was_learnt(state: Path, objects: Path) -> None:
    result = run("rename", state, "ball", "Kugel ⚽")
    assert result.stdout == f"ball is now Kugel ⚽ in {state}\n"
    assert list(read_state(state).counts) == ["Kugel ⚽", "box"]
    prediction = run("predict", state, objects / "ball" / "2.jpg")
    assert prediction.stdout.split("\t")[1] == "Kugel ⚽"


# ---- what is refused: one line, exit code 1, and the state as it was


def picture(kind: str) -> bytes:
    noise = np.random.default_rng(0).integers(0, 256, (12, 16, 3), np.uint8)
    return encoded(Image.fromarray(noise).resize((320, 240)), kind)


def encoded(image: Image.Image, kind: str, *more: Image.Image) -> bytes:
    file = BytesIO()
    image.save(file, kind, **({"save_all": True, "append_images": more} if more else {}))
    return file.getvalue()


def one_bit_png(width: int, height: int) -> bytes:
    """Black, and small on the disk."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + checksum

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes((width // 8 + 1) * height), 1)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


BAD_PICTURES: dict[str, Callable[[], bytes]] = {
    "truncated.jpg": lambda: picture("JPEG")[:-400],
    "truncated.png": lambda: picture("PNG")[:-400],
    "empty.jpg": lambda: b"",
    "text.jpg": lambda: b"milk, bread, eggs\n" * 30,
    "dot.png": lambda: encoded(Image.new("RGB", (1, 1)), "PNG"),
    "bomb.png": lambda: one_bit_png(20_000, 20_000),
    "large.png": lambda: one_bit_png(12_000, 10_000),
    "moving.gif": lambda: encoded(
        Image.new("L", (64, 64), 0), "GIF", Image.new("L", (64, 64), 255)
    ),
}


def assert_one_line(stderr: str) -> None:
    assert stderr.startswith("robocle: ")
    assert stderr.endswith("\n")
    assert stderr.count("\n") == 1
    assert len(stderr) > len("robocle: \n")
    assert "Traceback" not in stderr


def assert_refused(result: Result, *words: str) -> None:
    assert_one_line(result.stderr)
    assert result.exit_code == 1
    assert result.stdout == ""
    for word in words:
        assert word in result.stderr


@pytest.mark.parametrize("verb", ["teach", "predict"])
@pytest.mark.parametrize("name", BAD_PICTURES)
def test_a_bad_picture_is_refused_and_changes_nothing(
    name: str, verb: str, state: Path, taught: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(BAD_PICTURES[name]())
    label = ("ball",) if verb == "teach" else ()
    assert_refused(run(verb, state, *label, tmp_path / name), name)
    assert state.read_bytes() == taught


@pytest.mark.parametrize("name", ["truncated.jpg", "bomb.png", "large.png", "moving.gif"])
def test_a_bad_picture_is_refused_in_one_line_from_a_shell(
    name: str, state: Path, taught: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(BAD_PICTURES[name]())
    result = run_alone("teach", state, "ball", tmp_path / name)
    assert_one_line(result.stderr.decode())
    assert (result.returncode, result.stdout) == (1, b"")
    assert state.read_bytes() == taught


def test_one_bad_picture_among_good_ones_teaches_none(
    state: Path, taught: bytes, objects: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.jpg").write_bytes(picture("JPEG")[:-400])
    good = [objects / "ball" / f"{number}.jpg" for number in range(4)]
    assert_refused(run("teach", state, "ball", *good[:2], tmp_path / "bad.jpg", *good[2:]))
    assert state.read_bytes() == taught
    new = tmp_path / "new.robocle"
    assert_refused(run("teach", new, "ball", good[0], tmp_path / "bad.jpg"))
    assert not new.exists()


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


def test_a_label_with_a_newline_is_refused_in_one_line_from_a_shell(
    state: Path, taught: bytes, objects: Path
) -> None:
    result = run_alone("teach", state, "tea\ncup", objects / "ball" / "0.jpg")
    assert_one_line(result.stderr.decode())
    assert result.returncode == 1
    assert state.read_bytes() == taught


def test_a_label_that_was_never_taught_is_refused(state: Path, taught: bytes) -> None:
    assert_refused(run("forget", state, "bowl"), "'bowl' was never taught")
    assert_refused(run("rename", state, "bowl", "cup"), "'bowl' was never taught")
    assert_refused(run("rename", state, "ball", "box"), "'box'", "taught already")
    assert state.read_bytes() == taught


@pytest.mark.parametrize("verb", ["predict", "inspect", "forget", "rename"])
def test_a_state_that_is_not_there_is_refused(verb: str, objects: Path, tmp_path: Path) -> None:
    rest: dict[str, list[str | Path]] = {
        "predict": [objects / "ball" / "0.jpg"],
        "forget": ["a"],
        "rename": ["a", "b"],
    }
    result = run(verb, tmp_path / "nowhere.robocle", *rest.get(verb, []))
    assert_refused(result, "there is no state file", "teach something to make one")
    assert list(tmp_path.iterdir()) == []


def test_predicting_before_teaching_is_refused_from_a_shell(objects: Path, tmp_path: Path) -> None:
    result = run_alone("predict", tmp_path / "none.robocle", objects / "ball" / "0.jpg")
    assert_one_line(result.stderr.decode())
    assert (result.returncode, result.stdout) == (1, b"")


def test_predicting_with_a_state_that_forgot_everything_is_refused(
    state: Path, objects: Path
) -> None:
    assert run("forget", state, "ball").exit_code == 0
    assert run("forget", state, "box").exit_code == 0
    assert_refused(run("predict", state, objects / "ball" / "0.jpg"), "nothing has been taught")


def rewrite(path: Path, **changes: object) -> bytes:
    """Change the description in a state file."""
    stored = read_state(path)
    path.write_bytes(described(stored, dict(stored.arrays), **changes))
    return path.read_bytes()


def described(stored: StoredState, arrays: dict[str, Any], **changes: object) -> bytes:
    """The bytes of a state with these arrays, checksums and all, and changes in its description."""
    head = {
        "format": 2,
        **vars(stored.parts),
        "labels": list(stored.labels),
        "history": [],
        "crc32": {name: checksums(array) for name, array in arrays.items()},
        **changes,
    }
    return save(arrays, sealed(head))


WRONG_STATES: dict[str, tuple[Callable[[Path], object], str]] = {
    "another version": (lambda path: rewrite(path, format=99), "format 99"),
    "another backbone": (lambda path: rewrite(path, fingerprint="1f3a" * 16), "1f3a1f3a"),
    "an unknown backbone": (lambda path: rewrite(path, backbone="resnet50"), "resnet50"),
    "another preprocessing": (lambda path: rewrite(path, preprocessing="crop/7"), "crop/7"),
    "text": (lambda path: path.write_text("milk, bread, eggs\n" * 30), "robocle state"),
    "empty": (lambda path: path.write_bytes(b""), "robocle state"),
    "cut off": (lambda path: path.write_bytes(path.read_bytes()[:-100]), "robocle state"),
}


@pytest.mark.parametrize("verb", ["teach", "predict", "forget", "rename"])
@pytest.mark.parametrize("name", WRONG_STATES)
def test_a_wrong_state_is_refused_and_left_as_it_is(
    name: str, verb: str, state: Path, objects: Path
) -> None:
    spoil, words = WRONG_STATES[name]
    spoil(state)
    before = state.read_bytes()
    picture = objects / "ball" / "0.jpg"
    rest: dict[str, list[str | Path]] = {
        "teach": ["ball", picture],
        "predict": [picture],
        "forget": ["ball"],
        "rename": ["ball", "toy"],
    }
    assert_refused(run(verb, state, *rest[verb]), words)
    assert state.read_bytes() == before


@pytest.mark.parametrize("name", ["another version", "another backbone"])
def test_a_wrong_state_is_refused_in_one_line_from_a_shell(
    name: str, state: Path, objects: Path
) -> None:
    spoil, words = WRONG_STATES[name]
    spoil(state)
    result = run_alone("predict", state, objects / "ball" / "0.jpg")
    assert_one_line(result.stderr.decode())
    assert words in result.stderr.decode()
    assert result.returncode == 1


COUNTS = {
    "none": np.zeros(0, np.int64),
    "three": np.ones(3, np.int64),
    "two axes": np.ones((2, 1), np.int64),
    "no axis": np.array(2),
    "not numbers": np.full(2, np.nan),
    "endless": np.full(2, np.inf),
}


@pytest.mark.parametrize("name", COUNTS)
def test_inspecting_a_state_with_wrong_counts_is_refused(name: str, state: Path) -> None:
    stored = read_state(state)
    state.write_bytes(described(stored, {**stored.arrays, "counts": COUNTS[name]}))
    assert_refused(run("inspect", state), str(state), "is damaged")


@pytest.mark.parametrize("text", ["\x1b[2Jboo", "tea\ncup"])
def test_inspecting_prints_nothing_that_is_not_plain_text(
    text: str, state: Path, taught: bytes
) -> None:
    rewrite(state, labels=[text, "box"])
    assert_refused(run("inspect", state), str(state), "is damaged")
    state.write_bytes(taught)
    rewrite(state, pooling=text)
    assert_refused(run("inspect", state), str(state), "is damaged")


@pytest.mark.parametrize("option", ["pooling", "classifier", "backbone"])
def test_an_existing_state_keeps_its_parts(
    option: str, state: Path, taught: bytes, objects: Path
) -> None:
    picture = objects / "ball" / "0.jpg"
    result = run("teach", f"--{option}", "avg", state, "ball", picture)
    assert_refused(result, "keeps its parts", f"leave out --{option}")
    assert state.read_bytes() == taught


@pytest.mark.parametrize(
    ("option", "spec", "words"),
    [
        ("pooling", "momets", "did you mean 'moments'?"),
        ("pooling", "moments:r=99", "out of range"),
        ("classifier", "slda:scater=exact", "did you mean 'scatter'?"),
        ("backbone", "efficientnet_lite", "efficientnet_lite0"),
    ],
)
def test_a_wrong_spec_is_refused_and_makes_no_state(
    option: str, spec: str, words: str, objects: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new.robocle"
    assert_refused(run("teach", f"--{option}", spec, new, "ball", objects / "ball"), words)
    assert not new.exists()


def test_pictures_and_folders_that_are_not_there_are_refused(
    state: Path, taught: bytes, tmp_path: Path
) -> None:
    (tmp_path / "bare").mkdir()
    missing, bare = tmp_path / "missing.jpg", tmp_path / "bare"
    assert_refused(run("teach", state, "ball", missing), "missing.jpg", "No such file")
    assert_refused(run("teach", state, "ball", bare), "there is no picture in")
    assert_refused(run("teach", state, bare), "has no label folders")
    assert_refused(run("teach", state, missing), "missing.jpg")
    assert_refused(run("predict", state, missing), "missing.jpg", "No such file")
    assert_refused(run("predict", state, bare), "there is no picture in")
    assert state.read_bytes() == taught


def test_a_file_name_with_a_newline_is_refused_in_one_line(state: Path, tmp_path: Path) -> None:
    (tmp_path / "tea\ncup.jpg").write_bytes(b"")
    assert_refused(run("predict", state, tmp_path / "tea\ncup.jpg"), "tea cup.jpg is empty")


def test_a_state_name_that_cannot_exist_is_refused(objects: Path) -> None:
    picture = objects / "ball" / "0.jpg"
    assert_refused(run("teach", "x" * 5000, "ball", picture))
    assert_refused(run("predict", "x" * 5000, picture))


def test_a_state_in_a_folder_that_is_not_there_is_refused(objects: Path, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "home.robocle"
    assert_refused(run("teach", path, "ball", objects / "ball" / "0.jpg"), "cannot write")


def test_a_bug_shows_its_traceback(
    state: Path, objects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bug(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("robocle.embedding.read", bug)
    result = run("predict", state, objects / "ball" / "0.jpg")
    assert isinstance(result.exception, ZeroDivisionError)


def test_help_names_every_command() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for verb in ("teach", "predict", "inspect", "forget", "rename"):
        assert f"  {verb} " in result.stdout


def test_a_file_in_the_place_of_the_label_is_refused(tmp_path: Path) -> None:
    for wrong in ("mug1.jpg", "home.robocle"):
        run = CliRunner().invoke(main, ["teach", str(tmp_path / "s.robocle"), wrong, "mug2.jpg"])
        assert run.exit_code == 1
        assert "is a file, not a label" in run.stderr
    assert not list(tmp_path.iterdir())


def test_a_picture_that_cannot_be_read_is_not_left_out_unsaid(tmp_path: Path) -> None:
    (tmp_path / "pictures" / "phone").mkdir(parents=True)
    (tmp_path / "pictures" / "phone" / "photo.HEIC").write_bytes(b"x")
    state = str(tmp_path / "s.robocle")
    run = CliRunner().invoke(main, ["teach", state, str(tmp_path / "pictures")])
    assert run.exit_code == 1
    assert "photo.HEIC cannot be read: export it as JPEG" in run.stderr
