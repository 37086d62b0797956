"""Which pictures a check finds, and which labels they get."""

from pathlib import Path

import pytest

from robocle.errors import ImageError
from robocle.evaluation.check import labelled_pictures


def found(*paths: Path) -> list[tuple[str, str]]:
    return [(picture.path.name, picture.label) for picture in labelled_pictures(paths)]


def test_a_folder_of_label_folders_equals_the_label_folders(objects: Path) -> None:
    assert found(objects) == found(objects / "ball", objects / "box")
    assert found(objects)[0] == ("0.jpg", "ball")
    assert len(found(objects)) == 8


def test_a_single_picture_has_the_label_of_its_folder(
    objects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(objects / "box" / "1.jpg") == [("1.jpg", "box")]
    monkeypatch.chdir(objects / "box")
    assert found(Path("1.jpg")) == [("1.jpg", "box")]
    assert {label for _, label in found(Path())} == {"box"}


def test_a_picture_given_twice_counts_once(objects: Path) -> None:
    assert found(objects, objects / "ball", objects / "ball" / "0.jpg") == found(objects)


def test_a_label_may_have_folders_in_several_places(objects: Path, tmp_path: Path) -> None:
    for place in ("kitchen", "hall"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "ball").symlink_to(objects / "ball")
    (tmp_path / "hall" / "back").symlink_to(tmp_path)  # a loop
    assert {label for _, label in found(tmp_path)} == {"ball"}


def test_hidden_folders_and_other_files_are_ignored(objects: Path, tmp_path: Path) -> None:
    (tmp_path / "ball" / ".thumbnails").mkdir(parents=True)
    for name in ("ball/0.jpg", "ball/.thumbnails/0.jpg"):
        (tmp_path / name).write_bytes((objects / "ball" / "0.jpg").read_bytes())
    (tmp_path / "ball" / "notes.txt").write_text("a ball")
    assert found(tmp_path) == [("0.jpg", "ball")]


def test_a_folder_without_pictures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="there is no picture in"):
        labelled_pictures([tmp_path])
