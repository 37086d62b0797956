"""A state that is open for teaching, like a small database.

    with StateStore.open(path) as store:
        store.append(Teach("mug", vector))     # on the disk when this returns

One writer at a time, by a lock; readers need none: a snapshot is replaced by a rename, a journal
only grows, and each names the other.
"""

import fcntl
import logging
import os
import re
from pathlib import Path
from typing import Self

from robocle.errors import StateError
from robocle.store.journal import Journal, JournalContent, read_journal
from robocle.store.operations import Operation, Undo
from robocle.store.snapshot import (
    Snapshot,
    StoredState,
    flush_folder,
    read_identity,
    read_snapshot,
    write_state,
)

log = logging.getLogger("robocle")

# Operations in a journal before they go into the snapshot: few enough to open fast after a crash.
FULL = 200
ATTEMPTS = 100


def journal_path(path: Path) -> Path:
    """Where a state's journal is while there is one."""
    return path.with_name(f"{path.name}-journal")


def read_state(path: Path) -> StoredState:
    """The state in a file and its journal, as it was when the last operation was acknowledged."""
    snapshot, journal = _read_both(path)
    require_sound(path, snapshot, journal)
    return _joined(path, snapshot.state, journal)


def _read_both(path: Path) -> tuple[Snapshot, JournalContent | None]:
    """A snapshot and the journal that continues it, though a writer may replace both meanwhile."""
    for _ in range(ATTEMPTS):
        snapshot = read_snapshot(path)
        journal = read_journal(journal_path(path))
        if journal is None or journal.identity != snapshot.identity:
            if read_identity(path) != snapshot.identity:
                continue  # the snapshot is newer than the one we read
            return snapshot, None  # a journal of another snapshot is done with
        return snapshot, journal
    raise StateError(f"cannot read {path}: it changes all the time; try again")


def require_sound(path: Path, snapshot: Snapshot, journal: JournalContent | None) -> None:
    """Refuse what does not have its checksum."""
    if snapshot.damage:
        name, rows = next(iter(sorted(snapshot.damage.items())))
        which = ", ".join(str(row + 1) for row in rows[:5]) + ("..." if len(rows) > 5 else "")
        raise StateError(
            f"{path} is damaged: {name} does not have its checksum in row {which}; "
            f"`robocle recover {path} OUT` keeps the rest"
        )
    if journal is not None and journal.lost:
        raise StateError(
            f"{journal_path(path)} is damaged: operation {journal.lost[0]} of "
            f"{len(journal.operations) + len(journal.lost)} is lost; "
            f"`robocle recover {path} OUT` keeps the rest"
        )


def _joined(path: Path, state: StoredState, journal: JournalContent | None) -> StoredState:
    if journal is None:
        return state
    history = list(state.history)
    for operation in journal.operations:
        if not isinstance(operation, Undo):
            history.append(operation)
        elif history:
            history.pop()
        else:
            raise StateError(f"{journal_path(path)} is damaged: it takes back what is not there")
    return StoredState(state.parts, state.labels, state.arrays, tuple(history))


class StateStore:
    """A state that is open for writing."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock: int | None = lock
        self._journal: Journal | None = None
        self._identity = b""

    @classmethod
    def open(cls, path: Path, new: StoredState | None = None) -> Self:
        """Open a state for writing, or make it from `new` if it is not there."""
        store = cls(path, _locked(path))
        try:
            _sweep(path)
            if new is not None and not os.path.exists(path):
                store.compact(new)
            store._identity = read_identity(path)
        except BaseException:
            store._unlock()
            raise
        return store

    @classmethod
    def locked(cls, path: Path) -> Self:
        """A place for a state, whatever is there now: to be compacted into."""
        return cls(path, _locked(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self) -> StoredState:
        """The state with all that was acknowledged."""
        return read_state(self.path)

    @property
    def full(self) -> bool:
        """Whether it is time to compact."""
        return self._journal is not None and self._journal.records >= FULL

    @property
    def at_rest(self) -> bool:
        """Whether all is in the snapshot."""
        return not os.path.exists(journal_path(self.path))

    def append(self, operation: Operation | Undo) -> None:
        """Write an operation down; it is on the disk when this returns."""
        self._require_open()
        if self._journal is None:
            self._journal = self._opened_journal()
        self._journal.append(operation)

    def compact(self, state: StoredState) -> None:
        """Put a state in the place of snapshot and journal."""
        self._require_open()
        try:
            self._identity = write_state(self.path, state)
        except StateError:
            self._require_unchanged()
            raise
        # From here on the journal continues a snapshot that is not there: it is done with.
        self._drop_journal()

    def close(self) -> None:
        """Let others write."""
        if self._lock is not None:
            if self._journal is not None:
                self._journal.close()
                self._journal = None
            self._unlock()

    def _opened_journal(self) -> Journal:
        path = journal_path(self.path)
        try:
            content = read_journal(path)
            if content is not None and content.identity == self._identity:
                return Journal.continued(path, content)
            return Journal.created(path, self._identity)
        except OSError as error:
            raise StateError(f"cannot write {path}: {error.strerror or error}") from error

    def _drop_journal(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        try:
            journal_path(self.path).unlink(missing_ok=True)
            flush_folder(self.path.parent)
        except OSError as error:
            log.warning("cannot remove %s (%s): it is ignored", journal_path(self.path), error)

    def _require_unchanged(self) -> None:
        """Write no more if a failed write left another snapshot than the journal's."""
        if self._identity and read_identity(self.path) != self._identity:
            self.close()

    def _require_open(self) -> None:
        if self._lock is None:
            raise StateError(f"{self.path} is closed: open it again to teach it")

    def _unlock(self) -> None:
        if self._lock is not None:
            lock_path(self.path).unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None


def _sweep(path: Path) -> None:
    """Remove the half-written files that a killed writer left."""
    names = "|".join(re.escape(each.name) for each in (path, journal_path(path)))
    for file in path.parent.iterdir():
        if re.fullmatch(rf"\.({names})-[a-z0-9_]{{8}}", file.name):
            file.unlink(missing_ok=True)


def lock_path(path: Path) -> Path:
    """The file whose lock the writer of a state holds."""
    return path.with_name(f"{path.name}-lock")


def _locked(path: Path) -> int:
    """Take the writer's lock; the kernel gives it back when the program ends, however it ends."""
    name = lock_path(path)
    try:
        while True:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.exists(name) and os.path.samestat(os.fstat(handle), os.stat(name)):
                    return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)  # its last owner removed it between our two steps
    except BlockingIOError as error:
        raise StateError(
            f"{path} is being taught by another program: wait until it is done, or teach a copy"
        ) from error
    except OSError as error:
        raise StateError(f"cannot write {path}: {error.strerror or error}") from error
