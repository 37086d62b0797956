"""A state against a model: two learners that have it open, restarts, crashes and other programs."""

import shutil
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from random_operations import LABELS, Words, is_result_of, perform
from robocle import Learner
from robocle.errors import NothingToUndoError
from stub_backbone import STUB

labels = st.sampled_from(LABELS)
both = st.integers(0, 1)


class Store(RuleBasedStateMachine):
    """Two learners in one file, and the operations that it must amount to."""

    @initialize(classifier=st.sampled_from(["ncm", "slda"]))
    def begin(self, classifier: str) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "home"
        self.learners = [
            Learner.open(self.path, STUB, pooling="avg", classifier=classifier) for _ in range(2)
        ]
        self.operations: list[Words] = []
        self.number = 0

    def key(self) -> str:
        self.number += 1
        return str(self.number)

    def do(self, who: int, words: Words) -> None:
        perform(self.learners[who], words)
        self.operations.append(words)

    @rule(who=both, label=labels, verb=st.sampled_from(["teach", "teach", "merge"]))
    def add(self, who: int, label: str, verb: str) -> None:
        self.do(who, [verb, "", label, self.key()])

    @rule(who=both, label=labels, pictures=st.sampled_from([2, 12]))
    def teach_a_folder(self, who: int, label: str, pictures: int) -> None:
        step = self.key()
        with self.learners[who].step():
            for _ in range(pictures):
                self.do(who, ["teach", step, label, self.key()])

    @rule(who=both, verb=st.sampled_from(["undo", "undo", "redo"]))
    def revert(self, who: int, verb: str) -> None:
        with suppress(NothingToUndoError):
            self.do(who, [verb, ""])

    @rule(who=both, label=labels, verb=st.sampled_from(["forget", "remove"]))
    def take_away(self, who: int, label: str, verb: str) -> None:
        if label in self.learners[who].labels:
            self.do(who, [verb, "", label])

    @rule(who=both, label=labels, new=labels)
    def rename(self, who: int, label: str, new: str) -> None:
        if label in self.learners[who].labels and new != label:
            self.do(who, ["rename", "", label, new])

    @rule(who=both)
    def purge(self, who: int) -> None:
        self.do(who, ["purge", ""])

    @rule(who=both)
    def close_and_open(self, who: int) -> None:
        self.learners[who].close()
        self.learners[who] = Learner.open(self.path, STUB)

    @rule(who=both)
    def drop_and_open(self, who: int) -> None:
        self.learners[who] = Learner.open(self.path, STUB)

    @rule()
    def crash_in_a_change(self) -> None:
        database = sqlite3.connect(self.path, isolation_level=None)
        database.execute("BEGIN IMMEDIATE")
        database.execute("PRAGMA cache_spill = 1")
        for table in ("samples", "steps", "changes"):
            database.execute(f"DELETE FROM {table}")
        database.close()

    @rule()
    def move_away_and_back(self) -> None:
        self.path.rename(self.folder / "away")
        assert [each.is_saved for each in self.learners] == [False, False]
        (self.folder / "away").rename(self.path)

    @rule()
    def replace_by_a_copy(self) -> None:
        shutil.copy(self.path, self.folder / "copy")
        (self.folder / "copy").rename(self.path)

    @invariant()
    def both_have_the_result_of_all_operations(self) -> None:
        if hasattr(self, "operations"):
            here, there = self.learners
            assert is_result_of(self.operations, here)
            assert is_result_of(self.operations, there)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            again = Learner.load(self.path, STUB)
            assert is_result_of(self.operations, again)
            assert again.problems() == []
            for learner in self.learners:
                learner.close()
            assert [file.name for file in self.folder.iterdir()] == ["home"]
            shutil.rmtree(self.folder)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_no_sequence_of_operations_restarts_and_crashes_loses_or_adds_anything() -> None:
    machine: Any = Store.TestCase
    machine.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
    machine().runTest()
