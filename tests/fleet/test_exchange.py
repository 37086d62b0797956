"""From states to messages and back, without a network: any order, pins, choices, folding."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

from fleet_log import Log, logged
from robocle.errors import StateError
from robocle.store.change import Change, changing
from robocle.store.state import State
from robots import are_close, opened, scores, teach

KEEP = "slda:keep=40"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with logged(tmp_path) as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_in_any_order_all_states_become_equal(log: Log, seed: int) -> None:
    rng = np.random.default_rng(seed)
    learners = [log.robot(name) for name in "abc"]
    for number in range(40):
        learner = learners[rng.integers(3)]
        labels = learner.labels
        what = rng.integers(7)
        if what < 3 or not labels:
            teach(learner, ("mug", "pan", "cup")[rng.integers(3)], 1, seed=number + 10)
        elif what == 3:
            learner.rename(str(rng.choice(labels)), ("mug", "pan")[rng.integers(2)])
        elif what == 4:
            learner.remove(learner.samples[rng.integers(len(learner.samples))].id)
        elif what == 5:
            learner.set_badge(str(rng.choice(labels)), ("", "#ff0000", "#00ff00")[rng.integers(3)])
        elif learner.undoable:
            learner.undo()
        if rng.random() < 0.3:
            log.publish()
            log.take(rng)
    for _ in range(3):
        log.publish()
        log.take(rng)
    found = log.labels()
    assert found[0]
    assert found[0] == found[1] == found[2]
    assert learners[0].badges == learners[1].badges == learners[2].badges
    assert all(are_close(scores(each), scores(learners[0]), 1e-6) for each in learners)
    before = len(log.messages)
    log.publish()
    assert len(log.messages) == before


def test_what_is_shared_is_a_choice(log: Log) -> None:
    everyone, kitchen = log.robot("everyone"), log.robot("kitchen", labels=("mug",))
    private, reader = (
        log.robot("private", private=("passport",)),
        log.robot("reader", read_only=True),
    )
    for learner in (everyone, kitchen, private, reader):
        teach(learner, "mug", 1, seed=20 + learner.version % 97)
        teach(learner, "passport", 1, seed=40 + learner.version % 97)
    private.set_badge("passport", "#ff0000")
    log.exchange()
    assert everyone.badges == {}
    assert everyone.counts == {"own-everyone": 2, "mug": 3, "passport": 1, "own-private": 2}
    assert kitchen.counts == {"own-kitchen": 2, "mug": 3, "passport": 1}
    assert private.counts == {"own-everyone": 2, "own-private": 2, "mug": 3, "passport": 2}
    assert reader.counts == {"own-everyone": 2, "own-private": 2, "own-reader": 2, "mug": 4,
                             "passport": 2}  # fmt: skip
    log.robots["private"].close()
    log.robot("private")  # joins again and keeps nothing private
    log.robots["kitchen"].close()
    log.robot("kitchen")
    log.exchange()
    assert everyone.counts["passport"] == kitchen.counts["passport"] == 3
    assert kitchen.counts["own-everyone"] == 2


def test_a_robot_that_joins_again_with_fewer_labels_keeps_what_it_was_taught(
    log: Log, tmp_path: Path
) -> None:
    first, second = log.robot("first"), log.robot("second")
    teach(first, "mug", 1, seed=30)
    log.exchange()
    first.close()
    log.robots.pop("first").close()
    (tmp_path / "first.robocle").rename(tmp_path / "moved.robocle")  # under another name
    moved = log.robot("moved", labels=("mug",))
    log.exchange()
    assert log.robots["moved"].settle_all() == []
    assert moved.counts == {"own-first": 2, "mug": 1}
    assert second.counts == {"own-first": 2, "own-second": 2, "mug": 1}


def test_what_becomes_private_is_removed_elsewhere(log: Log) -> None:
    private = log.robot("private", private=("passport",))
    kitchen = log.robot("kitchen", labels=("mug",))
    other = log.robot("other")
    teach(private, "passport", 2, seed=30)
    teach(kitchen, "mug", 2, seed=31)
    log.exchange()
    private.rename("passport", "papers")
    log.exchange()
    assert other.counts["papers"] == 2
    private.undo()
    private.rename("own-other", "passport")
    kitchen.rename("mug", "cup")
    log.exchange()
    assert other.counts == {"own-private": 2}
    assert private.counts == {"own-private": 2, "passport": 4}
    assert kitchen.counts == {"own-kitchen": 2, "cup": 2}
    before = len(log.messages)
    log.exchange()
    assert len(log.messages) == before
    private.rename("passport", "papers")
    log.exchange()
    log.exchange()
    assert other.counts == {"own-private": 2, "papers": 4}
    assert b"passport" not in b"".join(each.payload for each in log.messages)


def test_badges_are_shared_like_labels(log: Log) -> None:
    first, second = log.robot("first"), log.robot("second")
    kitchen = log.robot("kitchen", labels=("mug",))
    log.exchange()
    good = len(log.messages)
    first.set_badge("own-first", "\N{HOT BEVERAGE}")
    second.set_badge("own-first", "#00ff00")
    teach(first, "mug", 1, seed=30)
    first.set_badge("mug", "#ff0000")
    log.exchange()
    badges = {"own-first": "#00ff00", "mug": "#ff0000"}  # of two, the later choice counts
    assert first.badges == second.badges == badges
    assert kitchen.badges == {"mug": "#ff0000"}
    second.set_badge("mug", "")
    log.exchange()
    assert first.badges == second.badges == {"own-first": "#00ff00"}
    assert kitchen.badges == {}
    log.pin(good)
    log.take()
    assert first.badges == second.badges == {}
    first.set_badge("own-first", "#0000ff")  # after the pin: it stays, and waits
    log.exchange()
    assert first.badges == {"own-first": "#0000ff"}
    assert second.badges == {}
    log.pin(0)
    log.exchange()
    assert first.badges == second.badges == {"own-first": "#0000ff"}
    before = len(log.messages)
    log.publish()
    assert len(log.messages) == before


def decide_before_the_next_change(patch: pytest.MonkeyPatch, decide: Callable[[], object]) -> None:
    """Let a user decide just before an exchange writes to its state."""

    def after_a_decision(state: State) -> AbstractContextManager[Change]:
        patch.setattr("robocle.fleet.exchange.changing", changing)
        decide()
        return changing(state)

    patch.setattr("robocle.fleet.exchange.changing", after_a_decision)


def test_a_decision_that_comes_while_messages_are_taken_in_counts(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = log.robot("first"), log.robot("second")
    log.exchange()
    second.set_badge("own-first", "#00ff00")
    second.rename("own-first", "mug")
    log.publish()

    def decide() -> None:
        first.set_badge("own-first", "#ff0000")
        first.rename("own-first", "beaker")

    decide_before_the_next_change(monkeypatch, decide)
    log.take()
    log.exchange()
    assert first.counts == second.counts == {"beaker": 2, "own-second": 2}
    assert first.badges == second.badges


def test_a_merge_that_is_redone_while_it_is_undone_for_all_stays(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "other.robocle", "slda") as other:
        teach(other, "fan", 2, seed=44)
    first, second = log.robot("first"), log.robot("second")
    first.merge_files(tmp_path / "other.robocle")
    log.exchange()
    log.robots["first"].settle_all()
    first.undo()
    decide_before_the_next_change(monkeypatch, first.redo)
    log.exchange()
    assert first.counts == second.counts == {"fan": 2, "own-first": 2, "own-second": 2}


def test_what_others_forget_and_bring_back_while_a_robot_has_lessons_to_publish(log: Log) -> None:
    first, second = log.robot("first"), log.robot("second")
    log.exchange()
    log.robots["first"].settle_all()
    teach(first, "mug", 1, seed=30)
    second.forget("own-second")
    log.publish("second")
    second.undo()
    log.publish("second")
    for message in log.messages:
        log.settle(log.robots["first"], "first", [message])
    log.exchange()
    assert first.counts == second.counts == {"own-first": 2, "own-second": 2, "mug": 1}


def test_a_pin_holds_what_came_before_it_and_what_the_robot_is_taught_itself(log: Log) -> None:
    first, second = log.robot("first"), log.robot("second", group="slow")
    log.exchange()
    good = len(log.messages)
    before = log.labels()[0]
    teach(first, "wrong", 2, seed=30)
    first.rename("own-second", "wrong")
    log.exchange()
    teach(second, "unpublished", 1, seed=31)
    log.pin(good)
    log.take()
    assert log.labels()[0] == before
    assert second.counts == {"own-first": 2, "own-second": 2, "unpublished": 1}
    log.exchange()  # what was published after the pin waits for the pin to be lifted
    assert first.counts == {"own-first": 2, "own-second": 2}
    assert second.counts["unpublished"] == 1
    log.pin(0)
    log.take()
    assert first.counts == {"own-first": 2, "wrong": 4, "unpublished": 1}
    log.pin(good, "slow")
    log.take()
    assert "wrong" in first.counts
    assert "wrong" not in second.counts
    first.forget("wrong")
    log.pin(0)
    log.exchange()
    assert second.counts == first.counts == {"own-first": 2, "unpublished": 1}
    assert log.labels()[0] == log.labels()[1]


def test_what_a_robot_is_taught_stays_while_a_pin_is_moved(log: Log) -> None:
    first, second = log.robot("first"), log.robot("second")
    log.exchange()
    good = len(log.messages)
    teach(first, "wrong", 2, seed=30)
    teach(second, "hidden", 1, seed=31)
    log.exchange()
    log.pin(good)
    log.take()
    teach(second, "own", 1, seed=32)
    log.exchange()
    log.pin(good + 1)
    log.take()
    assert first.counts == {"own-first": 2, "own-second": 2, "wrong": 1}
    assert second.counts == {"own-first": 2, "own-second": 2, "wrong": 1, "own": 1}
    log.pin(0)
    log.take()
    log.pin(good)
    log.take()
    assert "own" not in second.counts


def test_a_pin_of_a_group_that_a_robot_has_left_does_not_hold(log: Log) -> None:
    first, second = log.robot("first"), log.robot("second", group="slow")
    log.exchange()
    log.pin(len(log.messages), "slow")
    teach(first, "mug", 2, seed=30)
    log.exchange()
    assert "mug" not in second.counts
    log.robots["second"].close()
    log.robot("second")
    missing = log.robots["second"].settle_all()
    log.robots["second"].take([log.messages[each - 1] for each in missing], "second")
    assert second.counts["mug"] == 2


def test_an_interrupted_pin_is_finished_at_the_next_start(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = log.robot("first"), log.robot("second")
    log.exchange()
    teach(first, "mug", 3, seed=30)
    log.exchange()
    log.pin(4)
    exchange = log.robots["second"]
    with monkeypatch.context() as patch:
        patch.setattr(exchange, "settle_all", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            log.take()
    exchange.close()
    log.robot("second")
    restarted = log.robots["second"]
    assert restarted.known["unsettled"]
    assert restarted.settle_all() == []
    log.publish()
    assert second.counts == {"own-first": 2, "own-second": 2}
    assert not [each for each in log.messages if each.robot == "second" and each.sequence > 8]


@pytest.mark.slow
def test_more_samples_than_a_robot_keeps_are_folded(tmp_path: Path) -> None:
    with logged(tmp_path, KEEP) as log:
        learners = [log.robot(name) for name in "abcd"]
        for number in range(240):
            label, seed = f"label{number % 5}", 1000 + number
            teach(learners[number % 4], label, 1, seed=seed)
            if number % 60 == 59:
                log.exchange()
        for learner in learners:
            assert sum(learner.counts.values()) == 248
            assert len(learner.samples) <= 40 + 64 + 8
            assert are_close(scores(learner), scores(learners[0]), 1e-3)
        learners[0].rename("label0", "joined")  # most of their samples are folded by now
        log.exchange()
        learners[1].rename("label1", "joined")
        log.exchange()
        learners[2].forget("label2")
        log.exchange()
        for learner in learners:
            assert learner.counts == learners[0].counts
            assert learner.counts["joined"] == 96
            assert "label2" not in learner.counts
        log.pin(3)
        for name, exchange in log.robots.items():
            exchange.take(log.messages[-1:], name)
            assert "after the pin stay: they are folded" in exchange.refused.pop()
    with logged(tmp_path, KEEP) as log, pytest.raises(StateError, match="beyond what is kept"):
        log.robot("a").merge_files(tmp_path / "b.robocle")
