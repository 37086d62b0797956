"""Changes of a state, each one transaction: afterwards all of it is on the disk, or nothing.

A change decides on the labels of rows. What each step decided is recorded, with what was decided
before, so that it can be undone and redone. Both are decisions again, which other states learn
about; only a merge is undone as if it had never been.

Merging is the union of the rows of two states. Of two versions of a row, the later decision on its
label wins, and the later fold. Of two versions of the sums of an origin, the later fold wins. So
the result is the same in any order, and to merge again changes nothing.
"""

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from numpy.typing import NDArray

from robocle.errors import NothingToUndoError, NotLastStepError
from robocle.store.rows import COLUMNS, LATEST, Row, packed
from robocle.store.state import State, clock_of
from robocle.store.steps import MAX_TEXT, Step, StepName
from robocle.store.tables import translated

INSERT = f"INSERT INTO samples ({COLUMNS}, embedding, changed) VALUES ({','.join(14 * '?')})"
# What no step could bring back. The rows stay: classifiers follow rows that have changed, and would
# miss those that are gone.
ERASE = """
    UPDATE samples SET embedding = NULL, crc = NULL, bits = NULL, sketch = NULL, quality = NULL
    WHERE label IS NULL AND bits > 0 AND number NOT IN (SELECT sample FROM changes)"""


class NewSample(NamedTuple):
    """A sample to be taught."""

    label: str
    embedding: NDArray[Any]
    """(width,), in float32 or float64."""
    sketch: bytes | None = None
    quality: str = ""
    """The faults of the picture."""


