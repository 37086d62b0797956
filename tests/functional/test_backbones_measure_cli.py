"""`robocle backbones quantise` and `robocle backbones bench` from the command line."""

import json
import re
import shutil
from pathlib import Path

import pytest

from command_line import error_of, run
from robocle import Learner
from robocle.evaluation.datasets import dataset
from robocle.poolings import POOLINGS

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A folder with twelve pictures of each of three labels."""
    examples = dataset("home").examples()
    for label in sorted({example.label for example in examples})[:3]:
        folder = tmp_path / "kitchen" / label
        folder.mkdir(parents=True)
        pictures = [example.path for example in examples if example.label == label][:12]
        for number, path in enumerate(pictures):
            shutil.copy(path, folder / f"{number}.jpg")
    return tmp_path / "kitchen"


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robocle.evaluation.backbones.speed.SECONDS", 0.1)


@pytest.mark.exhaustive
def test_quantise_adds_a_backbone_and_compares_it_with_the_original(
    kitchen: Path, tmp_path: Path
) -> None:
    result = run("backbones", "quantise", "efficientnet_lite0", "--calibrate", kitchen)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert f"added efficientnet_lite0_int8, calibrated on 16 pictures of {kitchen}" in result.output
    assert re.search(r"speed +\d\.\d\dx", result.output)
    assert re.search(r"size +2\d % of the original", result.output)
    assert re.search(r"cosine 0\.9\d+", result.output)
    assert re.search(r"accuracy +[\d.]+ % before, [\d.]+ % as int8", result.output)
    assert re.search(r"^loses .*, \d\.\dx as fast: ", result.output, flags=re.MULTILINE)
    assert max(map(len, result.output.replace(str(tmp_path), "").splitlines())) <= 100
    again = error_of("backbones", "quantise", "efficientnet_lite0", "--calibrate", kitchen)
    assert again.startswith("efficientnet_lite0_int8 exists already")
    label = next(kitchen.iterdir()).name
    state = tmp_path / "small.robocle"
    taught = run(
        "teach", state, label, kitchen / label / "0.jpg", "--backbone", "efficientnet_lite0_int8"
    )
    assert taught.exit_code == 0, taught.output
    assert Learner.load(state).predict(kitchen / label / "1.jpg").label == label
    assert run("export", state, tmp_path / "small.onnx").exit_code == 0
    assert "efficientnet_lite0_int8" in run("backbones").output


@pytest.mark.exhaustive
@pytest.mark.usefixtures("briefly")
def test_a_state_whose_int8_backbone_was_removed_says_how_to_make_it_again(
    kitchen: Path, tmp_path: Path, cache: Path
) -> None:
    # A small input: what is said does not depend on it.
    quantise = ("backbones", "quantise", "efficientnet_lite0:size=64", "--calibrate")
    label = next(kitchen.iterdir()).name
    picture, state = kitchen / label / "0.jpg", tmp_path / "small.robocle"
    assert run(*quantise, kitchen).exit_code == 0
    twin = ("--backbone", "efficientnet_lite0_64_int8")
    assert run("teach", state, label, picture, *twin).exit_code == 0
    assert run("backbones", "remove", "efficientnet_lite0_64_int8").exit_code == 0

    line = error_of("predict", state, picture)
    command = "robocle backbones quantise efficientnet_lite0:size=64 --calibrate FOLDER"
    assert f"the backbone efficientnet_lite0_64_int8 is not installed: run {command}" in line
    assert line.endswith(f" to {cache / 'backbones' / 'added' / 'efficientnet_lite0_64_int8'}")
    assert command in error_of("teach", tmp_path / "new.robocle", label, picture, *twin)

    others = tmp_path / "others"
    for number, path in enumerate(sorted(kitchen.rglob("*.jpg"))[:16]):
        others.mkdir(exist_ok=True)
        shutil.copy(path, others / f"{number}.jpg")
    assert run(*quantise, others).exit_code == 0
    line = error_of("predict", state, picture)
    assert "was learned on another efficientnet_lite0_64_int8 (sha " in line
    assert "with the pictures it was calibrated on before" in line


@pytest.mark.parametrize("name", ["mynet_int8", "timm:vit_tiny_int8"])
def test_the_hint_names_the_original_of_any_int8_backbone(name: str, tmp_path: Path) -> None:
    line = error_of("teach", tmp_path / "s", "mug", tmp_path / "m.jpg", "--backbone", name)
    original = name.removesuffix("_int8")
    assert f"run robocle backbones quantise {original} --calibrate FOLDER" in line


def test_a_folder_without_pictures_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    line = error_of(
        "backbones", "quantise", "efficientnet_lite0", "--calibrate", tmp_path / "empty"
    )
    assert "has 0 pictures, but calibration needs" in line


@pytest.mark.slow
@pytest.mark.usefixtures("briefly")
def test_bench_prints_a_table_of_times_and_one_of_frames_per_second_or_json() -> None:
    result = run("backbones", "bench", "efficientnet_lite0")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 100
    times = next(line for line in lines if line.startswith("efficientnet_lite0"))
    assert len(times.split()) == 1 + 1 + 4
    head = [line for line in lines if line.startswith("backbone")][1]
    assert head.split()[1:] == [name for name in POOLINGS.names() if name != "cls"]
    record = json.loads(run("backbones", "bench", "efficientnet_lite0", "--json").output)
    assert record["name"] == "efficientnet_lite0"
    assert 13 < record["megabytes"] < 15
    assert set(record["milliseconds"]) == {"1 x 1", "1 x 2", "16 x 1", "16 x 2"}
    assert 0 < record["frames_per_second"]["moments"] < 10_000


def test_bench_rejects_a_number_of_threads() -> None:
    assert "remove threads" in error_of("backbones", "bench", "efficientnet_lite0:threads=2")
