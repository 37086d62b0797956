"""`robocle samples` and `robocle remove`: the taught pictures one by one, and those that hurt."""

import json
import re
from datetime import datetime
from pathlib import Path

import pytest
from PIL import Image

from command_line import assert_refused, counts_of, run
from robocle import Learner
from robocle.recognition.readiness import TaughtSample

HEAD = ["id", "label", "taught", "recognised", "when", "left", "out"]


@pytest.fixture
def mistaken(state: Path, objects: Path) -> Path:
    """A state that was taught eight pictures, the last one, of a ball, as a box."""
    run("teach", state, "ball", objects / "ball" / "3.jpg")
    run("teach", state, "box", *(objects / "box" / f"{number}.jpg" for number in (2, 3)))
    run("teach", state, "box", objects / "ball" / "2.jpg")
    return state


def samples_of(state: Path) -> list[TaughtSample]:
    with Learner.edit(state) as learner:
        return learner.samples


def ids_of(state: Path) -> list[str]:
    return [sample.id for sample in samples_of(state)]


def shown_by(*arguments: str | Path) -> list[list[str]]:
    """Return the words of each line that a command prints."""
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return [line.split() for line in result.stdout.splitlines()]


def test_samples_are_listed_with_their_id_label_and_time(state: Path) -> None:
    result = run("samples", state)
    assert (result.exit_code, result.stderr) == (0, "")
    head, *lines = [line.split() for line in result.stdout.splitlines()]
    assert head == HEAD
    assert [line[0] for line in lines] == [id[:8] for id in ids_of(state)]
    assert [line[1] for line in lines] == ["ball", "ball", "box", "box"]
    times = [sample.time for sample in samples_of(state)]
    shown = [datetime.strptime(f"{line[2]} {line[3]}", "%Y-%m-%d %H:%M") for line in lines]
    assert all(0 <= time - at.timestamp() < 60 for time, at in zip(times, shown, strict=True))
    assert all(re.fullmatch(r"\d+%", line[4]) and len(line) == 5 for line in lines)


def test_a_picture_that_is_taken_for_another_label_is_marked(mistaken: Path) -> None:
    *_, last = shown_by("samples", mistaken)
    assert last[1] == "box"
    assert last[5:8] == ["taken", "for", "ball"]


def test_the_faults_of_a_picture_are_listed(state: Path, objects: Path, tmp_path: Path) -> None:
    with Image.open(objects / "ball" / "2.jpg") as image:
        image.point([level // 12 for level in range(256)] * 3).save(tmp_path / "dark.png")
    run("teach", state, "ball", tmp_path / "dark.png")
    *_, last = shown_by("samples", state)
    assert last[1] == "ball"
    assert last[5].startswith("dark")


def test_pictures_that_cannot_be_left_out_are_listed_without_a_judgement(
    objects: Path, tmp_path: Path
) -> None:
    state = tmp_path / "home.robocle"
    for label in ("ball", "box"):
        run("teach", state, label, objects / label / "0.jpg")
        _, *lines = shown_by("samples", state)
        assert all(line[4:] == ["-"] for line in lines)


def test_samples_of_one_label_are_listed(state: Path) -> None:
    for spelling in ("box", " box"):
        head, *lines = shown_by("samples", state, "--label", spelling)
        assert head == HEAD
        assert [line[0] for line in lines] == [id[:8] for id in ids_of(state)[2:]]
    refused = run("samples", state, "--label", "bal")
    assert_refused(refused, "the label 'bal' was never taught: did you mean 'ball'?")


def test_the_doubtful_pictures_are_listed_with_the_command_that_removes_them(
    mistaken: Path,
) -> None:
    *others, wrong = ids_of(mistaken)
    result = run("samples", mistaken, "--doubtful", "1")
    _, *lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [wrong[:8]]
    assert result.stderr == f"`robocle remove {mistaken} {wrong[:8]}` removes 1 picture\n"
    removed = run("remove", mistaken, wrong[:8])
    assert removed.stdout == f"removed 1 picture; {mistaken} knows 2 labels\n"
    assert ids_of(mistaken) == others
    assert run("samples", mistaken, "--doubtful", "3").stdout == "no picture is doubtful\n"


def test_samples_as_json_are_one_object_per_line(mistaken: Path) -> None:
    result = run("samples", mistaken, "--json")
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["id"] for each in found] == ids_of(mistaken)
    keys = ["id", "label", "time", "recognised", "taken_for", "would_help", "faults"]
    assert [list(each) for each in found] == [keys] * 8
    assert (found[-1]["label"], found[-1]["taken_for"]) == ("box", "ball")
    assert 0 <= found[-1]["recognised"] < 0.5
    (doubtful,) = run("samples", mistaken, "--doubtful", "1", "--json").stdout.splitlines()
    assert json.loads(doubtful)["id"] == found[-1]["id"]
    ball = run("samples", mistaken, "--doubtful", "1", "--json", "--label", "ball").output
    assert json.loads(ball)["label"] == "ball"


def test_a_state_that_keeps_no_samples_lists_none(objects: Path, tmp_path: Path) -> None:
    state = tmp_path / "home.robocle"
    run("teach", state, "ball", objects / "ball" / "0.jpg", "--classifier", "slda:keep=0")
    assert run("samples", state).stdout == "no pictures\n"
    assert run("samples", state, "--json").stdout == ""
    assert_refused(run("remove", state, "x"), "there is no sample 'x'")


def test_removed_pictures_come_back_with_an_undo(state: Path, objects: Path) -> None:
    picture = objects / "ball" / "3.jpg"
    before, ids = run("predict", "--json", state, picture).stdout, ids_of(state)
    result = run("remove", state, ids[0], ids[1])
    assert result.stdout == f"removed 2 pictures; {state} knows 1 label\n"
    assert counts_of(state) == {"box": 2}
    assert run("undo", state).stdout.splitlines() == [
        "undid removing 2 pictures",
        f"{state} knows 2 labels",
    ]
    assert ids_of(state) == ids
    assert run("predict", "--json", state, picture).stdout == before


def test_ids_that_do_not_exist_are_refused_and_nothing_is_removed(
    state: Path, taught: bytes
) -> None:
    id = ids_of(state)[0]
    for wrong in ("nothing", "f" * 32, "", f"{id}0"):
        refused = run("remove", state, id, wrong)
        assert_refused(refused, f"there is no sample '{wrong}': `robocle samples STATE` lists the")
    assert state.read_bytes() == taught
