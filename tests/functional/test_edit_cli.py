"""`robocle inspect`, `forget`, `rename`, `undo`, `redo`: what is in a state, and changes of it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_refused, counts_of, run
from robocle import Learner


def summary_of(state: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("inspect", "--json", state).stdout)
    return found


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
    assert shown["pooling"] == summary_of(state)["parts"]["pooling"]


def test_inspect_shows_the_counts_if_there_are_no_leave_one_out_scores(
    objects: Path, tmp_path: Path
) -> None:
    state = tmp_path / "ncm.robocle"
    run("teach", state, "ball", objects / "ball" / "0.jpg", "--classifier", "ncm")
    lines = run("inspect", state).stdout.splitlines()
    assert lines[3].split() == ["ball", "1"]


def test_inspect_as_json_prints_one_object(state: Path) -> None:
    summary = summary_of(state)
    assert [each["recognised"] for each in summary["readiness"]["labels"]] == [2, 2]
    assert summary["labels"] == {"ball": 2, "box": 2}
    with Learner.edit(state) as learner:
        assert summary["parts"] == vars(learner.parts)
    assert summary["bytes"] == state.stat().st_size
    assert summary["steps"] == summary["undone"] == []


def test_inspect_finds_damage_that_no_row_shows(state: Path) -> None:
    with closing(sqlite3.connect(state)) as file:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'samples_changed'"
        (page,) = file.execute(query).fetchone()
    content = bytearray(state.read_bytes())
    content[4096 * (page - 1) + 8 : 4096 * page] = bytes(4088)
    state.write_bytes(content)
    assert_refused(run("inspect", state), str(state), "is damaged", "`robocle recover`")


@pytest.fixture(scope="session")
def sums(objects: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a state that keeps no samples."""
    state = tmp_path_factory.mktemp("sums") / "home.robocle"
    run("teach", state, objects, "--classifier", "slda:keep=0", "--pooling", "avg")
    with Learner.edit(state) as learner:
        learner.purge()
    return state.read_bytes()


def test_forgetting_removes_a_label(state: Path, objects: Path) -> None:
    result = run("forget", state, "ball")
    assert result.stdout == f"forgot ball; {state} knows 1 label\n"
    assert list(counts_of(state)) == ["box"]
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
def test_undo_and_redo_revert_one_command_at_a_time_until_none_is_left(
    state: Path, objects: Path
) -> None:
    def prediction() -> str:
        return run("predict", "--json", state, objects / "ball" / "3.jpg").stdout

    before = prediction()
    run("teach", state, "ball", objects / "box" / "2.jpg", objects / "box" / "3.jpg")
    between = prediction()
    run("teach", state, objects)
    after = prediction()
    assert run("undo", state).stdout.splitlines() == [
        "undid teaching 8 pictures of 'ball', 'box'",
        f"{state} knows 2 labels",
    ]
    assert prediction() == between
    assert run("undo", state).stdout.startswith("undid teaching 2 pictures of 'ball'\n")
    assert prediction() == before
    assert_refused(run("undo", state), "nothing to undo: no earlier step is kept")
    assert run("redo", state).stdout.splitlines() == [
        "redid teaching 2 pictures of 'ball'",
        f"{state} knows 2 labels",
    ]
    assert prediction() == between
    assert run("redo", state).exit_code == 0
    assert prediction() == after
    assert_refused(run("redo", state), "nothing to redo: no step was undone last")


def test_steps_are_listed_and_several_are_undone_and_redone(state: Path, objects: Path) -> None:
    def steps_of(verb: str) -> list[list[str]]:
        return [line.split(None, 1) for line in run(verb, state, "--list").stdout.splitlines()]

    run("teach", state, "toy", objects / "box" / "2.jpg")
    run("rename", state, "toy", "bag")
    run("forget", state, "ball")
    before = state.read_bytes()
    assert steps_of("undo") == [
        ["1", "forgetting 'ball'"],
        ["2", "renaming 'toy' to 'bag'"],
        ["3", "teaching 'toy'"],
    ]
    assert state.read_bytes() == before
    assert summary_of(state)["undoable"] == 3
    assert run("undo", state, "--times", "2").stdout.splitlines() == [
        "undid forgetting 'ball'",
        "undid renaming 'toy' to 'bag'",
        f"{state} knows 3 labels",
    ]
    assert steps_of("redo") == [["1", "renaming 'toy' to 'bag'"], ["2", "forgetting 'ball'"]]
    assert run("redo", state, "--times", "2").stdout.splitlines() == [
        "redid renaming 'toy' to 'bag'",
        "redid forgetting 'ball'",
        f"{state} knows 2 labels",
    ]
    assert counts_of(state) == {"box": 2, "bag": 1}


