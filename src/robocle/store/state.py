"""A state: everything that a learner was taught, as a table of samples.

It is a file, or a database in memory. Several programs may have a file open and change it; each
change is one transaction (`robocle.store.change`). Every change sets the clock of the file, and the
rows that it changed carry that time, so whoever has read the others reads only these.
"""

import os
import re
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from robocle._internal.files import file_identity, is_writable
from robocle.classifiers.labels import plain_label, require_badge
from robocle.classifiers.samples import new_id
from robocle.errors import InexactError, StateAccessError, StateError
from robocle.store.records import (
    MAX_TEXT,
    MICRO,
    UNREADABLE,
    Row,
    Step,
    checked,
    described,
    unpacked,
)
from robocle.store.tables import (
    Access,
    connect,
    create_tables,
    damaged,
    no_file,
    problems_of,
    require_header,
    require_tables,
    translated,
)

FilePath = str | os.PathLike[str]
Specs = dict[str, str]
"""The specs of the parts of a learner, by name."""
Position = tuple[int, int]
"""Which file is open, counted from 1, and the clock of that file."""
NOT_LEARNED = {"origin": "", "world": "", "prediction_views": ""}
"""What may differ between two states although they were learned with the same parts."""
SUMMARY = "SELECT time, CASE WHEN bits > 0 THEN label END, pictures, sketch, fold FROM samples"


def located(path: FilePath) -> Path:
    """Return the absolute path of a state file, with links resolved.

    Raises:
        StateError: The path is empty, which would stand for the folder of the program, or no file
            can have it.
    """
    if os.fspath(path) == "" or "\0" in str(path):
        raise StateError(f"{str(path)!r} is not the path of a state file: give its name")
    return Path(os.path.realpath(path))


