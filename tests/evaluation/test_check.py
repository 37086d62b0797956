"""Which pictures a check finds, and which learner is tested on which of them."""

from pathlib import Path

import numpy as np
import pytest

from robocle.backbones import Backbone
from robocle.errors import ImageError
from robocle.evaluation.check import (
    cross_validation_tests,
    folds,
    labelled_pictures,
)
from robocle.learner import Learner
from robocle.types import Example

COUNTS = {"mug": 2, "ball": 3, "box": 5, "keys": 13}


def examples(counts: dict[str, int]) -> list[Example]:
    return [
        Example(Path(label) / f"{number}.jpg", label)
        for label, count in counts.items()
        for number in range(count)
    ]


def test_no_fold_holds_all_pictures_of_a_label() -> None:
    for fold in folds(examples(COUNTS)):
        for label, count in COUNTS.items():
            assert sum(picture.label == label for picture in fold) < count


def test_neighbours_are_in_the_same_fold() -> None:
    numbers = [
        int(picture.path.stem)
        for fold in folds(examples(COUNTS))
        for picture in fold
        if picture.label == "keys"
    ]
    assert numbers == list(range(13))


def test_a_learner_was_taught_all_folds_but_the_one_it_is_tested_on(lite0: Backbone) -> None:
    rng = np.random.default_rng(0)
    embeddings = {each: rng.random(12, np.float32) for each in examples(COUNTS)}
    fold_of = {picture: fold for fold in folds(list(embeddings)) for picture in fold}
    tested = []
    for test in cross_validation_tests(embeddings, lite0):
        alone = Learner(lite0)
        for other, embedding in embeddings.items():
            if other not in fold_of[test.picture]:
                alone.teach_embedding(embedding, other.label)
        found, expected = (
            learner.predict_embedding(embeddings[test.picture]) for learner in (test.learner, alone)
        )
        assert test.learner.counts == alone.counts
        assert found.scores == pytest.approx(expected.scores)
        tested.append(test.picture)
    assert sorted(tested, key=str) == sorted(embeddings, key=str)


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
