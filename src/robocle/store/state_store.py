"""A state that is open for teaching, like a small database.

    store, state = StateStore.open(path)
    with store:
        store.append(Teach("mug", embedding))     # on disk when this returns

A lock admits one writer at a time.
"""

import logging
import os
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from robocle.errors import StateAccessError, StateError
from robocle.files import flush_folder, remove_file, require_writable
from robocle.store import lock
from robocle.store.journal import Journal, read_journal
from robocle.store.operations import Operation, Undo
from robocle.store.reading import ReadState, joined, journal_path, located
from robocle.store.snapshot import read_identity, read_snapshot, write_state
from robocle.store.stored_state import StoredState

log = logging.getLogger("robocle")

# A journal with this many operations is compacted, so that opening after a crash stays fast.
FULL = 200


class StateStore:
    """A state that is open for writing."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._lock: int | None = handle
        # A store that is dropped without being closed releases its lock. The file of the lock
        # stays: it may belong to the process that this one was forked from.
        self._dropped = weakref.finalize(self, lock.drop, path, handle)
        self._dropped.atexit = False
        self._journal: Journal | None = None
        self._identity = b""
        # Where the journal that was found at opening ends, and its number of records.
        self._found: tuple[int, int] | None = None
        self._unchanged = True
        self._process = os.getpid()

    @classmethod
    def open(
        cls,
        path: Path,
        create: Callable[[], StoredState] | None = None,
        before: ReadState | None = None,
    ) -> tuple[Self, StoredState | None]:
        """Open a state for writing; snapshot and journal are read once.

        Args:
            path: The state file.
            create: Returns the initial state if there is no file. It is called while the lock is
                held, so two programs cannot both create the file.
            before: The state as it was read without the lock. Its snapshot is used if it is still
                the one on disk. The journal is always read.

        Returns:
            The store, and the state that was read; None instead of the state if it was created.

        Raises:
            StateError: The state cannot be read or written, is damaged, or is open elsewhere.
        """
        path = located(path)
        _require_writable(path)
        store = cls(path, lock.acquire(path))
        try:
            _remove_leftovers(path)
            if create is not None and not os.path.exists(path):
                store.compact(create())
                return store, None
            return store, store._read(before)
        except BaseException:
            store._release()
            raise

    @classmethod
    def replace(cls, path: Path, state: StoredState) -> None:
        """Write a state, replacing any existing file.

        Raises:
            StateLockedError: Another program has opened the file for teaching.
            StateAccessError: The file cannot be written.
        """
        path = located(path)
        with cls(path, lock.acquire(path)) as store:
            store.compact(state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether this process may write the state. A fork of the one that opened it may not."""
        return self._lock is not None and self._process == os.getpid()

    @property
    def is_settled(self) -> bool:
        """Whether the files hold exactly what was acknowledged.

        They may not after an interrupt, or if another program has removed one of them.
        """
        journal = journal_path(self.path)
        if self._journal is not None:
            journal_is_there = self._journal.is_at(journal)
        else:
            journal_is_there = self._found is None or os.path.exists(journal)
        return self._unchanged and journal_is_there and os.path.exists(self.path)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change the files and what they hold in memory. An interrupt leaves them unsettled."""
        self._unchanged = False
        yield
        self._unchanged = True

    @property
    def is_full(self) -> bool:
        """Whether the journal is long enough to be compacted."""
        return self._journal is not None and self._journal.records >= FULL

    @property
    def is_compact(self) -> bool:
        """Whether the snapshot holds everything, so there is no journal."""
        return self._journal is None and self._found is None and self.is_settled

    def append(self, operation: Operation | Undo) -> None:
        """Write an operation to the journal; it is on disk when this returns.

        Raises:
            StateError: The operation cannot be written, or the store is closed. If the journal is
                as it was before, the store is settled.
        """
        self._require_open()
        if self._journal is None:
            self._journal = self._open_journal()
        try:
            self._journal.append(operation)
        except StateError:
            self._unchanged = not self._journal.is_broken
            raise

    def compact(self, state: StoredState) -> None:
        """Replace the snapshot and the journal with a new snapshot.

        Raises:
            StateError: The snapshot cannot be written, or the store is closed. If the snapshot is
                as it was before, the store is settled.
        """
        self._require_open()
        try:
            self._identity = write_state(self.path, state)
        except StateError:
            # The write may have failed after the rename, when the folder was flushed.
            self._unchanged = bool(self._identity) and _identity(self.path) == self._identity
            raise
        # The journal is obsolete now: it continues a snapshot that no longer exists.
        self._drop_journal()

    def close(self) -> None:
        """Release the lock, so that other programs can write."""
        if self._lock is None:
            return
        self._close_journal()
        self._release()

    def _read(self, before: ReadState | None) -> StoredState:
        if before is not None and before.snapshot.identity == _identity(self.path):
            snapshot = before.snapshot
        else:
            snapshot = read_snapshot(self.path)
        journal = read_journal(journal_path(self.path))
        self._identity = snapshot.identity
        if journal is None or journal.identity != snapshot.identity:
            return joined(self.path, snapshot, None)
        self._found = journal.end, len(journal.operations)
        return joined(self.path, snapshot, journal)

    def _open_journal(self) -> Journal:
        path = journal_path(self.path)
        try:
            if self._found is not None:
                return Journal.reopen(path, *self._found)
            return Journal.create(path, self._identity, self.path)
        except OSError as error:
            raise StateAccessError.of("write", path, error) from error

    def _close_journal(self) -> None:
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.close()

    def _drop_journal(self) -> None:
        self._found = None
        self._close_journal()
        try:
            remove_file(journal_path(self.path))
            flush_folder(self.path.parent)
        except OSError as error:
            log.warning("cannot remove %s (%s): it is ignored", journal_path(self.path), error)

    def _require_open(self) -> None:
        if self._lock is None:
            raise StateError(f"{self.path} is closed: open it again to teach it")
        if not self.is_open:
            raise StateError(
                f"{self.path} was opened before this process was forked: open it in this process"
            )
        if not lock.is_held(self.path, self._lock):
            raise StateError(
                f"{self.path} was moved, or its lock file was removed, while it was open: open it "
                "again"
            )

    def _release(self) -> None:
        if self._lock is not None:
            handle, self._lock = self._lock, None
            self._dropped.detach()
            if self._process == os.getpid():
                lock.release(self.path, handle)
            else:  # the process that this one was forked from still holds the lock
                lock.drop(self.path, handle)


def _identity(path: Path) -> bytes:
    """Return the identity of the snapshot at a path; empty if it cannot be read."""
    try:
        return read_identity(path)
    except StateError:
        return b""


def _require_writable(path: Path) -> None:
    """Raise StateAccessError for a read-only state, before anything is taught."""
    try:
        require_writable(path)
    except OSError as error:
        raise StateAccessError.of("write", path, error) from error


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files that a killed writer left behind."""
    names = "|".join(re.escape(each.name) for each in (path, journal_path(path)))
    # A folder may forbid to list it and allow to write in it; leftovers do no harm.
    with suppress(OSError):
        for file in path.parent.iterdir():
            if re.fullmatch(rf"\.({names})-[a-z0-9_]{{8}}", file.name):
                file.unlink(missing_ok=True)
