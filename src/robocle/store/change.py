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
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from numpy.typing import NDArray

from robocle.classifiers.labels import plain_label, require_badge
from robocle.errors import NothingToUndoError, NotLastStepError
from robocle.images.sketches import sketch
from robocle.store.records import LATEST, MAX_TEXT, Row, Step, StepName, checked, packed
from robocle.store.state import State, clock_of
from robocle.store.tables import BADGES, FORMAT_WITH_BADGES, translated

INSERT = f"INSERT OR REPLACE INTO samples VALUES ({','.join('?' * len(Row._fields))})"
CONTENT = "pictures = ?, fold = ?, quality = ?, sketch = ?, crc = ?, bits = ?, embedding = ?"
LATEST_TIME = """SELECT max(max(decided, time, ifnull(fold, 0))) FROM samples
    WHERE decided OR fold > 0"""
# What no step could bring back. The rows stay: classifiers follow rows that have changed, and would
# miss those that are gone.
ERASE = """
    UPDATE samples SET embedding = NULL, crc = NULL, bits = NULL, sketch = NULL, quality = NULL
    WHERE label IS NULL AND bits > 0 AND number NOT IN (SELECT sample FROM changes)"""


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
    with state.guard, translated(state.path, "write"):
        state.follow_file()
        state.require_writable()
        connection = state.connection
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
        state.require_saved()


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

    @property
    def is_step(self) -> bool:
        """Whether anything was changed that can be undone."""
        return self._number > 0

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

    def teach(self, label: str, embedding: NDArray[Any], quality: str) -> None:
        """Add a sample.

        Args:
            label: Its label.
            embedding: (width,), in float32 or float64.
            quality: The faults of the picture.
        """
        crc, bits, content = packed(embedding)
        row = Row(None, os.urandom(16), self.state.origin, label, self.decided, self.decided, 0, 1,
                  None, quality, sketch(embedding).tobytes(), crc, bits, content)  # fmt: skip
        self.insert(row)
        self.now += 1  # so that samples keep their order

    def insert(self, row: Row) -> None:
        """Add a row, with a number of its own."""
        number = self.execute(INSERT, row._replace(number=None, changed=self.now)).lastrowid
        if self._name is not None:
            values = self._step(), number, row.label, row.decided, self._merged
            self.execute("INSERT INTO changes VALUES (?, ?, NULL, 0, ?, ?, ?)", values)

    def decide(
        self, label: str | None, where: str, *values: object, decided: int | None = None
    ) -> None:
        """Decide on the label of rows.

        Args:
            label: Their new label; None removes them.
            where: Which rows, in SQL.
            values: The values in that.
            decided: When that was decided; None for now.
        """
        after = label, self.decided if decided is None else decided
        if self._name is not None:
            self.execute(
                f"""INSERT INTO changes SELECT ?, number, label, decided, ?, ?, ?
                FROM samples WHERE {where}""",
                (self._step(), *after, self._merged, *values),
            )
        query = f"UPDATE samples SET label = ?, decided = ?, changed = ? WHERE {where}"
        self.execute(query, (*after, self.now, *values))

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
            values = label, decided if merged else self.decided, self.now, sample
            query = "UPDATE samples SET label = ?, decided = ?, changed = ? WHERE number = ?"
            self.execute(query, values)
        self.execute("UPDATE steps SET undone = 1 - undone WHERE number = ?", (step.number,))
        return step

    def purge(self) -> None:
        """Make all steps permanent, and erase everything that was removed."""
        self.forget_steps("1")
        self.erases = "1"
        if self.state.badges():
            self.execute(
                "DELETE FROM badges WHERE label NOT IN (SELECT label FROM samples WHERE label > '')"
            )
        self._touch()

    def revert_earlier(self, id: str) -> Step:
        """Undo a step that others followed, as a step of its own, and return it.

        Args:
            id: The id of the step.

        Raises:
            NothingToUndoError: There is no such step.
            NotLastStepError: A later step has changed the same samples, or it was a merge.
        """
        steps = self.state.steps()
        step = next((each for each in steps if each.id == id), None)
        if step is None:
            raise NothingToUndoError("undo", id)
        query = "SELECT 1 FROM changes WHERE merged = 1 AND step = ?"
        if self.execute(query, (step.number,)).fetchone():
            reason = "a merge cannot be undone once other changes followed: undo these first"
            raise NotLastStepError(steps[0].description, "undo", reason)
        later = self.execute(
            """SELECT max(step) FROM changes WHERE step > ?1 AND
            sample IN (SELECT sample FROM changes WHERE step = ?1)
            AND step IN (SELECT number FROM steps WHERE undone = 0)""",
            (step.number,),
        ).fetchone()[0]
        if later is not None:
            by = next(each for each in steps if each.number == later).description
            reason = f"{by} has changed the same pictures: undo that first"
            raise NotLastStepError(by, "undo", reason)
        changes = self.execute(
            "SELECT sample, label_before FROM changes WHERE step = ? ORDER BY rowid DESC",
            (step.number,),
        )
        for sample, label in changes.fetchall():
            self.decide(label, "number = ?", sample)
        self.did(f"undoing {step.description}")
        return step

    def set_badge(self, label: str, badge: str, decided: int | None = None) -> None:
        """Decide on the badge of a label.

        Args:
            label: The label.
            badge: An emoji, a colour, or nothing.
            decided: When that was decided; None for now, 0 if it never was.
        """
        self.execute(BADGES.replace("CREATE TABLE badges", "CREATE TABLE IF NOT EXISTS badges"))
        self.execute(f"PRAGMA user_version = {FORMAT_WITH_BADGES}")
        values = self.decided if decided is None else decided, label, badge
        if decided == 0:
            self.execute("DELETE FROM badges WHERE label = ?", (label,))
        else:
            self.execute("INSERT OR REPLACE INTO badges VALUES (?, ?, ?)", values)
        self._touch()

    def unite_badges(self, theirs: dict[str, tuple[int, str]]) -> None:
        """Merge badges: of two, the later decision counts.

        Args:
            theirs: When each was decided, and the badge, by label.
        """
        ours = self.state.badges()
        for label, (decided, badge) in theirs.items():
            if (decided, badge) > ours.get(label, (0, "")):
                self.set_badge(plain_label(label), require_badge(badge), decided)

    def _touch(self) -> None:
        """Mark a row as changed: by that, other programs notice a change of something else."""
        query = "UPDATE samples SET changed = ? WHERE number = (SELECT max(number) FROM samples)"
        self.execute(query, (self.now,))

    def forget_steps(self, which: str) -> None:
        """Make steps permanent. What only they could bring back is erased with the change."""
        if self.execute(f"DELETE FROM steps WHERE {which}").rowcount:
            self.execute("DELETE FROM changes WHERE step NOT IN (SELECT number FROM steps)")
            # A later decision on a class may come with a merge, and its mean may not.
            self.erases = self.erases or "fold IS NULL"

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
        with other.reading() as connection:
            (latest,) = connection.execute(LATEST_TIME).fetchone()
            if (latest or 0) > LATEST:
                raise other.damaged("it has times after the year 2255")
            self.now = max(self.now, (latest or 0) + 1)
            for values in connection.execute("SELECT * FROM samples WHERE decided OR fold > 0"):
                self._unite(checked(values))
            self.unite_badges(other.badges())
            ours = self.state.folds()
            for origin, fold in other.folds().items():
                if fold > ours.get(origin, 0):
                    self.write_sums(origin, fold, other.sums(origin))
        # An embedding may come with a row that was removed here.
        self.erases = self.erases or "fold IS NULL"

    def _unite(self, row: Row) -> None:
        """Merge a row: what was folded later, and what was decided later."""
        if row.label is not None and row.bits:
            row.numbers()  # damage is found now
        else:
            row = row._replace(quality=None, sketch=None, crc=None, bits=None, embedding=None)
        ours = next(iter(self.state.rows("id = ?", row.id)), None)
        if ours is None:
            self.insert(row)
            return
        if (row.fold or 0, bool(row.bits)) > (ours.fold or 0, bool(ours.bits)):
            query = f"UPDATE samples SET {CONTENT}, origin = ?, changed = ? WHERE id = ?"
            self.execute(query, (*row[7:], row.origin, self.now, row.id))
        if row.decision > ours.decision:
            self.decide(row.label, "id = ?", row.id, decided=row.decided)
