"""`robocle inspect`, `forget`, `rename` and `undo`: what is in a state, and how to change it."""

import json
from pathlib import Path

import numpy as np
import pytest

from command_line import assert_refused, run
from robocle.store import read_state
from state_files import replaced, rewrite


def test_inspect_shows_labels_counts_and_parts(state: Path) -> None:
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


def test_inspect_shows_the_counts_if_there_are_no_leave_one_out_scores(
    objects: Path, tmp_path: Path
) -> None:
    state = tmp_path / "ncm.robocle"
    run("teach", state, "ball", objects / "ball" / "0.jpg", "--classifier", "ncm")
    lines = run("inspect", state).stdout.splitlines()
    assert lines[3].split() == ["ball", "1"]


def test_inspect_as_json_prints_one_object(state: Path) -> None:
    result = run("inspect", "--json", state)
    summary = json.loads(result.stdout)
    assert [each["recognised"] for each in summary["readiness"]["labels"]] == [2, 2]
    assert summary["labels"] == {"ball": 2, "box": 2}
    assert summary["parts"] == vars(read_state(state).parts)
    assert summary["bytes"] == state.stat().st_size


@pytest.fixture(scope="session")
def sums(objects: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a state that keeps no samples."""
    state = tmp_path_factory.mktemp("sums") / "home.robocle"
    run("teach", state, objects, "--classifier", "slda:keep=0", "--pooling", "avg")
    run("export", state, state.with_name("sent"))
    return state.with_name("sent").read_bytes()


WRONG_COUNTS = {
    "none": np.zeros(0, np.int64),
    "three": np.ones(3, np.int64),
    "two axes": np.ones((2, 1), np.int64),
    "no axis": np.array(2),
    "not numbers": np.full(2, np.nan),
    "infinite": np.full(2, np.inf),
}


@pytest.mark.parametrize("name", WRONG_COUNTS)
def test_inspecting_a_state_with_wrong_counts_is_refused(
    name: str, sums: bytes, tmp_path: Path
) -> None:
    state = tmp_path / "home.robocle"
    state.write_bytes(sums)
    assert run("inspect", state).exit_code == 0
    rewrite(state, arrays=lambda found: found | {"folded.counts": WRONG_COUNTS[name]})
    assert_refused(run("inspect", state), str(state), "is damaged")


@pytest.mark.parametrize("text", ["\x1b[2Jboo", "tea\ncup"])
@pytest.mark.parametrize("entry", ["samples", "pooling"])
def test_inspect_prints_only_plain_text(entry: str, text: str, state: Path) -> None:
    samples = [[f"{number:032}", text] for number in range(4)]
    rewrite(state, replaced(**{entry: samples if entry == "samples" else text}))
    assert_refused(run("inspect", state), str(state), "is damaged")


def test_forgetting_removes_a_label(state: Path, objects: Path) -> None:
    result = run("forget", state, "ball")
    assert result.stdout == f"forgot ball; {state} knows 1 label\n"
    assert list(read_state(state).counts) == ["box"]
    prediction = run("predict", state, objects / "ball" / "2.jpg")
    assert prediction.stdout.split("\t")[1] == "unknown"
    assert prediction.stdout.endswith("most like box\n")


def test_forget_says_if_the_label_stays_in_the_shared_statistics(
    sums: bytes, tmp_path: Path
) -> None:
    state = tmp_path / "sums.robocle"
    state.write_bytes(sums)
    assert run("forget", state, "ball").stdout.splitlines() == [
        f"forgot ball; {state} knows 1 label",
        "its contribution to the shared statistics stays: it is not kept separately",
    ]


@pytest.mark.slow
def test_undo_reverts_one_command_at_a_time_until_none_is_left(state: Path, objects: Path) -> None:
    picture = objects / "ball" / "3.jpg"
    before = run("predict", "--json", state, picture).stdout
    run("teach", state, "ball", objects / "box" / "2.jpg", objects / "box" / "3.jpg")
    between = run("predict", "--json", state, picture).stdout
    run("teach", state, objects)
    assert run("undo", state).stdout.splitlines() == [
        "undid teaching 8 pictures of 'ball', 'box'",
        f"{state} knows 2 labels",
    ]
    assert run("predict", "--json", state, picture).stdout == between
    assert run("undo", state).stdout.startswith("undid teaching 2 pictures of 'ball'\n")
    assert run("predict", "--json", state, picture).stdout == before
    assert_refused(run("undo", state), "nothing to undo: no earlier step is kept")


def test_undo_lists_what_it_can_undo_and_undoes_several_steps(state: Path, objects: Path) -> None:
    run("teach", state, "toy", objects / "box" / "2.jpg")
    run("rename", state, "toy", "bag")
    run("forget", state, "ball")
    before = state.read_bytes()
    assert [line.split(None, 1) for line in run("undo", state, "--list").stdout.splitlines()] == [
        ["1", "forgetting 'ball'"],
        ["2", "renaming 'toy' to 'bag'"],
        ["3", "teaching 'toy'"],
    ]
    assert state.read_bytes() == before
    assert json.loads(run("inspect", "--json", state).stdout)["undoable"] == 3
    assert run("undo", state, "--times", "2").stdout.splitlines() == [
        "undid forgetting 'ball'",
        "undid renaming 'toy' to 'bag'",
        f"{state} knows 3 labels",
    ]


def test_undo_lists_nothing_for_a_state_without_history(state: Path) -> None:
    assert run("undo", state, "--list").stdout == "nothing can be undone\n"


def test_undo_of_more_steps_than_there_are_changes_nothing(state: Path, objects: Path) -> None:
    run("teach", state, "ball", objects / "box" / "2.jpg")
    before = state.read_bytes()
    assert_refused(run("undo", state, "--times", "3"), f"only 1 step of {state} can be undone")
    assert state.read_bytes() == before


def test_forgetting_can_be_undone_unless_it_is_for_good(state: Path, objects: Path) -> None:
    before = run("predict", "--json", state, objects / "ball" / "3.jpg").stdout
    run("forget", state, "ball")
    assert run("undo", state).stdout.startswith("undid forgetting 'ball'\n")
    assert run("predict", "--json", state, objects / "ball" / "3.jpg").stdout == before
    run("forget", state, "ball", "--for-good")
    assert_refused(run("undo", state), "nothing to undo")
    assert b"ball" not in state.read_bytes()


def test_a_renamed_label_is_predicted_under_its_new_name(state: Path, objects: Path) -> None:
    result = run("rename", state, "ball", "Kugel ⚽")
    assert result.stdout == f"ball is now Kugel ⚽ in {state}\n"
    assert list(read_state(state).counts) == ["Kugel ⚽", "box"]
    prediction = run("predict", state, objects / "ball" / "2.jpg")
    assert prediction.stdout.split("\t")[1] == "Kugel ⚽"


@pytest.mark.parametrize("spelling", ["box", " box "])
def test_a_label_that_is_renamed_to_another_one_joins_it_and_can_be_undone(
    spelling: str, state: Path, objects: Path
) -> None:
    result = run("rename", state, "ball", spelling)
    assert result.stdout == f"ball is now part of box, with 4 pictures, in {state}\n"
    assert read_state(state).counts == {"box": 4}
    assert run("predict", state, objects / "ball" / "2.jpg").stdout.split("\t")[1] == "box"
    assert run("undo", state).stdout.splitlines() == [
        "undid renaming 'ball' to 'box'",
        f"{state} knows 2 labels",
    ]
    assert read_state(state).counts == {"ball": 2, "box": 2}


def test_labels_that_do_not_exist_are_refused(state: Path, taught: bytes) -> None:
    assert_refused(run("forget", state, "bowl"), "'bowl' was never taught")
    assert_refused(run("rename", state, "bowl", "cup"), "'bowl' was never taught")
    assert state.read_bytes() == taught


def test_inspect_says_what_more_labels_would_bring(objects: Path, tmp_path: Path) -> None:
    state = tmp_path / "one.robocle"
    run("teach", state, "ball", *(objects / "ball" / f"{number}.jpg" for number in range(3)))
    printed = run("inspect", state).stdout
    assert "'ball' is the only label: similar objects are taken for it." in printed
    run("teach", state, "box", objects / "box" / "0.jpg")
    assert "is the only label" not in run("inspect", state).stdout
