"""Merging is a union: the same in any order, twice and nested, and the later decision wins.

Robots teach, change and exchange what they know, in files and in memory, in any order. A model in
plain Python says what each of them must know.
"""

import random
import shutil
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import count, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from from_scratch import Lesson, equals_learning_from_scratch
from refusal import Refusal
from robocle import Learner
from robocle.errors import InexactError, NothingToUndoError, StateError
from robocle.learner.editing import merge_into
from robocle.store.change import changing
from robocle.store.state import State
from robots import WIDTH, another, are_close, in_memory, loaded, opened, scores, teach, visible
from stub_backbone import embedding

Decision = tuple[int, str | None]
"""When the label of a sample was decided, counted over all robots, and the label if it has one."""
Decisions = dict[str, Decision]
LABELS = "abc"


@dataclass
class Robot:
    """A learner in a file, and a model of what is in it."""

    learner: Learner
    known: Decisions = field(default_factory=dict)
    steps: list[tuple[bool, Decisions, Decisions]] = field(default_factory=list)
    """Whether it is a merge, and what was decided before and after it."""
    undone: list[tuple[bool, Decisions, Decisions]] = field(default_factory=list)

    @property
    def labels(self) -> dict[str, str]:
        return {id: label for id, (_, label) in self.known.items() if label is not None}

    def do(self, changed: Decisions, *, merged: bool = False) -> None:
        """Record a step, unless it changes nothing."""
        if changed:
            before = {id: self.known[id] for id in changed if id in self.known}
            self.steps.append((merged, before, changed))
            self.undone.clear()
            self.known.update(changed)

    def unite(self, other: Decisions) -> None:
        later = {id: each for id, each in other.items() if each > self.known.get(id, (0, None))}
        self.do(later, merged=True)

    def revert(self, verb: str, now: int) -> None:
        """Undo or redo a step: a decision of its own, unless the step is a merge."""
        come, gone = (self.undone, self.steps) if verb == "undo" else (self.steps, self.undone)
        merged, before, after = gone.pop()
        come.append((merged, before, after))
        wanted = before if verb == "undo" else after
        for id in after:
            if merged and id not in wanted:
                del self.known[id]
            else:
                when, label = wanted.get(id, (0, None))
                self.known[id] = (when if merged else now, label)


