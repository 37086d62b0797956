"""`robocle merge`, `export`, `import` and `recover`: states and models in other files."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from PIL import Image

from command_line import assert_refused, run
from robocle import Learner
from robocle.store import read_state
from state_files import damage


@pytest.mark.slow
def test_states_of_two_robots_can_be_merged_in_any_order(objects: Path, tmp_path: Path) -> None:
    for label in ("ball", "box"):
        first, second = (objects / label / f"{number}.jpg" for number in (0, 1))
        run("teach", tmp_path / "one", label, first)
        run("teach", tmp_path / "two", label, second)
        run("teach", tmp_path / "all", label, first, second)
    for name, order in (("ab", ("one", "two")), ("ba", ("two", "one"))):
        result = run("merge", *[tmp_path / each for each in order], "-o", tmp_path / name)
        assert result.stdout.endswith("it knows 2 labels, 4 pictures\n")
    found = [
        json.loads(run("predict", "--json", tmp_path / name, objects / "box" / "3.jpg").stdout)
        for name in ("ab", "ba", "all")
    ]
    assert found[0]["scores"] == pytest.approx(found[2]["scores"], rel=1e-6)
    assert found[1]["scores"] == pytest.approx(found[2]["scores"], rel=1e-6)
    assert_refused(run("merge", tmp_path / "one", "-o", tmp_path / "ab"), "exists")


def test_a_state_or_its_copy_is_not_imported_into_it(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    run("export", state, tmp_path / "sent")
    run("teach", state, "toy", objects / "ball" / "3.jpg")
    before = state.read_bytes()
    for file in (state, tmp_path / "sent"):
        assert_refused(run("import", state, file), str(file), "would count twice", "--again")
    assert state.read_bytes() == before
    refused = run("merge", state, tmp_path / "sent", "-o", tmp_path / "both")
    assert_refused(refused, "would count twice")
    assert not (tmp_path / "both").exists()


def test_a_file_that_was_imported_before_is_noticed_until_that_is_undone(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    mine, sent, newer = tmp_path / "mine", tmp_path / "sent", tmp_path / "newer"
    run("teach", mine, "toy", objects / "ball" / "3.jpg")
    run("export", state, sent)
    run("teach", state, "ball", objects / "ball" / "2.jpg")
    run("export", state, newer)
    assert run("import", mine, sent).exit_code == 0
    assert_refused(run("import", mine, sent), f"{sent} was merged before")
    assert_refused(run("import", mine, newer), f"{newer} was merged before")
    assert run("undo", mine).stdout.splitlines() == [
        f"undid merging 2 labels, 4 pictures of {sent}",
        f"{mine} knows 1 label",
    ]
    assert run("import", mine, newer).exit_code == 0
    assert read_state(mine).counts == {"toy": 1, "ball": 3, "box": 2}
    assert run("import", mine, sent, "--again").exit_code == 0
    assert read_state(mine).counts == {"toy": 1, "ball": 3, "box": 2}  # each picture counts once


@pytest.mark.slow
def test_files_are_replaced_only_if_asked_and_not_while_they_are_open(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    run("teach", tmp_path / "mine", "toy", objects / "ball" / "3.jpg")
    commands: list[list[str | Path]] = [
        ["export", state],
        ["merge", state, tmp_path / "mine", "-o"],
        ["recover", state],
    ]
    for command in commands:
        out = tmp_path / f"{command[0]}ed"
        run("teach", out, "old", objects / "ball" / "3.jpg")
        before = out.read_bytes()
        assert_refused(run(*command, out), str(out), "exists", "--replace")
        with Learner.open(out):
            assert_refused(run(*command, out, "--replace"), "being taught by another program")
        assert out.read_bytes() == before
        assert run(*command, out, "--replace").exit_code == 0
        assert "old" not in read_state(out).counts
    run("merge", state, tmp_path / "mine", "-o", tmp_path / "mine", "--replace")
    assert read_state(tmp_path / "mine").counts == {"ball": 2, "box": 2, "toy": 1}
    for verb in ("export", "recover"):
        assert_refused(run(verb, state, state, "--replace"), "itself", "choose another name")


def test_an_exported_state_can_be_imported_by_another_robot(
    state: Path, objects: Path, tmp_path: Path
) -> None:
    run("teach", tmp_path / "mine", "toy", objects / "ball" / "3.jpg")
    run("export", state, tmp_path / "sent")
    result = run("import", tmp_path / "mine", tmp_path / "sent")
    assert result.stdout == (
        f"imported 2 labels of {tmp_path / 'sent'}; {tmp_path / 'mine'} knows 3 labels\n"
    )
    assert run("import", tmp_path / "new", tmp_path / "sent").exit_code == 0
    assert read_state(tmp_path / "new").counts == {"ball": 2, "box": 2}


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["avg", "moments:r=3,form=root", "moments:form=standardised"])
@pytest.mark.parametrize("classifier", ["ncm", "slda"])
def test_an_exported_model_predicts_the_same_labels_with_onnx_runtime_alone(
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
        with Image.open(picture) as image:
            pixels = np.asarray(image.resize((224, 224), Image.Resampling.BILINEAR))
        ((label,),) = session.run(["label"], {"pixels": pixels[None]})
        assert label == run("predict", state, picture).stdout.split("\t")[1] == picture.parent.name
    labels = session.get_modelmeta().custom_metadata_map["robocle.labels"]
    assert json.loads(labels) == ["ball", "box"]


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


def test_the_false_rejection_rate_of_an_exported_model_is_an_option(
    state: Path, tmp_path: Path
) -> None:
    thresholds = []
    for rate in ("0", "0.2"):
        model = tmp_path / f"{rate}.onnx"
        assert run("export", state, model, "--unknown", rate).exit_code == 0
        metadata = onnxruntime.InferenceSession(model).get_modelmeta().custom_metadata_map
        assert float(metadata["robocle.unknown"]) == float(rate)
        thresholds.append(float(metadata["robocle.unknown_below"]))
    assert thresholds[0] == -np.inf < thresholds[1]


def test_a_state_to_send_has_no_false_rejection_rate(state: Path, tmp_path: Path) -> None:
    result = run("export", state, tmp_path / "sent", "--unknown", "0.05")
    assert result.exit_code == 2
    assert "--unknown is for ONNX models" in result.stderr
    assert not (tmp_path / "sent").exists()


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


@pytest.mark.slow
def test_the_intact_pictures_of_a_damaged_state_can_be_recovered(
    objects: Path, tmp_path: Path
) -> None:
    state = tmp_path / "home"
    parts = ["--classifier", "ncm", "--pooling", "avg"]
    run("teach", tmp_path / "taught", objects, *parts)
    run("export", tmp_path / "taught", state)
    damage(state, "embeddings", row=6)
    refused = run("predict", state, objects / "ball" / "0.jpg")
    assert_refused(refused, "embeddings", "row 7", "recover")
    result = run("recover", state, tmp_path / "rest")
    assert result.stdout.splitlines() == [
        "lost: a picture of 'box'",
        f"recovered 2 labels to {tmp_path / 'rest'}",
    ]
    assert read_state(tmp_path / "rest").counts == {"ball": 4, "box": 3}


def test_a_state_of_which_nothing_is_intact_is_not_recovered(objects: Path, tmp_path: Path) -> None:
    state = tmp_path / "home"
    parts = ["--classifier", "slda:keep=0", "--pooling", "avg"]
    run("teach", tmp_path / "taught", objects, *parts)
    run("export", tmp_path / "taught", state)
    damage(state, "folded.means")
    result = run("recover", state, tmp_path / "rest")
    assert result.exit_code == 1
    assert result.stdout == "lost: the sums of pictures that are not kept themselves\n"
    assert result.stderr == (
        f"robocle: nothing can be recovered from {state}: {tmp_path / 'rest'} is not written\n"
    )
    assert not (tmp_path / "rest").exists()
