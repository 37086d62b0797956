"""Robots that fold: what they are taught reaches the others, and sums follow their samples."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_log import Log, logged
from robocle import Learner
from robots import WIDTH, are_close, opened, scores, teach
from stub_backbone import embedding

pytestmark = pytest.mark.slow
KEEP = "slda:keep=20"
BOTH = {"cup": 60, "mug": 60}


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """A log, and two robots that were taught 60 cups and 60 mugs: "folds", and "keeps" all."""
    with logged(tmp_path, KEEP) as found:
        folds = opened(tmp_path / "folds.robocle", KEEP)
        teach(folds, "cup")
        found.robot("folds")
        found.classifier = "slda"
        keeps = opened(tmp_path / "keeps.robocle", "slda")
        teach(keeps, "mug", seed=1)
        found.robot("keeps")
        found.exchange()
        taught(keeps, 118)
        settled(found)
        assert folds.counts == keeps.counts == BOTH
        assert folded(folds) > 20
        yield found


def taught(learner: Learner, pictures: int) -> None:
    """Teach as many cups as mugs at once."""
    lessons = [embedding([300, number], WIDTH) for number in range(pictures)]
    learner.teach_embeddings(lessons, ["cup", "mug"] * (pictures // 2))


def settled(log: Log) -> None:
    """Let robots exchange until there is nothing more."""
    for exchange in log.robots.values():
        exchange.settle_all()
    while True:
        before = len(log.messages)
        log.exchange()
        if len(log.messages) == before:
            return


def folded(learner: Learner) -> int:
    """Return how many samples are folded."""
    path = learner._learned.state.path
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        query = "SELECT count(*) FROM samples WHERE fold > 0 AND pictures = 0"
        return int(connection.execute(query).fetchone()[0])


def robots(log: Log) -> tuple[Learner, Learner]:
    """Return the learner that folds, and the one that keeps all."""
    folds, keeps = (opened(log.folder / f"{name}.robocle") for name in log.robots)
    return folds, keeps


@pytest.mark.parametrize("who", ["folds", "keeps"])
@pytest.mark.parametrize("what", ["joins two labels", "forgets", "renames"])
def test_an_undone_decision_on_a_folded_label_is_undone_for_all(
    log: Log, who: str, what: str
) -> None:
    folds, keeps = robots(log)
    learner = folds if who == "folds" else keeps
    if what == "forgets":
        learner.forget("mug")
    else:
        learner.rename("cup", "mug" if what == "joins two labels" else "beaker")
    wanted = learner.counts
    settled(log)
    assert folds.counts == keeps.counts == wanted
    learner.undo()
    settled(log)
    assert folds.counts == keeps.counts == BOTH
    assert are_close(scores(folds), scores(keeps), 1e-3)
    learner.redo()
    settled(log)
    assert folds.counts == keeps.counts == wanted


def test_a_single_folded_sample_that_is_removed_does_not_hold_back_its_sum(log: Log) -> None:
    folds, keeps = robots(log)
    keeps.remove(next(each.id for each in keeps.samples if each.label == "mug"))
    settled(log)
    counts = folds.counts, keeps.counts
    assert counts == (BOTH, {"cup": 60, "mug": 59})
    keeps.forget("mug")
    settled(log)
    assert folds.counts == keeps.counts == {"cup": 60}
    keeps.undo()
    settled(log)
    assert (folds.counts, keeps.counts) == counts
    folds.forget("mug")
    settled(log)
    folds.undo()
    settled(log)
    assert (folds.counts, keeps.counts) == counts


def test_two_robots_decide_on_folded_labels_at_the_same_time(log: Log) -> None:
    folds, keeps = robots(log)
    folds.rename("cup", "mug")
    keeps.rename("mug", "beaker")
    log.take()
    settled(log)
    assert folds.counts == keeps.counts == {"mug": 60, "beaker": 60}


def test_a_label_that_is_taught_again_has_another_sum(log: Log) -> None:
    folds, keeps = robots(log)
    folds.rename("cup", "beaker")
    settled(log)
    lessons = [embedding([301, number], WIDTH) for number in range(100)]
    keeps.teach_embeddings(lessons, ["cup"] * 100)
    settled(log)
    assert folds.counts == keeps.counts == {"beaker": 60, "cup": 100, "mug": 60}
    keeps.forget("beaker")
    settled(log)
    assert folds.counts == keeps.counts == {"cup": 100, "mug": 60}
    keeps.undo()
    folds.rename("cup", "mug")
    settled(log)
    assert folds.counts == keeps.counts == {"beaker": 60, "mug": 160}
    keeps.teach_embeddings(lessons[:80], ["fan"] * 80)  # the sums of two labels become one
    settled(log)
    keeps.rename("mug", "pan")
    settled(log)
    assert folds.counts == keeps.counts == {"beaker": 60, "fan": 80, "pan": 160}


def test_a_folded_label_that_becomes_private_is_removed_elsewhere(log: Log) -> None:
    folds, keeps = robots(log)
    log.robots["folds"].close()
    log.classifier = KEEP
    log.robot("folds", private=("passport",))
    settled(log)
    folds.rename("mug", "passport")
    settled(log)
    assert folds.counts == {"cup": 60, "passport": 60}
    assert keeps.counts == {"cup": 60}
    folds.rename("passport", "beaker")
    settled(log)
    assert folds.counts == keeps.counts == {"cup": 60, "beaker": 60}
    assert b"passport" not in b"".join(each.payload for each in log.messages)


@pytest.mark.parametrize("who", ["folds", "keeps"])
def test_what_is_taught_beyond_what_is_kept_is_published_first(log: Log, who: str) -> None:
    folds, keeps = robots(log)
    before = folded(folds)
    taught(folds if who == "folds" else keeps, 200)
    assert folded(folds) == before
    settled(log)
    assert folds.counts == keeps.counts == {"cup": 160, "mug": 160}
    assert are_close(scores(folds), scores(keeps), 1e-3)
    assert folded(folds) >= 320 - 20 - 64
    assert folded(keeps) == 0


def test_a_robot_that_has_left_folds_as_before(log: Log) -> None:
    folds, _ = robots(log)
    log.robots["folds"].close()
    log.robots.pop("folds").known.path.unlink()
    before = folded(folds)
    taught(folds, 200)
    assert folded(folds) > before + 100
    assert folds.counts == {"cup": 160, "mug": 160}