class Fleet:
    """Robots that perform the same random operations as their models."""

    def __init__(self, folder: Path, size: int, classifier: str) -> None:
        self.folder, self.classifier = folder, classifier
        self.robots = [Robot(opened(folder / f"{n}", classifier)) for n in range(size)]
        self.exports: list[tuple[Path, Decisions]] = []
        self.clock = count(1)

    def perform(self, number: int, verb: str, choice: int) -> Robot:
        """Let a robot do something, if it can."""
        robot, now = self.robots[number % len(self.robots)], next(self.clock)
        learner, label, new = robot.learner, LABELS[choice % 3], "abcd"[choice // 3 % 4]
        chosen = {id for id, each in robot.labels.items() if each == label}
        if verb in ("undo", "redo"):
            if robot.steps if verb == "undo" else robot.undone:
                getattr(learner, verb)()
                robot.revert(verb, now)
            else:
                with pytest.raises(NothingToUndoError):
                    getattr(learner, verb)()
        elif verb == "teach":
            before = visible(learner)
            pictures = [embedding([now, each], WIDTH) for each in range(choice % 3 + 1)]
            learner.teach_embeddings(pictures, [label] * len(pictures))
            robot.do({id: (now, label) for id in visible(learner) if id not in before})
        elif verb == "export":
            self.exports.append((self.folder / f"export{now}", dict(robot.known)))
            learner.save(self.exports[-1][0])
        elif verb == "merge files" and self.exports:
            found = [self.exports[(choice + each) % len(self.exports)] for each in range(2)]
            learner.merge_files(*(path for path, _ in found))
            robot.unite(united([known for _, known in found]))
        elif verb == "merge":
            other = self.robots[choice % len(self.robots)]
            learner.merge(other.learner)
            robot.unite(other.known)
        elif verb == "purge":
            learner.purge()
            robot.steps, robot.undone = [], []
        elif verb == "reopen":
            learner.close()
            robot.learner = Learner.open(
                self.folder / f"{self.robots.index(robot)}", learner.backbone
            )
        elif verb == "remove" and robot.labels:
            id = list(visible(learner))[choice % len(robot.labels)]
            learner.remove(id)
            robot.do({id: (now, None)})
        elif verb == "forget" and chosen:
            learner.forget(label)
            robot.do(dict.fromkeys(chosen, (now, None)))
        elif verb == "rename" and chosen and new != label:  # it may join two labels
            learner.rename(label, new)
            robot.do(dict.fromkeys(chosen, (now, new)))
        return robot

    def unions(self, rng: random.Random) -> list[Learner]:
        """Return the union of everything in several orders: one by one, twice, and nested."""
        files = [self.folder / f"{n}" for n in range(len(self.robots))]
        files += [path for path, _ in self.exports]
        united = [in_memory(self.classifier) for _ in range(3)]
        united[0].merge_files(*files)
        rng.shuffle(files)
        for path in (*files, *files):
            united[1].merge_files(path)
        left, right = in_memory(self.classifier), in_memory(self.classifier)
        left.merge_files(*files[: len(files) // 2])
        right.merge_files(*files[len(files) // 2 :])
        left.save(self.folder / "left")
        right.merge_files(self.folder / "left")
        left.merge(right)
        united[2].merge(left)
        return [*united, left, right]


def united(found: list[Decisions]) -> Decisions:
    return {id: max(each[id] for each in found if id in each) for known in found for id in known}


def operations(*verbs: str) -> st.SearchStrategy[list[tuple[int, str, int]]]:
    """Return operations: the number of a robot, a verb, and what it chooses."""
    operation = st.tuples(st.integers(0, 3), st.sampled_from(verbs), st.integers(0, 11))
    return st.lists(operation, max_size=30)


TEACH, EXCHANGE = ("teach",) * 5, ("export", "merge files", "merge files", "merge")
CHANGE = ("remove", "forget", "rename", "undo", "undo", "redo", "reopen", "purge")


@pytest.mark.slow
@settings(max_examples=25)
@given(operations(*TEACH, *CHANGE, *EXCHANGE), st.integers(2, 4), st.randoms(use_true_random=False))
def test_robots_that_exchange_what_they_know_agree_in_any_order(
    operations: list[tuple[int, str, int]], size: int, rng: random.Random
) -> None:
    folder = Path(tempfile.mkdtemp())
    fleet = Fleet(folder, size, "ncm")
    for operation in operations:
        robot = fleet.perform(*operation)
        assert visible(robot.learner) == robot.labels
        assert len(robot.learner.steps) == len(robot.steps)
        assert len(robot.learner.undone) == len(robot.undone)
    expected = united(
        [*(robot.known for robot in fleet.robots), *(known for _, known in fleet.exports)]
    )
    everything = {id: label for id, (_, label) in expected.items() if label is not None}
    first, *others = fleet.unions(rng)
    assert visible(first) == everything
    for other in others:
        assert (visible(other), other.counts) == (everything, first.counts)
        assert are_close(scores(other), scores(first))
    shutil.rmtree(folder)


# ---- samples that are not kept


KEEP = "slda:shrinkage=0.1,keep=2"


@pytest.mark.slow
@settings(max_examples=20)
@given(
    operations(*TEACH, *("purge",) * 3, "rename", "remove", "forget", "reopen", *EXCHANGE),
    st.integers(2, 4),
    st.randoms(use_true_random=False),
)
def test_unions_of_sums_are_the_same_in_any_order(
    operations: list[tuple[int, str, int]], size: int, rng: random.Random
) -> None:
    """A purge folds samples. The model does not know which."""
    folder = Path(tempfile.mkdtemp())
    fleet = Fleet(folder, size, KEEP)
    for number, verb, choice in operations:
        robot = fleet.robots[number % size]
        known = LABELS[choice % 3] if LABELS[choice % 3] in robot.learner.labels else "d"
        robot.known = dict.fromkeys(visible(robot.learner), (1, known))
        fleet.perform(number, verb, choice)
        again = loaded(folder / f"{number % size}")
        assert robot.learner.counts == again.counts
        assert are_close(scores(robot.learner), scores(again), 1e-6)
    first, *others = fleet.unions(rng)
    for other in others:
        assert other.counts == first.counts
        assert are_close(scores(other), scores(first), 1e-6)
    shutil.rmtree(folder)


@pytest.mark.slow
@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from(("teach", "teach", "teach", "fold", "export", "merge", "take in")),
            st.integers(0, 11),
        ),
        max_size=40,
    ),
    st.sampled_from(["keep=0", "keep=2", "keep=5"]),
)
def test_whatever_was_folded_counts_once_and_exactly(
    operations: list[tuple[int, str, int]], keep: str
) -> None:
    """The fleet takes in robots at any time, and robots take in a fleet that contains them."""
    folder = Path(tempfile.mkdtemp())
    robots = [opened(folder / f"{n}", f"slda:shrinkage=0.1,{keep}") for n in range(4)]
    known: list[dict[int, Lesson]] = [{} for _ in robots]  # the last one is the fleet
    exports: list[tuple[Path, dict[int, Lesson]]] = []
    for now, (number, verb, choice) in enumerate(operations):
        robot, taught = robots[number], known[number]
        if verb == "teach":
            taught[now] = embedding([now], WIDTH), LABELS[choice % 3]
            robot.teach_embedding(*taught[now])
        elif verb == "fold":
            robot.purge()
        elif verb == "export":
            exports.append((folder / f"export{now}", dict(taught)))
            robot.save(exports[-1][0])
        elif verb == "merge" and exports:
            path, content = exports[choice % len(exports)]
            robots[-1].merge_files(path)
            known[-1] |= content
        elif verb == "take in":
            robot.merge(robots[-1])
            known[number] |= known[-1]
    for robot, taught in zip(robots, known, strict=True):
        assert equals_learning_from_scratch(robot, [taught[now] for now in sorted(taught)])
    for robot in robots:
        robots[-1].merge(robot)
    everything: dict[int, Lesson] = {}
    for each in known:
        everything |= each
    assert equals_learning_from_scratch(robots[-1], [everything[now] for now in sorted(everything)])
    assert robots[-1].counts == loaded(folder / "3").counts
    shutil.rmtree(folder)


def test_a_folded_class_that_is_forgotten_and_renamed_ends_the_same_in_any_order(
    tmp_path: Path,
) -> None:
    keep = "slda:keep=1"
    robot = opened(tmp_path / "robot", keep)
    teach(robot, "a", 4)
    robot.purge()
    robot.save(tmp_path / "early")
    teach(robot, "a", 3, 2)
    robot.purge()
    robot.save(tmp_path / "late")
    forgetful, renaming = in_memory(keep), loaded(tmp_path / "early")
    forgetful.merge_files(tmp_path / "late")
    forgetful.forget("a")
    forgetful.save(tmp_path / "forgotten")
    renaming.rename("a", "c")
    renaming.save(tmp_path / "renamed")
    for order in permutations(["late", "forgotten", "renamed"]):
        union = in_memory(keep)
        for name in order:
            union.merge_files(tmp_path / name)
        union.save(tmp_path / "again", replace=True)
        assert union.counts == loaded(tmp_path / "again").counts == {"c": 6}  # one is removed


def test_the_label_of_folded_pictures_stays_renamed_when_their_robot_folds_more(
    tmp_path: Path,
) -> None:
    robot, fleet = opened(tmp_path / "robot", "slda:keep=1"), in_memory("slda:keep=1")
    teach(robot, "mug", 4)
    robot.purge()
    fleet.merge(robot)
    fleet.rename("mug", "cup")
    teach(robot, "mug", 2, seed=1)
    robot.purge()
    fleet.merge(robot)
    assert fleet.counts == {"cup": 5, "mug": 1}  # the last one is kept, and was never renamed
    robot.merge(fleet)
    assert robot.counts == fleet.counts
    teach(robot, "cup", 3, seed=2)
    robot.purge()
    fleet.merge(robot)
    assert fleet.counts == robot.counts == {"cup": 8, "mug": 1}


def test_loaded_copies_of_one_state_that_fold_different_pictures_can_be_merged(
    tmp_path: Path,
) -> None:
    another("mug", 3, "slda:keep=0").save(tmp_path / "home")
    one, two = loaded(tmp_path / "home"), loaded(tmp_path / "home")
    teach(one, "mug", 2, seed=1)
    teach(two, "pan", 2, seed=2)
    for learner in (one, two):
        learner.purge()
    one.merge(two)
    assert one.counts == {"mug": 5, "pan": 2}


def test_copied_files_that_fold_different_pictures_are_not_merged(
    tmp_path: Path, refusal: Refusal
) -> None:
    with opened(tmp_path / "one", "slda:keep=0") as learner:
        teach(learner, "mug", 3)
        learner.purge()
    shutil.copy(tmp_path / "one", tmp_path / "two")
    with opened(tmp_path / "one") as one, opened(tmp_path / "two") as two:
        one.merge(two)
        teach(one, "mug", 2, seed=1)
        one.purge()
        two.merge(one)
        assert one.counts == two.counts == {"mug": 5}
        for seed, learner in enumerate((one, two), 2):
            teach(learner, "mug", 1, seed)
            learner.purge()
        for learner, path in ((one, tmp_path / "two"), (two, tmp_path / "one")):
            assert "copy of the same file" in refusal(
                StateError, partial(learner.merge_files, path)
            )
            assert len(learner.merge_files(path, skip=True)) == 1
            assert learner.counts == {"mug": 6}


def test_a_copy_with_sums_of_the_published_scatter_can_be_taught(tmp_path: Path) -> None:
    classifier = "slda:scatter=published,keep=0"
    robot = another("mug", 3, classifier)
    robot.purge()
    robot.save(tmp_path / "home")
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug", 2, seed=1)
        learner.purge()
    lessons = [(embedding([99, number], WIDTH), "mug") for number in range(3)]
    lessons += [(embedding([1, number], WIDTH), "mug") for number in range(2)]
    assert equals_learning_from_scratch(loaded(tmp_path / "home"), lessons)


def test_sums_of_the_published_scatter_are_neither_joined_nor_merged(tmp_path: Path) -> None:
    classifier = "slda:scatter=published,keep=0"
    learner, other = another("mug", 3, classifier), another("pan", 3, classifier, seed=1)
    teach(learner, "pan", 3)
    for each in (learner, other):
        each.purge()
    other.save(tmp_path / "other")
    changes: list[Callable[[], object]] = [
        lambda: learner.rename("mug", "pan"),
        lambda: learner.merge(other),
        lambda: learner.merge_files(tmp_path / "other"),
    ]
    for change in changes:
        with pytest.raises(InexactError, match="published scatter cannot be merged or joined"):
            change()
        assert learner.counts == {"mug": 3, "pan": 3}


# ---- clocks


Clock = Callable[[int], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A function that sets how many seconds the clock of the robot is ahead."""
    real = time.time_ns

    def ahead(seconds: int) -> None:
        monkeypatch.setattr(time, "time_ns", lambda: real() + seconds * 10**9)

    return ahead


@pytest.mark.parametrize("seed", range(10))
def test_a_decision_that_was_made_after_another_one_was_seen_wins_whatever_the_clocks_say(
    seed: int, tmp_path: Path, clock: Clock
) -> None:
    rng = random.Random(seed)
    robots = [opened(tmp_path / f"{number}") for number in range(3)]
    teach(robots[0], "first", 2)
    before, label = robots[0], "first"
    for number in range(12):
        clock(rng.choice([0, -(10**9), -1, 1, 86_400, 10**8, rng.randrange(10**6)]))
        robot = rng.choice(robots)
        robot.merge(before)
        assert robot.labels == (label,)
        change = rng.choice(["rename", "remove", "undo and redo"])
        if change == "rename":
            label = f"label {number}"
            robot.rename(robot.labels[0], label)
        elif change == "remove":
            robot.remove(robot.samples[0].id)
            robot.undo()
        else:
            robot.rename(label, "other")
            robot.undo()
            robot.redo()
            label = "other"
            robot.merge(before)
        before = robot
    for robot in robots:
        robot.merge(before)
        assert robot.counts == {label: 2}


def test_a_clock_that_goes_backwards_keeps_the_order_of_teaching(
    tmp_path: Path, clock: Clock
) -> None:
    versions = []
    with opened(tmp_path / "home", "finetune") as learner:
        for number, seconds in enumerate([0, -1000, 10**6, -(10**9), 5]):
            clock(seconds)
            teach(learner, f"{number}", 2, seed=number)
            versions.append(learner.version)
        times = [sample.time for sample in learner.samples]
        assert learner.labels == loaded(tmp_path / "home").labels == ("0", "1", "2", "3", "4")
        assert are_close(scores(learner), scores(loaded(tmp_path / "home")))
    assert times == sorted(times)
    assert versions == sorted(set(versions))


# ---- what is refused


def test_a_merge_of_other_parts_or_widths_is_refused_and_changes_nothing(
    tmp_path: Path, refusal: Refusal
) -> None:
    wide = in_memory()
    wide.teach_embedding(embedding(1, WIDTH + 1), "pan")
    wide.save(tmp_path / "wide")
    with opened(tmp_path / "home") as learner:
        teach(learner, "mug")
        for other, reason in (
            (
                Learner(learner.backbone, pooling="max", classifier="ncm"),
                "what was learned with max into avg",
            ),
            (in_memory("sqda"), "what was learned with sqda"),
            (wide, f"embeddings of width {WIDTH + 1} with embeddings of width {WIDTH}"),
        ):
            message = refusal(StateError, partial(learner.merge, other))
            assert reason in message
            assert message.endswith("the other learner must have the same parts")
        (skipped,) = learner.merge_files(tmp_path / "wide", skip=True)
        assert "must have the same parts" in str(skipped)
        assert (learner.counts, learner.undoable) == ({"mug": 1}, 1)
        assert visible(loaded(tmp_path / "home")) == visible(learner)


def test_a_folder_of_states_may_contain_the_state_that_they_are_merged_into(
    tmp_path: Path,
) -> None:
    """Even if the others do not fit into a cache, and the file is locked while they are merged."""
    large = in_memory()
    large.teach_embeddings([embedding([7, n], 4000) for n in range(300)], ["mug"] * 300)
    large.save(tmp_path / "a")
    with opened(tmp_path / "b") as learner:
        learner.teach_embedding(embedding(1, 4000), "pan")
        assert learner.merge_files(tmp_path / "a", tmp_path / "b", tmp_path / "a") == []
        assert learner.counts == {"mug": 300, "pan": 1}
        learner.merge(learner)
        with opened(tmp_path / "b") as same:
            learner.merge(same)
        assert learner.undo() == "merging 3 states"
        assert learner.counts == {"pan": 1}


def test_the_memory_of_a_merge_does_not_grow_with_the_result(tmp_path: Path) -> None:
    large, small = tmp_path / "large.robocle", tmp_path / "small.robocle"
    for path, samples in ((large, 5000), (small, 5)):
        opened(path).close()
        with closing(State.open(path)) as state, changing(state) as change:
            for number in range(samples):
                change.teach(f"label{number % 5}", np.full(WIDTH, number, np.float32), "")
    tracemalloc.start()
    try:
        assert merge_into(large, [small], skip=False) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000  # a summary of all samples takes two
    with Learner.edit(large) as learner:
        assert sum(learner.counts.values()) == 5005
