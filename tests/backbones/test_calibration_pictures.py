"""Which pictures calibrate an int8 backbone, and which ones test it."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from refusal import Refusal
from robocle.errors import DataError, ImageError
from robocle.evaluation.backbones.int8 import (
    FEWEST,
    MOST,
    calibration_pictures,
    check_pictures,
    pixel_batches,
)


def fill(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        Image.new("RGB", (32, 24), (number % 256, 90, 160)).save(folder / f"{number:04}.png")
    return folder


@pytest.mark.parametrize("count", [0, FEWEST - 1])
def test_a_folder_with_too_few_pictures_is_rejected(
    tmp_path: Path, count: int, refusal: Refusal
) -> None:
    fill(tmp_path, count)
    message = refusal(DataError, lambda: calibration_pictures(tmp_path))
    assert f"has {count} pictures, but calibration needs {FEWEST}" in message
    assert "no such" in refusal(ImageError, lambda: calibration_pictures(tmp_path / "no such"))


def test_pictures_are_drawn_from_subfolders_and_are_always_the_same(
    tmp_path: Path,
) -> None:
    fill(tmp_path / "kitchen" / "mug", 60)
    fill(tmp_path, 30)
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    found = calibration_pictures(tmp_path)
    assert found == calibration_pictures(tmp_path)
    assert len(found) == len(set(found)) == 30
    assert {path.parent.name for path in found} == {"mug", tmp_path.name}
    shapes = [batch.shape for batch in pixel_batches(found[:6], 48)]
    assert shapes == [(4, 48, 48, 3), (2, 48, 48, 3)]


def test_the_number_of_pictures_is_limited(tmp_path: Path) -> None:
    assert len(calibration_pictures(fill(tmp_path, 3 * MOST + 30))) == MOST


def test_calibration_pictures_are_not_used_for_testing(tmp_path: Path) -> None:
    for label in ("ball", "box"):
        fill(tmp_path / label, 20)
    calibrated = calibration_pictures(tmp_path)
    check = check_pictures(tmp_path, calibrated)
    assert not {example.path for example in check.examples} & set(calibrated)
    assert {example.label for example in check.examples} == {"ball", "box"}
    assert "without the calibration pictures" in check.described


def test_an_official_split_is_kept(tmp_path: Path) -> None:
    for label in ("ball", "box"):
        fill(tmp_path / "train" / label, 20)
        fill(tmp_path / "test" / label, 10)
    check = check_pictures(tmp_path, calibration_pictures(tmp_path))
    assert {example.split for example in check.examples} == {"train", "test"}


@pytest.mark.parametrize("per_label", [0, 5])
def test_the_rendered_home_is_used_if_there_are_too_few_labelled_pictures(
    tmp_path: Path, per_label: int
) -> None:
    fill(tmp_path, 30)
    for label in ("ball", "box"):
        fill(tmp_path / label, per_label)
    check = check_pictures(tmp_path, calibration_pictures(tmp_path))
    assert check.described == "the rendered home"
    assert len({example.label for example in check.examples}) == 29
    assert np.isin(["train", "test"], [example.split for example in check.examples]).all()