@pytest.mark.parametrize("verb", ["undo", "redo"])
def test_a_state_without_history_lists_nothing(verb: str, state: Path) -> None:
    assert run(verb, state, "--list").stdout == f"nothing can be {verb}ne\n"


def test_undo_and_redo_of_more_steps_than_there_are_change_nothing(state: Path) -> None:
    run("forget", state, "ball")
    before = state.read_bytes()
    assert_refused(run("undo", state, "--times", "3"), f"only 1 step of {state} can be undone")
    assert state.read_bytes() == before
    run("undo", state)
    before = state.read_bytes()
    assert_refused(run("redo", state, "--times", "2"), f"only 1 step of {state} can be redone")
    assert state.read_bytes() == before


def test_undo_and_redo_of_a_step_do_nothing_if_another_one_is_next(state: Path) -> None:
    run("rename", state, "ball", "toy")
    (mine,) = summary_of(state)["steps"]
    run("forget", state, "box")
    before = state.read_bytes()
    refused = run("undo", state, "--step", mine["id"])
    assert_refused(refused, "nothing was changed: the next step to undo is now forgetting 'box'")
    assert state.read_bytes() == before
    run("undo", state)
    assert run("undo", state, "--step", mine["id"]).stdout.startswith("undid renaming 'ball'")
    first, second = summary_of(state)["undone"]
    assert first == mine
    assert_refused(run("redo", state, "--step", second["id"]), "the next step to redo is now")
    assert run("redo", state, "--step", first["id"]).exit_code == 0
    assert counts_of(state) == {"toy": 2, "box": 2}
    several = run("undo", state, "--step", first["id"], "--times", "2")
    assert several.exit_code == 2
    assert "--step is for one step" in several.stderr


def test_forgetting_can_be_undone_unless_it_is_for_good(state: Path, objects: Path) -> None:
    before = run("predict", "--json", state, objects / "ball" / "3.jpg").stdout
    with closing(sqlite3.connect(state)) as file:
        ((embedding,), *_) = file.execute("SELECT embedding FROM samples WHERE label = 'ball'")
    run("forget", state, "ball")
    assert run("undo", state).stdout.startswith("undid forgetting 'ball'\n")
    assert run("predict", "--json", state, objects / "ball" / "3.jpg").stdout == before
    assert embedding[:64] in state.read_bytes()
    run("forget", state, "ball", "--purge")
    assert_refused(run("undo", state), "nothing to undo")
    assert b"ball" not in state.read_bytes()
    assert embedding[:64] not in state.read_bytes()


def test_a_renamed_label_is_predicted_under_its_new_name(state: Path, objects: Path) -> None:
    result = run("rename", state, "ball", "Kugel ⚽")
    assert result.stdout == f"ball is now Kugel ⚽ in {state}\n"
    assert list(counts_of(state)) == ["Kugel ⚽", "box"]
    prediction = run("predict", state, objects / "ball" / "2.jpg")
    assert prediction.stdout.split("\t")[1] == "Kugel ⚽"


def test_a_label_that_has_the_name_already_is_not_renamed(state: Path, taught: bytes) -> None:
    result = run("rename", state, "ball", " ball ")
    assert result.stdout == f"ball has this name already in {state}: nothing was changed\n"
    assert state.read_bytes() == taught


@pytest.mark.parametrize("spelling", ["box", " box "])
def test_a_label_that_is_renamed_to_another_one_joins_it_and_can_be_undone(
    spelling: str, state: Path, objects: Path
) -> None:
    result = run("rename", state, "ball", spelling)
    assert result.stdout == f"ball is now part of box, with 4 pictures, in {state}\n"
    assert counts_of(state) == {"box": 4}
    assert run("predict", state, objects / "ball" / "2.jpg").stdout.split("\t")[1] == "box"
    assert run("undo", state).stdout.splitlines() == [
        "undid renaming 'ball' to 'box'",
        f"{state} knows 2 labels",
    ]
    assert counts_of(state) == {"ball": 2, "box": 2}


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
