"""The store against a model: random operations, crashes, interrupts, cleaners and full disks."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from from_scratch import equals_learning_from_scratch
from interrupts import Interrupt
from random_operations import LABELS, UNDOABLE, Words, equivalent_lessons, perform
from robocle import Learner
from robocle.errors import NothingToUndoError, StateError
from robocle.store import history, state_store
from stub_backbone import STUB

labels = st.sampled_from(LABELS)


class Store(RuleBasedStateMachine):
    """A learner in a file, and the list of operations that it must amount to."""

    @initialize(classifier=st.sampled_from(["ncm", "slda"]))
    def begin(self, classifier: str) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.classifier = classifier
        self.operations: list[Words] = []
        self.number = 0
        self.uncertain: Words | None = None
        """An interrupted operation that may be in the file although it is not in memory."""
        self.removed = False
        self.open()

    def open(self) -> None:
        path = self.folder / "home"
        self.learner = Learner.open(path, STUB, pooling="avg", classifier=self.classifier)

    def key(self) -> str:
        self.number += 1
        return str(self.number)

    def do(self, words: Words) -> None:
        """Perform an operation that is acknowledged."""
        perform(self.learner, words)
        self.operations.append(words)
        self.uncertain, self.removed = None, False

    def equals(self, operations: list[Words]) -> bool:
        return equals_learning_from_scratch(self.learner, equivalent_lessons(operations))

    @rule(label=labels)
    def teach(self, label: str) -> None:
        self.do(["teach", "", label, self.key()])

    @rule(label=labels, pictures=st.sampled_from([2, UNDOABLE + 1]))
    def teach_a_folder(self, label: str, pictures: int) -> None:
        step = self.key()
        with self.learner.step():
            for _ in range(pictures):
                self.do(["teach", step, label, self.key()])

    @rule(label=labels)
    def merge(self, label: str) -> None:
        self.do(["merge", "", label, self.key()])

    @rule()
    def undo(self) -> None:
        with suppress(NothingToUndoError):
            self.do(["undo", ""])

    @rule(label=labels)
    def forget(self, label: str) -> None:
        if label in self.learner.labels:
            self.do(["forget", "", label])

    @rule(label=labels)
    def remove(self, label: str) -> None:
        if label in self.learner.labels:
            self.do(["remove", "", label])

    @rule(label=labels, new=labels)
    def rename(self, label: str, new: str) -> None:
        if label in self.learner.labels and new != label:
            self.do(["rename", "", label, new])

    @rule()
    def purge(self) -> None:
        self.do(["purge", ""])

    def words(self, verb: str, label: str) -> Words:
        """Return an operation; a label that is not known cannot be removed, and is taught."""
        if verb == "remove" and label in self.learner.labels:
            return ["remove", "", label]
        return ["merge" if verb == "merge" else "teach", "", label, self.key()]

    @rule(label=labels, at=st.integers(1, 4000), verb=st.sampled_from(["teach", "merge", "remove"]))
    def interrupt(self, label: str, at: int, verb: str) -> None:
        words = self.words(verb, label)
        before = self.learner.counts
        with Interrupt(at):
            perform(self.learner, words)
        if self.learner.counts != before:
            self.operations.append(words)
        else:
            self.uncertain = words

    @rule(
        label=labels,
        call=st.sampled_from(["write", "fdatasync", "replace"]),
        verb=st.sampled_from(["teach", "remove"]),
    )
    def fill_the_disk(self, label: str, call: str, verb: str) -> None:
        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        words = self.words(verb, label)
        before = self.learner.counts
        with mock.patch.object(os, call, full), suppress(StateError):
            perform(self.learner, words)
        if self.learner.counts != before:
            self.operations.append(words)

    @rule()
    def remove_the_journal(self) -> None:
        journal = self.folder / "home-journal"
        self.removed = self.removed or journal.exists()
        journal.unlink(missing_ok=True)

    @rule()
    def close_and_open(self) -> None:
        self.learner.close()
        self.open()
        self.uncertain, self.removed = None, False
        assert self.equals(self.operations)

    @precondition(lambda self: not self.removed)
    @rule()
    def crash_and_open(self) -> None:
        assert self.learner._state._store is not None
        self.learner._state._store.close()
        self.open()
        if self.uncertain is not None and not self.equals(self.operations):
            self.operations.append(self.uncertain)
        self.uncertain = None
        assert self.equals(self.operations)

    def teardown(self) -> None:
        if not hasattr(self, "folder"):
            return
        assert self.equals(self.operations)
        self.learner.close()
        shutil.rmtree(self.folder)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_no_sequence_of_operations_and_faults_loses_what_was_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(history, "UNDOABLE", UNDOABLE)
    monkeypatch.setattr(state_store, "FULL", 7)
    machine: Any = Store.TestCase
    machine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
    machine().runTest()
