"""`robocle data check` on copies of data sets that are whole, and on others."""

from pathlib import Path

import pytest
from PIL import Image

from command_line import assert_refused, run
from robocle.evaluation.datasets.fsiol import CATEGORIES

pytestmark = pytest.mark.slow
FACTORS = ("clutter", "illumination", "occlusion", "pixel")


def planted(root: Path, names: list[str]) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"not empty")
    return root


def openloris(root: Path, objects: int = 121) -> Path:
    labels = [f"thing{number % 40}_{number // 40:02d}" for number in range(objects)]
    return planted(
        root,
        [
            f"{split}/{factor}/segment{segment}/{label}/{split}.jpg"
            for split in ("train", "test")
            for factor in FACTORS
            for segment in range(1, 10)
            for label in labels
        ],
    )


def test_openloris_is_counted_by_factor_level_and_object(tmp_path: Path) -> None:
    root = openloris(tmp_path, objects=41)
    (root / "test/pixel/segment4/thing0_00/test.jpg").unlink()
    (root / "test/pixel/segment1/thing3_00/test.jpg").write_bytes(b"")
    result = run("data", "check", "openloris", root, "--objects")
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert f"openloris in {root}: 2951 pictures" in lines
    assert "split pictures objects classes" in lines
    assert "test 1475 41 40" in lines
    assert "clutter 738 41 40" in lines
    assert "pixel, level 2 245 41 40" in lines
    assert "object pictures" in lines  # the rest is 1 in each row
    assert "thing0_00 71" in lines
    assert "class pictures objects" in lines
    assert "missing: 80 of 121 objects; the folder validation" in lines
    assert f"empty files: {root / 'test/pixel/segment1/thing3_00/test.jpg'}" in lines
    table = [line for line in lines if line.startswith("table")]
    assert "table1 OpenLORIS yes: 1476 pictures taught, 1475 tested" in table
    no = "no: there is no validation folder in"
    assert any(f"OpenLORIS-small, validation tested {no}" in line for line in table)
    assert "the paper's data have 40 classes and more than 10,000 test pictures" in result.stdout
    assert lines[-1] == f"run: robocle paper 1 --data openloris={root}"


def test_a_missing_segment_is_named(tmp_path: Path) -> None:
    root = openloris(tmp_path, objects=3)
    for number in (2, 3):
        for folder in (root / "train/clutter" / f"segment{number}").iterdir():
            (folder / "train.jpg").unlink()
    result = run("data", "check", "openloris", root)
    assert "train/clutter: segment2, segment3" in result.stdout


def test_fsiol_of_the_papers_size_has_no_caution(tmp_path: Path) -> None:
    counts = dict.fromkeys(CATEGORIES, 28)
    names = [f"object_images/{name}/{k}.jpg" for name in counts for k in range(counts[name])]
    whole = run("data", "check", "fsiol", planted(tmp_path / "whole", names))
    assert "not the paper's data" not in whole.stdout
    assert "missing" not in whole.stdout
    few = [name for name in names if "/mug/" not in name][:-1]
    other = run("data", "check", "fsiol", planted(tmp_path / "few", few))
    gaps = "missing: the category mug; a picture of toothpaste: pairs may be wrong"
    assert gaps in other.stdout
    assert "not the paper's data: 21 classes" in other.stdout


def test_a_folder_of_your_own_says_what_can_be_run(tmp_path: Path) -> None:
    for label, count in (("mug", 12), ("pan", 7)):
        (tmp_path / label).mkdir()
        for number in range(count):
            Image.new("RGB", (64, 64)).save(tmp_path / label / f"{number}.png")
    result = run("data", "check", "folder", tmp_path)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "mug 12 -" in lines
    assert "comparison class_iid:shots=5 yes: 10 pictures taught, 9 tested" in lines
    expected = (
        "class_iid:shots=10 no: 11 pictures of each class are needed, 10 to teach and 1 to test"
    )
    assert any(f"{expected}; pan has 7: " in line for line in lines)
    command = f"robocle bench comparison --dataset folder --data {tmp_path}"
    assert lines[-1] == f"run: {command} --scenario class_iid:shots=5"


def test_another_layout_is_an_error_of_one_line(tmp_path: Path) -> None:
    assert_refused(run("data", "check", "fsiol", tmp_path), "no object_images folder")
    assert_refused(run("data", "check", "opneloris", tmp_path), "did you mean 'openloris'")
