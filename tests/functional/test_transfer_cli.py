"""`robocle merge`, `export` and `recover`: states and models in other files."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from PIL import Image

from command_line import assert_one_line, assert_refused, counts_of, run
from robocle import Learner
from robocle.classifiers.labels import UNKNOWN
from stub_backbone import STUB, embedding


@pytest.fixture
def mine(objects: Path, tmp_path: Path) -> Path:
    """A state that was taught one picture of a toy."""
    path = tmp_path / "mine.robocle"
    assert run("teach", path, "toy", objects / "ball" / "3.jpg").exit_code == 0
    return path


def damage(state: Path, where: str = "label = 'box'", table: str = "samples") -> None:
    """Flip a bit in one embedding, or in the numbers of sums."""
    column = "embedding" if table == "samples" else "numbers"
    with closing(sqlite3.connect(state)) as file:
        query = f"SELECT {column} FROM {table} WHERE {where}"
        (numbers,) = file.execute(query).fetchone()
    content = bytearray(state.read_bytes())
    content[content.index(numbers[:64]) + 1] ^= 1
    state.write_bytes(content)


@pytest.fixture
def damaged(taught: bytes, tmp_path: Path) -> Path:
    """A state with one damaged picture."""
    path = tmp_path / "damaged"
    path.write_bytes(taught)
    damage(path)
    return path


@pytest.mark.slow
def test_states_of_two_robots_can_be_merged_in_any_order(objects: Path, tmp_path: Path) -> None:
    for label in ("ball", "box"):
        first, second = (objects / label / f"{number}.jpg" for number in (0, 1))
        run("teach", tmp_path / "one", label, first)
        run("teach", tmp_path / "two", label, second)
        run("teach", tmp_path / "all", label, first, second)
    for new, order in (("ab", ("one", "two")), ("ba", ("two", "one"))):
        result = run("merge", tmp_path / new, *[tmp_path / each for each in order])
        assert result.stdout == (
            f"merged 2 states into {tmp_path / new}; it knows 2 labels, 4 pictures\n"
        )
    ab, ba, expected = (
        json.loads(run("predict", "--json", tmp_path / name, objects / "box" / "3.jpg").stdout)
        for name in ("ab", "ba", "all")
    )
    assert ab == ba
    assert ab["scores"] == pytest.approx(expected["scores"], rel=1e-6)


def test_a_state_is_merged_into_another_one_and_that_can_be_undone_and_redone(
    state: Path, mine: Path
) -> None:
    result = run("merge", mine, state)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"merged 1 state into {mine}; it knows 3 labels, 5 pictures\n"
    assert run("undo", mine).stdout == f"undid merging {state}\n{mine} knows 1 label\n"
    assert counts_of(mine) == {"toy": 1}
    assert run("redo", mine).exit_code == 0
    assert counts_of(mine) == {"toy": 1, "ball": 2, "box": 2}


def test_a_picture_counts_once_however_often_its_state_is_merged(
    state: Path, mine: Path, objects: Path, tmp_path: Path
) -> None:
    assert run("merge", mine, state).stdout.startswith("merged 1 state into ")
    for file in (state, mine):
        result = run("merge", mine, file)
        assert result.exit_code == 0
        assert result.stdout == f"{mine} had all of it already; it knows 3 labels, 5 pictures\n"
    assert counts_of(mine) == {"toy": 1, "ball": 2, "box": 2}
    assert run("undo", mine, "--list").stdout.splitlines()[0].endswith(f"merging {state}")
    assert run("inspect", mine).stdout.count("2 steps") == 1  # nothing new is no step
    run("export", state, tmp_path / "old.robocle")
    run("teach", state, "ball", objects / "ball" / "2.jpg")
    run("forget", state, "box")
    run("export", state, tmp_path / "newer.robocle")
    for name in (
        "newer.robocle",
        "old.robocle",
    ):  # of two versions the later decision counts, in any order
        assert run("merge", mine, tmp_path / name).exit_code == 0
        assert counts_of(mine) == {"toy": 1, "ball": 3}


@pytest.mark.parametrize("label", [None, "mug", UNKNOWN])
def test_a_merge_into_a_new_state_says_whether_anything_was_added(
    label: str | None, objects: Path, tmp_path: Path
) -> None:
    with Learner.open(tmp_path / "other.robocle") as other:
        if label:
            other.teach(objects / "ball" / "0.jpg", label)
    new = tmp_path / "new.robocle"
    for is_added in (label is not None, False):
        said = run("merge", new, tmp_path / "other.robocle").stdout
        done = f"merged 1 state into {new}" if is_added else f"{new} had all of it already"
        assert said.startswith(f"{done}; it knows ")


def test_labels_that_differ_in_case_only_are_named_when_they_are_merged(
    state: Path, mine: Path
) -> None:
    run("rename", mine, "toy", "BALL")
    result = run("merge", mine, state)
    joins = f"`robocle rename {mine} ball BALL` joins them"
    expected = f"robocle: 'ball' and 'BALL' are two labels: {joins}\n"
    assert (result.exit_code, result.stderr) == (0, expected)
    assert run("merge", mine, state).stderr == ""  # only when they are new
    assert run("rename", mine, "BALL", "ball").exit_code == 0
    assert counts_of(mine) == {"ball": 3, "box": 2}


def test_a_damaged_file_is_named_and_nothing_is_merged_unless_it_is_skipped(
    state: Path, mine: Path, damaged: Path, tmp_path: Path
) -> None:
    before = mine.read_bytes()
    for target in (mine, tmp_path / "new"):
        refused = run("merge", target, state, damaged)
        assert_refused(refused, str(damaged), "is damaged", "`robocle recover`")
    assert mine.read_bytes() == before
    assert not (tmp_path / "new").exists()
    for target, files in ((mine, (state, damaged)), (tmp_path / "new", (damaged, state))):
        result = run("merge", target, *files, "--unreadable", "skip")
        assert result.exit_code == 0
        assert_one_line(result.stderr)
        assert result.stderr.startswith(f"robocle: skipped: {damaged} is damaged")
        assert result.stdout.startswith(f"merged 1 state into {target}; ")
    assert counts_of(tmp_path / "new") == {"ball": 2, "box": 2}


def test_if_no_file_can_be_merged_the_command_fails(mine: Path, damaged: Path) -> None:
    before = mine.read_bytes()
    skip = ("--unreadable", "skip")
    assert_refused(run("merge", mine, damaged, *skip), str(damaged), "is damaged")
    result = run("merge", mine, damaged, damaged, *skip)
    assert result.exit_code == 1
    assert result.stderr.endswith("robocle: none of the 2 files can be merged\n")
    assert mine.read_bytes() == before


def test_a_state_with_other_parts_is_not_merged(
    state: Path, mine: Path, objects: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    run("teach", other, "pan", objects / "box" / "3.jpg", "--pooling", "avg")
    before = mine.read_bytes()
    for target in (mine, tmp_path / "new"):
        assert_refused(run("merge", target, state, other), str(other), "avg")
    assert mine.read_bytes() == before
    assert not (tmp_path / "new").exists()
    result = run("merge", mine, other, state, "--unreadable", "skip")
    assert result.stderr.startswith("robocle: skipped: cannot merge what was learned with avg")
    assert str(other) in result.stderr
    assert counts_of(mine) == {"toy": 1, "ball": 2, "box": 2}


def test_a_missing_file_is_named_and_no_state_is_created(mine: Path, tmp_path: Path) -> None:
    for target in (mine, tmp_path / "new"):
        refused = run("merge", target, tmp_path / "gone")
        assert_refused(refused, f"there is no state file {tmp_path / 'gone'}")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine.robocle"]


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["export", "recover"])
def test_a_file_is_replaced_only_if_asked_and_a_program_that_has_it_open_follows(
    verb: str, state: Path, mine: Path
) -> None:
    before = mine.read_bytes()
    assert_refused(run(verb, state, mine), str(mine), "exists", "--replace")
    assert mine.read_bytes() == before
    with Learner.edit(mine) as learner:
        assert run(verb, state, mine, "--replace").exit_code == 0
        assert learner.counts == counts_of(mine) == {"ball": 2, "box": 2}
        learner.rename("ball", "toy")
    assert counts_of(mine) == {"toy": 2, "box": 2}
    assert_refused(run(verb, state, state, "--replace"), "itself", "choose another name")


def test_an_exported_model_contains_the_threshold_for_unknown_objects(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    run("export", state, tmp_path / "home.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "home.onnx")
    threshold = float(session.get_modelmeta().custom_metadata_map["robocle.unknown_below"])
    noise = np.random.default_rng(0).integers(0, 255, (1, 224, 224, 3), np.uint8)
    with Image.open(objects / "ball" / "2.jpg") as image:
        ball = np.asarray(image.resize((224, 224)))[None]
    best = [session.run(["scores"], {"pixels": pixels})[0].max() for pixels in (noise, ball)]
    assert best[0] < threshold < best[1]


def test_the_rate_of_an_exported_model_is_an_option(state: Path, tmp_path: Path) -> None:
    thresholds = []
    for rate in ("1", "0.2"):
        model = tmp_path / f"{rate}.onnx"
        assert run("export", state, model, "--false-accept", rate).exit_code == 0
        metadata = onnxruntime.InferenceSession(model).get_modelmeta().custom_metadata_map
        assert float(metadata["robocle.false_accept"]) == float(rate)
        thresholds.append(float(metadata["robocle.unknown_below"]))
    assert thresholds[0] == -np.inf < thresholds[1]


def test_a_state_to_send_has_no_rate(state: Path, tmp_path: Path) -> None:
    result = run("export", state, tmp_path / "sent", "--false-accept", "0.05")
    assert result.exit_code == 2
    assert "--false-accept is for ONNX models" in result.stderr
    assert "--float32 is for ONNX" in run("export", state, tmp_path / "sent", "--float32").stderr
    assert run("export", state, tmp_path / "model.onnx", "--float32").exit_code == 0
    assert not (tmp_path / "sent").exists()


@pytest.mark.parametrize("name", ["a.tflite", "a.ONNX.zip", "a"])
def test_an_export_to_a_file_of_another_kind_is_refused(
    name: str, state: Path, tmp_path: Path
) -> None:
    refused = run("export", state, tmp_path / name)
    assert_refused(refused, f"{tmp_path / name} ends neither in .robocle", "nor in .onnx")
    assert not (tmp_path / name).exists()


def test_the_last_samples_are_folded_before_an_export_which_needs_no_backbone(
    tmp_path: Path,
) -> None:
    state, sent = tmp_path / "home.robocle", tmp_path / "sent.robocle"
    with Learner.open(state, STUB, pooling="avg", classifier="slda:keep=0") as learner:
        for number in range(10):
            learner.teach_embedding(embedding(number, 24), "mug")
    state.chmod(0o444)
    refused = run("export", state, sent)
    assert_refused(refused, f"cannot copy {state}: its last samples must be folded first (keep=0)")
    assert not sent.exists()
    state.chmod(0o644)
    assert run("export", state, sent).stdout == f"exported 1 label to {sent}\n"
    with closing(sqlite3.connect(sent)) as file:
        samples = "SELECT count(embedding) FROM samples WHERE fold IS NULL"
        assert file.execute(samples).fetchone() == (0,)
    assert counts_of(sent) == {"mug": 10}
    state.chmod(0o444)  # now there is nothing to fold
    assert run("export", state, tmp_path / "again.robocle").exit_code == 0


@pytest.mark.parametrize(
    ("option", "spec", "words"),
    [
        ("--pooling", "max", "only avg, moments and focus"),
        ("--classifier", "sqda", "use ncm or slda"),
    ],
)
def test_a_learner_that_cannot_be_converted_to_onnx_is_refused(
    option: str, spec: str, words: str, objects: Path, tmp_path: Path
) -> None:
    run("teach", tmp_path / "home", "ball", objects / "ball" / "0.jpg", option, spec)
    assert_refused(run("export", tmp_path / "home", tmp_path / "x.onnx"), words)
    assert not (tmp_path / "x.onnx").exists()


def test_the_intact_pictures_of_a_damaged_state_can_be_recovered(
    damaged: Path, objects: Path, tmp_path: Path
) -> None:
    refused = run("predict", damaged, objects / "ball" / "0.jpg")
    assert_refused(refused, f"{damaged} is damaged", "`robocle recover` saves what is intact")
    result = run("recover", damaged, tmp_path / "rest")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "lost: 1 picture of 'box'",
        f"recovered 3 pictures to {tmp_path / 'rest'}",
    ]
    assert counts_of(tmp_path / "rest") == {"ball": 2, "box": 1}
    predicted = run("predict", tmp_path / "rest", objects / "ball" / "2.jpg")
    assert predicted.stdout.split("\t")[1] == "ball"


def test_recovery_takes_the_parts_of_another_state_if_they_are_lost(
    state: Path, mine: Path, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(state)) as file:
        ((page,),) = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'parts'")
    content = bytearray(state.read_bytes())
    for start in [
        at for at in range(0, len(content), 4096) if b"efficientnet" in content[at : at + 4096]
    ]:
        content[start : start + 4096] = bytes(4096)
    assert page
    state.write_bytes(content)
    refused = run("recover", state, tmp_path / "rest")
    assert refused.exit_code == 1
    assert "has lost the names of its parts: give a state with the same parts as --like" in (
        refused.stderr
    )
    assert not (tmp_path / "rest").exists()
    result = run("recover", state, tmp_path / "rest", "--like", mine)
    assert result.exit_code == 0, result.stderr
    assert counts_of(tmp_path / "rest") == {"ball": 2, "box": 2}


def test_a_state_of_which_nothing_is_intact_is_not_recovered(objects: Path, tmp_path: Path) -> None:
    state = tmp_path / "home"
    parts = ["--classifier", "slda:keep=0", "--pooling", "avg"]
    run("teach", state, objects, *parts)
    with Learner.edit(state) as learner:
        learner.purge()
    damage(state, "name LIKE 'scatter%'", "sums")
    result = run("recover", state, tmp_path / "rest")
    assert result.exit_code == 1
    assert result.stdout == "lost: the sums of 8 pictures that are not kept\n"
    assert result.stderr == (
        f"robocle: nothing can be recovered from {state}: {tmp_path / 'rest'} is not written\n"
    )
    assert not (tmp_path / "rest").exists()
