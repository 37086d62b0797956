"""Which pictures a check finds, which learner is tested on which of them, and what is advised."""

from pathlib import Path

import numpy as np
import pytest

from robocle.backbones import Backbone
from robocle.errors import ImageError
from robocle.evaluation.check import cross_validation_tests, folds, labelled_pictures
from robocle.evaluation.check_result import (
    CONDITIONS,
    CORRUPTED,
    CheckedPrediction,
    CheckResult,
    Tally,
    under_corruption,
    weaknesses,
)
from robocle.evaluation.corruptions import corruption
from robocle.learner import Learner
from robocle.reports.check import as_text
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
    for learner, picture in cross_validation_tests(embeddings, lite0):
        alone = Learner(lite0)
        for other, embedding in embeddings.items():
            if other not in fold_of[picture]:
                alone.teach_embedding(embedding, other.label)
        found, expected = (each.predict_embedding(embeddings[picture]) for each in (learner, alone))
        assert learner.counts == alone.counts
        assert found.scores == pytest.approx(expected.scores)
        tested.append(picture)
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


def test_a_folder_without_pictures_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="there is no picture in"):
        labelled_pictures([tmp_path])


def predictions(
    label: str, mistakes: dict[str, str | None], *, taught: bool = True
) -> list[CheckedPrediction]:
    """One prediction per condition, right except for the given mistakes."""
    picture = Example(Path(label) / "0.jpg", label)
    right = label if taught else None
    return [
        CheckedPrediction(picture, taught, each, 0, mistakes.get(each, right))
        for each in CONDITIONS
    ]


def test_a_taught_object_is_right_unknown_or_wrong() -> None:
    found = predictions("mug", {"noise": None, "blur": "bowl"})
    assert [each.outcome for each in found] == ["right", "right", "right", "unknown", "wrong"]


def test_an_object_that_was_not_taught_is_right_when_it_is_called_unknown() -> None:
    found = predictions("stool", {"blur": "chair"}, taught=False)
    assert [each.outcome for each in found] == ["right"] * 4 + ["wrong"]


def test_the_tally_under_corruption_leaves_out_clean_pictures() -> None:
    result = CheckResult(tuple(predictions("mug", {"noise": None, "blur": "bowl"})), "a learner")
    tallies = result.by_condition(taught=True)
    assert tallies["clean"] == Tally(right=1)
    assert under_corruption(tallies) == Tally(right=2, unknown=1, wrong=1)
    assert under_corruption(tallies).total == len(CORRUPTED)


def test_the_weakest_label_comes_first_with_what_to_do() -> None:
    result = CheckResult(
        (
            *predictions("ball", {}),
            *predictions("mug", {"blur": "bowl"}),
            *predictions("cup", {"noise": None, "illum": None}),
            *predictions("box", {"clean": "mug", "blur": "mug", "geom": "mug", "noise": "mug"}),
        ),
        "a learner",
    )
    box, cup, mug = weaknesses(result)
    assert (box.label, box.taken_for, box.advice) == ("box", "mug", corruption("clean").advice)
    assert (cup.label, cup.taken_for, cup.advice) == ("cup", None, corruption("illum").advice)
    assert str(mug) == (
        "mug: 1 of 1 right as it is, 0 of 1 out of focus, otherwise mostly taken for bowl: "
        + corruption("blur").advice
    )


def test_a_label_that_is_always_recognised_gets_no_advice() -> None:
    assert as_text(CheckResult(tuple(predictions("ball", {})), "a learner")).endswith(
        "\n\nevery label is recognised well in every condition"
    )


def test_objects_that_were_not_taught_have_a_table_of_their_own() -> None:
    unknown = predictions("stool", {"blur": "chair"}, taught=False)
    text = as_text(CheckResult((*predictions("ball", {}), *unknown), "home.robocle"))
    assert 'objects that were not taught ("unknown" is right): stool' in text
    assert "stool: 1 of 1 called unknown as it is, 0 of 1 out of focus" in text
    assert text.count("all but clean") == 2
