"""Membership: the part of the log of its fleet that a robot has seen, in a file beside its state.

The file has every decision on a label that is in the log, with its sequence. So a robot knows which
of its decisions are not published yet, and can follow a pin. The file has no embeddings, and all
of it can be read again from the log: a robot that has lost it joins again, and nothing counts
twice.
"""

import os
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from robocle._internal.wording import one_line
from robocle.errors import FleetError, StateAccessError, StateError, StateLockedError
from robocle.store.folding import fleet_file
from robocle.store.tables import translated

TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS entries (
  id BLOB NOT NULL, -- of a sample
  sequence INTEGER NOT NULL, -- of the message in the log
  label TEXT,
  decided INTEGER NOT NULL,
  content INTEGER NOT NULL, -- 1: the message has the embedding
  own INTEGER NOT NULL, -- 1: this robot has published it
  PRIMARY KEY (id, sequence)
) STRICT, WITHOUT ROWID;
"""
IDS_PER_QUERY = 100
"""How many samples a query names. It is fixed, so that SQLite can reuse the prepared query."""
IDS_PER_CHANGE = 500
"""How many samples are compared with the log in one change of the state."""
BY_ID = f"WHERE id IN ({','.join('?' * IDS_PER_QUERY)})"


class Entry(NamedTuple):
    """A decision in a message of the log on the label of a sample."""

    id: bytes
    sequence: int
    label: str | None
    decided: int
    content: int
    own: int

    @property
    def decision(self) -> tuple[int, str]:
        """The key that orders two decisions on a sample: the larger one wins."""
        return self.decided, self.label or ""


class Membership:
    """The file beside a state. Only one program at a time has it open.

    Args:
        state: The path of the state.

    Raises:
        FleetError: Another program has it open, or it is damaged.
        StateAccessError: It cannot be opened or written.
    """

    def __init__(self, state: Path) -> None:
        self.path = file_beside(state)
        with _explained(self.path):
            self._connection = sqlite3.connect(self.path, 1.0, 0, None, False)
        try:
            with _explained(self.path):
                self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.executescript(TABLES)
            self._about: dict[str, str] = dict(self._rows("SELECT name, value FROM about"))
            self._notice_copies()
        except BaseException as error:
            self._connection.close()
            if isinstance(error, StateLockedError):
                running = f"`robocle fleet join` is running for {state}: stop it first"
                raise FleetError(running) from error
            raise

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return what a query finds."""
        with _explained(self.path):
            return self._connection.execute(query, values).fetchall()

    def _notice_copies(self) -> None:
        """Let a copy of the file, on this machine or another one, be another robot."""
        here = f"{uuid.getnode():x}:{os.path.realpath(self.path)}"
        if self["place"] != here:
            with self.writing():
                self["place"], self["token"] = here, uuid.uuid4().hex[:8]

    def __getitem__(self, name: str) -> str:
        return self._about.get(name, "")

    def __setitem__(self, name: str, value: str) -> None:
        if self._about.get(name) != value:
            self._about[name] = value
            query = "INSERT OR REPLACE INTO about VALUES (?, ?)"
            self._connection.execute(query, (name, value))

    def number(self, name: str) -> int:
        """Return a value that is a number; 0 if there is none."""
        return int(self[name] or 0)

    @contextmanager
    def writing(self, flush: bool = False) -> Iterator[None]:
        """Write all changes inside the context in one transaction, or none of them.

        A power failure may take back the last changes: they are read from the log again.

        Args:
            flush: Whether all of it is on the disk afterwards, as a pin must be before the state
                follows it. Otherwise the samples that it hides would be taken for removed.
        """
        before = dict(self._about)
        try:
            with _explained(self.path):
                self._connection.execute(f"PRAGMA synchronous = {'FULL' if flush else 'NORMAL'}")
                self._connection.execute("BEGIN")
                yield
                self._connection.execute("COMMIT")
        except BaseException:
            self._about = before
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def add(self, entries: Iterable[Entry]) -> None:
        """Add the entries that are not there yet."""
        query = "INSERT OR IGNORE INTO entries VALUES (?, ?, ?, ?, ?, ?)"
        self._connection.executemany(query, entries)

    def entries(self, ids: Iterable[bytes]) -> dict[bytes, list[Entry]]:
        """Return the entries of samples; samples that are not in the log are left out."""
        found: dict[bytes, list[Entry]] = {}
        with _explained(self.path):
            for values in found_by_id(self._connection, "SELECT * FROM entries", ids):
                found.setdefault(values[0], []).append(Entry(*values))
        return found

    def ids(self) -> Iterator[list[bytes]]:
        """Yield the ids of all samples that are in the log, some at a time."""
        last = b""
        query = "SELECT DISTINCT id FROM entries WHERE id > ? ORDER BY id LIMIT ?"
        while some := [id for (id,) in self._rows(query, (last, IDS_PER_CHANGE))]:
            yield some
            last = some[-1]

    def note_erased(self, sequence: int) -> None:
        """Note that the embedding of a message was erased from the log."""
        self._rows("UPDATE entries SET content = 0 WHERE sequence = ?", (sequence,))

    def start_again(self) -> None:
        """Forget the entries of a log that is gone."""
        with self.writing():
            self._connection.execute("DELETE FROM entries")
            for name in ("applied", "applied_time", "cursor", "pin", "pinned_at"):
                self[name] = "0"

    def shrink(self) -> None:
        """Release the memory that SQLite keeps for the next change."""
        self._rows("PRAGMA shrink_memory")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into those of robocle. What damages the file loses nothing."""
    try:
        yield
    except sqlite3.Error as error:
        try:
            with translated(path, "write"):
                raise
        except StateAccessError:
            raise
        except StateError:
            line = one_line(error, 200)
            raise FleetError(
                f"{path} is damaged ({line}): delete it, and the log is read again"
            ) from error


def file_beside(state: Path) -> Path:
    """Return the path of the membership file of a state."""
    return fleet_file(state)


def found_by_id(
    connection: sqlite3.Connection, select: str, ids: Iterable[bytes]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of samples.

    Args:
        connection: The connection to the database.
        select: The query, without its condition.
        ids: The ids of the samples.
    """
    listed = list(ids)
    for start in range(0, len(listed), IDS_PER_QUERY):
        some = listed[start : start + IDS_PER_QUERY]
        filled = some + [b""] * (IDS_PER_QUERY - len(some))
        yield from connection.execute(f"{select} {BY_ID}", filled)