@contextmanager
def changing(state: State, step: StepName | None = None, merged: int = 0) -> "Iterator[Change]":
    """Make one change of a state. It is on the disk when the context ends.

    Args:
        state: The state.
        step: What it is recorded under; None: it cannot be undone.
        merged: 1 for a merge.

    Raises:
        StateError: The change cannot be written. Nothing has changed.
    """
    state.follow_file()
    state.require_writable()
    connection = state.connection
    with translated(state.path, "write"):
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield (change := Change(state, connection, step, merged))
            if change.erases:
                connection.execute(f"{ERASE} AND {change.erases}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    state.require_writable()


class Change:
    """A transaction that is open; see `changing`."""

    def __init__(
        self, state: State, connection: sqlite3.Connection, step: StepName | None, merged: int
    ) -> None:
        self.state = state
        self.execute = connection.execute
        self._name, self._merged = step, merged
        self._number = 0  # of the step, once it is recorded
        self.erases = ""  # which rows may have what no step could bring back
        self.now = max(time.time_ns() // 1000, clock_of(connection) + 1)

    @property
    def decided(self) -> int:
        """The time of the decisions of this change."""
        return min(self.now, LATEST)

    def _step(self) -> int:
        """Return the number of the step, which is recorded with its first change."""
        if self._name is not None and not self._number:
            query = "SELECT number, token, undone FROM steps ORDER BY number DESC LIMIT 1"
            last = self.execute(query).fetchone()
            if last and last[2]:  # it cannot be redone after another step
                self.forget_steps("undone = 1")
                last = self.execute(query).fetchone()
            if last and last[1] == self._name.token:
                self._number = last[0]
            else:
                values = self._name.token, self._name.title, "", self.now, 0
                query = "INSERT INTO steps VALUES (NULL, ?, ?, ?, ?, ?)"
                self._number = self.execute(query, values).lastrowid or 0
        return self._number

    def did(self, what: str) -> None:
        """Record what the step did, beside teaching."""
        query = "UPDATE steps SET done = substr(done || ? || char(10), 1, ?) WHERE number = ?"
        self.execute(query, (what, MAX_TEXT, self._step()))

    def teach(self, samples: Iterable[NewSample]) -> None:
        """Add samples."""
        for label, embedding, sketch, quality in samples:
            crc, bits, content = packed(embedding)
            row = Row(0, os.urandom(16), self.state.origin, label, self.decided, self.decided, 1,
                      None, quality, sketch, crc, bits)  # fmt: skip
            self.insert(row, content)
            self.now += 1  # so that they keep their order

    def insert(self, row: Row, content: bytes | None) -> None:
        """Add a row, with a number of its own, and the bytes of its embedding."""
        number = self.execute(INSERT, (None, *row[1:], content, self.now)).lastrowid or 0
        self._record(row._replace(number=number, label=None, decided=0), row.label, row.decided)

    def decide(self, row: Row, label: str | None, decided: int | None = None) -> None:
        """Decide on the label of a row.

        Args:
            row: The row.
            label: Its new label; None removes it.
            decided: When that was decided; None for now.
        """
        decided = self.decided if decided is None else decided
        self._set(row.number, label, decided)
        self._record(row, label, decided)

    def _set(self, number: int, label: str | None, decided: int) -> None:
        query = "UPDATE samples SET label = ?, decided = ?, changed = ? WHERE number = ?"
        self.execute(query, (label, decided, self.now, number))

    def _record(self, before: Row, label: str | None, decided: int) -> None:
        if self._name is not None:
            values = self._step(), before.number, before.label, before.decided, label, decided
            query = "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)"
            self.execute(query, (*values, self._merged))

    def revert(self, undone: int, expected: str | None) -> Step:
        """Undo the last step, or redo the step that was undone last, and return it.

        Args:
            undone: 0 to undo, 1 to redo.
            expected: The id of that step; None for any.

        Raises:
            NothingToUndoError: There is no such step.
            NotLastStepError: It is another step.
        """
        side, order = ("after", "ASC") if undone else ("before", "DESC")
        verb: Literal["undo", "redo"] = "redo" if undone else "undo"
        step = next(iter(self.state.steps(undone, 1)), None)
        if step is None:
            raise NothingToUndoError(verb)
        if expected not in (None, step.id):
            raise NotLastStepError(step.description, verb)
        changes = self.execute(
            f"""SELECT sample, label_{side}, decided_{side}, merged FROM changes
            WHERE step = ? ORDER BY rowid {order}""",
            (step.number,),
        )
        for sample, label, decided, merged in changes.fetchall():
            self._set(sample, label, decided if merged else self.decided)
        self.execute("UPDATE steps SET undone = 1 - undone WHERE number = ?", (step.number,))
        return step

    def forget_steps(self, which: str = "1") -> None:
        """Make steps permanent. What only they could bring back is erased with the change."""
        if self.execute(f"DELETE FROM steps WHERE {which}").rowcount or which == "1":
            self.execute("DELETE FROM changes WHERE step NOT IN (SELECT number FROM steps)")
            # A later decision on a class may come with a merge, and its mean may not.
            self.erases = "1" if which == "1" else self.erases or "fold IS NULL"

    def tick(self) -> None:
        """Let other programs notice a change of steps alone."""
        query = "UPDATE samples SET changed = ? WHERE number = (SELECT max(number) FROM samples)"
        self.execute(query, (self.now,))

    def forget_folded_steps(self) -> None:
        """Make permanent the steps that changed what is folded now, and those before them."""
        self.forget_steps(
            """number <= (SELECT max(step) FROM changes
            WHERE sample IN (SELECT number FROM samples WHERE fold > 0))"""
        )

    def write_sums(self, origin: bytes, fold: int, sums: dict[str, NDArray[Any]]) -> None:
        """Replace the sums of an origin."""
        self.execute("DELETE FROM sums WHERE origin = ?", (origin,))
        for name, numbers in sums.items():
            crc, _, content = packed(numbers)
            values = origin, name, fold, crc, content
            self.execute("INSERT INTO sums VALUES (?, ?, ?, ?, ?)", values)

    def unite(self, other: State) -> None:
        """Merge another state, which does not change.

        Raises:
            StateError: The other state is damaged.
        """
        with other.at_once():
            self._unite_all(other)
        # An embedding may come with a row that was removed here.
        self.erases = self.erases or "fold IS NULL"

    def _unite_all(self, other: State) -> None:
        rows = [row for row in other.rows() if row.decided or row.fold]
        latest = max((max(row.decided, row.time, row.fold or 0) for row in rows), default=0)
        if latest > LATEST:
            raise other.damaged("it has times after the year 2255")
        self.now = max(self.now, latest + 1)
        for row in rows:
            self._unite(row, other)
        ours = self.state.folds()
        for origin, fold in other.folds().items():
            if fold > ours.get(origin, 0):
                self.write_sums(origin, fold, other.sums(origin))

    def _unite(self, row: Row, other: State) -> None:
        """Merge a row: what was folded later, and what was decided later."""
        content = packed(other.embedding(row))[2] if row.label is not None and row.bits else None
        if content is None:
            row = Row(*row[:8], None, None, None, None)
        ours = next(iter(self.state.rows("id = ?", row.id)), None)
        if ours is None:
            self.insert(row, content)
            return
        if (row.fold or 0, bool(content)) > (ours.fold or 0, bool(ours.bits)):
            self.execute(
                """UPDATE samples SET pictures = ?, fold = ?, quality = ?, sketch = ?, crc = ?,
                bits = ?, embedding = ?, changed = ? WHERE id = ?""",
                (*row[6:], content, self.now, row.id),
            )
        latest = max(row, ours, key=lambda each: each.decision)
        if latest.decision != ours.decision:
            self.decide(ours, latest.label, latest.decided)