class State:
    """A state that is open. Threads take turns: each query and each change holds `guard`.

    Args:
        path: Its file; None for a state in memory.
        access: Whether the file may be changed, or only read.
        create: Returns the parts of a new state. Without it, the file must exist.
        given: The path as the user gave it.
    """

    def __init__(
        self,
        path: Path | None,
        access: Access = "rw",
        create: Callable[[], Specs] | None = None,
        given: FilePath = "",
    ) -> None:
        self.path, self._given = path, given or str(path)
        self.name = str(path or "the state in memory")
        self.guard = threading.RLock()
        self._access = access
        self._connection: sqlite3.Connection | None = None
        self._opened_files = 0
        self._use(*self._opened(create))

    @classmethod
    def new(cls, parts: Specs) -> Self:
        """Return an empty state in memory."""
        return cls(None, create=lambda: parts)

    @classmethod
    def open(cls, path: FilePath, create: Callable[[], Specs] | None = None) -> Self:
        """Open a state file, to change it. One that is read-only can only be read.

        Args:
            path: The file.
            create: Returns the parts of a new state if there is no file; None: there must be one.

        Raises:
            StateError: The file is missing or damaged.
        """
        found = located(path)
        return cls(found, "rw" if is_writable(found) else "ro", create, path)

    @classmethod
    def read(cls, path: FilePath) -> Self:
        """Return a copy of a state file in memory. The file is only read.

        Raises:
            StateError: The file is missing or damaged.
        """
        found = located(path)
        # A program that was killed while it wrote leaves a journal: what it began is undone first.
        unfinished = os.path.exists(f"{found}-journal") and is_writable(found)
        stored = cls(found, "rw" if unfinished else "ro", given=path)
        try:
            copy = cls.new(stored.parts)
            with stored.reading() as connection:
                connection.backup(copy.connection)
        finally:
            stored.close()
        copy.name = stored.name  # and an origin of its own: it may be taught something else
        return copy

    def _opened(self, create: Callable[[], Specs] | None) -> tuple[sqlite3.Connection, Specs]:
        """Return a connection to the file that is now at the path, and what its parts are."""
        path = self.path
        with translated(path, "read" if self._access == "ro" else "write"):
            begins = path is None or not os.path.exists(path) or not os.path.getsize(path)
            if begins and create is None:
                raise no_file(path)
            if path is not None and not begins and not is_open_here(path):
                require_header(path, self._given)
            parts = {**create(), "origin": new_id()} if begins and create is not None else None
            connection = connect(path, "rwc" if begins else self._access)
            try:
                connection.execute("PRAGMA page_count").fetchone()  # undoes an unfinished change
                if path is not None and not begins and not os.path.getsize(path):
                    connection.close()
                    return self._opened(create)  # that change was its creation
                if parts is not None:
                    create_tables(connection, parts)
                require_tables(connection, path)
                named = dict(connection.execute("SELECT name, value FROM parts").fetchall())
                # Printable text cannot send control sequences to a terminal when it is shown.
                texts = map(str, (*named, *named.values()))
                if not all(each.isprintable() and len(each) <= MAX_TEXT for each in texts):
                    raise self.damaged("its parts are no text")
                if not re.fullmatch("[0-9a-f]{32}", str(named.get("origin"))):
                    raise self.damaged("it does not say where its samples come from")
            except BaseException:
                connection.close()
                if begins and path is not None and not os.path.getsize(path):
                    path.unlink()
                raise
        return connection, named

    def _use(self, connection: sqlite3.Connection, parts: Specs) -> None:
        self._forsake()
        self.origin, self.parts = bytes.fromhex(parts.pop("origin")), parts
        self._connection, self._process = connection, os.getpid()
        self._identity = file_identity(self.path)
        self._opened_files += 1
        _open_states[id(self)] = self

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection to the database.

        Raises:
            StateError: The state is closed.
        """
        if self._connection is None:
            raise StateError(f"{self.path} is closed: open it again")
        return self._connection

    @property
    def is_open(self) -> bool:
        """Whether the state was not closed."""
        return self._connection is not None

    def close(self) -> None:
        """Close the file. A state in memory stays as it is."""
        if self.path is not None:
            self._forsake()

    def _forsake(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._process == os.getpid():
            connection.close()
        elif connection is not None:  # to close it would disturb the process that was forked
            _of_other_processes.append(connection)

    def follow_file(self) -> None:
        """Go on with the file that is now at the path, if it was replaced or the process forked.

        Raises:
            StateError: The file was deleted, or the one that is now there cannot be used.
        """
        if self.connection.in_transaction:  # an interrupt has ended it
            self.connection.rollback()
        now = file_identity(self.path)
        if now is None:
            self.require_saved()
        elif now != self._identity or self._process != os.getpid():
            connection, parts = self._opened(None)
            if {**parts, **NOT_LEARNED} != {**self.parts, **NOT_LEARNED}:
                connection.close()
                raise StateError(
                    f"{self.path} was replaced by a state with other parts: open it again"
                )
            self._use(connection, parts)

    def require_writable(self) -> None:
        """Raise StateError if the file is read-only."""
        if self._access == "ro" and self.path is not None:
            raise StateAccessError("write", self.path, "it is read-only; make it writable first")

    def require_saved(self) -> None:
        """Raise StateError if the file that was opened is no longer there."""
        if not self.is_saved:
            raise StateError(
                f"{self.path} was deleted or replaced while it was open, so nothing more can be "
                "saved in it: put it back, or save to another file"
            )

    @property
    def is_saved(self) -> bool:
        """Whether the file that was opened is still there."""
        return file_identity(self.path) == self._identity

    # What is in it

    def position(self) -> Position:
        """Return which file this is, and its clock: it differs after every change.

        Raises:
            StateError: The file was deleted, or cannot be used.
        """
        with self.guard:
            self.follow_file()
            with self.reading() as connection:
                return self._opened_files, clock_of(connection)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection for queries, which all see the same state while others change it.

        Raises:
            StateError: The state cannot be read, or what was read is damaged.
        """
        with self.guard, translated(self.name, "read"):
            connection = self.connection
            is_outermost = not connection.in_transaction
            try:
                if is_outermost:
                    connection.execute("BEGIN")
                yield connection
            except UNREADABLE as error:
                if isinstance(error, StateError | InexactError):
                    raise
                raise self.damaged(error) from error
            finally:
                if is_outermost:
                    connection.rollback()

    def query(self, sql: str, *values: object) -> list[Any]:
        """Return what a query finds."""
        with self.reading() as connection:
            return connection.execute(sql, values).fetchall()

    def damaged(self, why: object) -> StateError:
        """Return the error for something in it that cannot be what was written."""
        return damaged(self.name, why)

    def rows(self, where: str = "1", *values: object) -> list[Row]:
        """Return rows of the table of samples.

        Raises:
            StateError: A row is damaged.
        """
        with self.reading():
            return list(map(checked, self.query(f"SELECT * FROM samples WHERE {where}", *values)))

    def width(self) -> int | None:
        """Return the width of the embeddings; None if there are none."""
        query = "SELECT length(embedding) * 8 / bits FROM samples WHERE bits > 0 LIMIT 1"
        return next((int(width) for (width,) in self.query(query)), None)

    def summary(self, where: str = "1", *values: object) -> list[Any]:
        """Return time, label, pictures, sketch and fold of rows, in the order of their times."""
        with self.reading():
            found = self.query(f"{SUMMARY} WHERE {where} ORDER BY time, id", *values)
            for label in {label for _, label, *_ in found if label is not None}:
                plain_label(label)
            return found

    def counts(self) -> dict[str, int]:
        """Return the number of pictures per label, in the order of their first picture."""
        with self.reading():
            found = self.query(
                """SELECT label, sum(pictures) FROM samples WHERE label IS NOT NULL AND bits > 0
                GROUP BY label ORDER BY min(time)"""
            )
            return {plain_label(label): int(count) for label, count in found}

    def folds(self) -> dict[bytes, int]:
        """Return the version of the folded sums of each origin."""
        return dict(self.query("SELECT origin, max(fold) FROM sums GROUP BY origin"))

    def sums(self, origin: bytes) -> dict[str, NDArray[Any]]:
        """Return the folded sums of an origin, without the counts and means of its classes.

        Raises:
            StateError: They are damaged.
        """
        with self.reading():
            found = self.query("SELECT name, numbers, crc FROM sums WHERE origin = ?", origin)
            return {str(name): unpacked(numbers, crc, 64, np.inf) for name, numbers, crc in found}

    def has_diverged(self, other: "State") -> bool:
        """Return whether sums of both have a sample in common that cannot be told apart."""
        ours, theirs = self.folds(), other.folds()
        folded = "SELECT id FROM samples WHERE fold > 0 AND origin = ?"
        for origin in ours.keys() & theirs.keys():
            mine, yours = (set(each.query(folded, origin)) for each in (self, other))
            if ours[origin] != theirs[origin] and not (
                mine <= yours if ours[origin] < theirs[origin] else yours <= mine
            ):
                return True
        if not (ours and theirs):
            return False
        folded = "SELECT id, origin FROM samples WHERE fold > 0 AND pictures = 0"
        where = dict(other.query(folded))
        return any(where.get(id, origin) != origin for id, origin in self.query(folded))

    def badges(self) -> dict[str, tuple[int, str]]:
        """Return when the badge of each label was decided, and the badge.

        Raises:
            StateError: One is damaged.
        """
        with self.reading():
            if not self.query("SELECT 1 FROM sqlite_master WHERE name = 'badges'"):
                return {}
            found = self.query("SELECT label, decided, badge FROM badges")
            return {
                plain_label(label): (decided, require_badge(badge))
                for label, decided, badge in found
            }

    def steps(self, undone: int = 0, most: int = -1) -> list[Step]:
        """Return the steps that can be undone, the last one first, or redone, the next one first.

        Args:
            undone: 0 for those that can be undone, 1 for those that can be redone.
            most: How many steps to return; -1 for all.
        """
        steps = self.query(
            f"""SELECT number, token, title, done, time,
            (SELECT group_concat(label_after, char(10)) FROM changes
            WHERE step = number AND decided_before + merged = 0)
            FROM steps WHERE undone = ? ORDER BY number {"ASC" if undone else "DESC"} LIMIT ?""",
            undone, most,
        )  # fmt: skip
        return [
            Step(token, described(title, done, taught or ""), time / MICRO, number)
            for number, token, title, done, time, taught in steps
        ]

    def count_steps(self) -> int:
        """Return how many steps can be undone."""
        return int(self.query("SELECT count(*) FROM steps WHERE undone = 0")[0][0])

    def problems(self) -> list[str]:
        """Return what a check of the file finds; empty if it is intact."""
        with self.reading() as connection:
            return problems_of(connection, 10)


def clock_of(connection: sqlite3.Connection) -> int:
    """Return the time of the last change."""
    (clock,) = connection.execute("SELECT max(changed) FROM samples").fetchone()
    return int(clock or 0)


def is_open_here(path: Path) -> bool:
    """Return whether this process has a file open. Then its header was checked.

    It must not be read again: to close another handle of a file would release the locks that SQLite
    holds on it.
    """
    found = file_identity(path), os.getpid()
    states = (each() for each in _open_states.valuerefs())
    return any(
        each and each.is_open and (each._identity, each._process) == found for each in states
    )


# By their ids: `valuerefs` copies at once, while to iterate over a WeakSet fails if a thread adds.
_open_states: "weakref.WeakValueDictionary[int, State]" = weakref.WeakValueDictionary()
_of_other_processes: list[sqlite3.Connection] = []
