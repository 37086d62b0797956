"""A learner follows the changes of others: it then equals one that has just been loaded."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from robocle import Learner
from robocle.backbones import Backbone
from robocle.classifiers import CLASSIFIERS, StreamingClassifier
from robots import (
    QUERY,
    WIDTH,
    another,
    are_close,
    loaded,
    opened,
    scores,
    teach,
    visible,
)  # fmt: skip
from stub_backbone import embedding

CLASSIFIERS_AND_OPTIONS = [
    *CLASSIFIERS.names(),
    "slda:scatter=published",
    "slda:score=cosine,shrinkage=stepped",
    "slda:covariance=blocks,blocks=3",
]
MIXED = ["a", "b", "a", "c", "b", "a", "c"]


def assert_follows(learner: Learner, path: Path) -> None:
    """Assert that a learner equals one that is loaded now, in all that can be seen of it."""
    fresh = loaded(path)
    assert list(learner.counts.items()) == list(fresh.counts.items())
    assert visible(learner) == visible(fresh)
    assert are_close(scores(learner), scores(fresh))
    assert learner.version == fresh.version


def changes(learner: Learner, older: Learner) -> list[Callable[[], object]]:
    """Return changes of all kinds, one after another."""
    return [
        lambda: teach(learner, "a", 1, seed=50),
        lambda: teach(learner, "d", 2, seed=51),
        lambda: learner.rename("d", "e"),
        lambda: learner.remove(learner.samples[3].id),
        lambda: learner.rename("e", "a"),
        lambda: learner.merge(older),
        learner.undo,
        learner.redo,
        lambda: teach(learner, "b", 1, seed=52),
        lambda: learner.forget("c"),
        learner.undo,
        lambda: learner.remove(learner.samples[-1].id, learner.samples[1].id),
        lambda: teach(learner, "g", 40, seed=53),
        learner.purge,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("classifier", CLASSIFIERS_AND_OPTIONS)
def test_every_classifier_follows_every_change_of_another_learner(
    classifier: str, tmp_path: Path
) -> None:
    path, older = tmp_path / "home", another("f", 2, classifier, seed=60)
    with opened(path, classifier) as learner, opened(path) as follower:
        for number, label in enumerate(MIXED):
            teach(learner, label, 1, seed=number)
        assert_follows(follower, path)
        for change in changes(learner, older):
            before = learner.version
            change()
            assert_follows(follower, path)
            assert_follows(learner, path)
            assert learner.version != before or change == learner.purge


@pytest.mark.parametrize(
    ("change", "is_cheap"),
    [
        (lambda learner: teach(learner, "a", 3, seed=50), True),
        (lambda learner: teach(learner, "new", 2, seed=50), True),
        (lambda learner: learner.rename("a", "z"), True),
        (lambda learner: learner.purge(), True),
        (lambda learner: learner.remove(learner.samples[3].id), False),
    ],
    ids=["teach", "teach a new label", "rename", "purge", "remove"],
)
@pytest.mark.parametrize("classifier", ["slda", "finetune", "ncm"])
def test_lessons_and_new_names_are_followed_without_learning_the_rest_again(
    change: Callable[[Learner], None],
    is_cheap: bool,
    classifier: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    restored: list[StreamingClassifier] = []
    restore = StreamingClassifier.restore

    def counted(self: StreamingClassifier, state: object) -> None:
        restored.append(self)
        restore(self, state)  # type: ignore[arg-type]

    path = tmp_path / "home"
    with opened(path, classifier) as learner, opened(path) as follower:
        for number, label in enumerate(MIXED):
            teach(learner, label, 1, seed=number)
        assert scores(follower)
        assert scores(learner)
        change(learner)
        monkeypatch.setattr(StreamingClassifier, "restore", counted)
        assert scores(follower)
        assert bool(restored) != is_cheap
        monkeypatch.undo()
        assert_follows(follower, path)


@pytest.mark.slow
@pytest.mark.parametrize("keep", [1, 4])
def test_a_learner_with_sums_follows_every_change(keep: int, tmp_path: Path) -> None:
    """Even those that only the memory has: a fleet may have more samples than are kept."""
    path, classifier = tmp_path / "fleet", f"slda:shrinkage=0.1,keep={keep}"
    rng = random.Random(keep)
    robots = [opened(tmp_path / f"{n}", classifier) for n in range(3)]
    with opened(path, classifier) as fleet, opened(path) as follower:
        for number in range(25):
            robot = rng.choice(robots)
            teach(robot, rng.choice("abc"), 1, seed=number)
            if rng.random() < 0.2 and robot.samples:
                robot.rename(robot.labels[0], rng.choice("abcd"))
            if rng.random() < 0.1:
                robot.purge()
            fleet.merge(robot)
            if rng.random() < 0.3:
                teach(fleet, rng.choice("abc"), 1, seed=100 + number)
            if rng.random() < 0.3 and fleet.steps:
                fleet.undo()
            for learner in (fleet, follower):
                assert list(learner.counts.items()) == list(loaded(path).counts.items())
                assert are_close(scores(learner), scores(loaded(path)), 1e-6)


def test_undone_lessons_bring_back_samples_that_the_memory_had_folded(tmp_path: Path) -> None:
    with opened(tmp_path / "home", "slda:keep=20") as learner:
        teach(learner, "a", 25)
        assert len(learner.samples) == 20
        for _ in range(5):
            learner.undo()
        assert visible(learner) == visible(loaded(tmp_path / "home"))
        assert len(learner.samples) == 20


# ---- faults and duplicates of pictures


def test_the_faults_of_pictures_are_part_of_their_samples(lite0: Backbone, tmp_path: Path) -> None:
    night = np.full((90, 90, 3), 3, np.uint8)
    with Learner.open(tmp_path / "home", lite0, pooling="avg", classifier="ncm") as learner:
        learner.teach(night, "mug")
        learner.teach(night + np.uint8(1), "pan", poor="accept")
        learner.teach_embedding(np.ones_like(learner.last_embedding("mug")), "jar")
        learner.save(tmp_path / "copy")
    merged = Learner(lite0, pooling="avg", classifier="ncm")
    merged.merge_files(tmp_path / "copy")
    for again in (Learner.load(tmp_path / "home", lite0), merged):
        faults = {sample.label: sample.faults for sample in again.samples}
        assert faults == {"mug": ("dark",), "pan": ("dark",), "jar": ()}
        again.rename("mug", "cup")
        again.forget("cup")
        again.undo()
        assert again.samples[0].faults == ("dark",)


def known_as(learner: Learner, seed: int = 0) -> str | None:
    """Return the label under which a picture was taught, if it is known."""
    found = learner.quality_gate("warn").check((), embedding([seed, 0], WIDTH), "another label")
    return str(found[0]).split("'")[1] if found else None


def test_a_picture_is_a_duplicate_as_long_as_its_sample_is_there(tmp_path: Path) -> None:
    other = another("cup", 1, seed=5)
    with opened(tmp_path / "home") as learner, opened(tmp_path / "home") as follower:

        def known(seed: int = 0) -> str | None:
            learners = learner, follower, loaded(tmp_path / "home")
            (label,) = {known_as(each, seed) for each in learners}
            return label

        teach(learner, "mug", 3)
        assert (known(), known(seed=7)) == ("mug", None)
        learner.rename("mug", "jug")
        assert known() == "jug"
        learner.remove(learner.samples[0].id)
        assert known() is None
        learner.undo()
        assert known() == "jug"
        learner.merge(other)
        assert known(seed=5) == "cup"
        learner.undo()
        assert known(seed=5) is None
        learner.forget("jug")
        learner.purge()
        assert known() is None


def test_a_learner_that_keeps_no_samples_knows_no_duplicates() -> None:
    learner = another("mug", 3, "slda:keep=0", seed=0)
    learner.purge()
    assert known_as(learner) is None
    assert learner.predict_embedding(QUERY).nearest == "mug"
