"""Reading a state: its snapshot and the journal that continues it.

Readers need no lock: a snapshot is replaced by a rename, a journal only grows, and the journal
names its snapshot.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from robocle.errors import NothingToUndoError, StateAccessError, StateError
from robocle.store.journal import JournalContent, read_journal
from robocle.store.snapshot import Snapshot, read_identity, read_snapshot
from robocle.store.stored_state import StoredState

# How often a reader tries to read a snapshot and a journal that belong together.
ATTEMPTS = 100

FilePath = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class ReadState:
    """A state as it was read. The files may have changed since."""

    path: Path
    snapshot: Snapshot
    state: StoredState
    """The state of the snapshot after the operations of the journal."""


def state_path(path: FilePath) -> Path:
    """Return the path of a state file.

    Raises:
        StateError: The path is empty, which would stand for the folder of the program, or no file
            can have it.
    """
    if os.fspath(path) == "" or "\0" in str(path):
        raise StateError(f"{str(path)!r} is not the path of a state file: give its name")
    return Path(path)


def journal_path(path: Path) -> Path:
    """Return the path of a state's journal. The file exists only while it holds operations.

    The journal of a symbolic link is beside the file that the link points to.
    """
    real = located(path) if path.is_symlink() else path
    return real.with_name(f"{real.name}-journal")


def located(path: Path) -> Path:
    """Return the absolute path of a state, with symbolic links resolved.

    A rename must not replace a link, and the working directory may change while a state is open.
    """
    return Path(os.path.realpath(path))


def read_state(path: Path) -> StoredState:
    """Read a state and its journal, up to the last acknowledged operation.

    Args:
        path: The state file. Another program may be writing it.

    Returns:
        The state.

    Raises:
        StateError: The file is missing, damaged, or not a state.
    """
    return read_with_snapshot(path).state


def read_with_snapshot(path: FilePath) -> ReadState:
    """Read a state like `read_state`, for a program that opens it for writing later.

    Args:
        path: The state file. Another program may be writing it.

    Returns:
        What `Learner.open` takes instead of the path, so that the snapshot is read once.

    Raises:
        StateError: The file is missing, damaged, or not a state.
    """
    path = state_path(path)
    snapshot, journal = _read_both(path)
    return ReadState(located(path), snapshot, joined(path, snapshot, journal))


def _read_both(path: Path) -> tuple[Snapshot, JournalContent | None]:
    """Read a snapshot and the journal that continues it, while a writer may replace both."""
    for _ in range(ATTEMPTS):
        snapshot = read_snapshot(path)
        journal = read_journal(journal_path(path))
        if journal is not None and journal.identity == snapshot.identity:
            return snapshot, journal
        if read_identity(path) == snapshot.identity:
            return snapshot, None  # a journal of another snapshot is obsolete
    raise StateAccessError("read", path, "it keeps changing; try again")


def joined(path: Path, snapshot: Snapshot, journal: JournalContent | None) -> StoredState:
    """Return the state of a snapshot and its journal.

    Args:
        path: The state file, for messages.
        snapshot: The snapshot.
        journal: The journal that continues it, if there is one.

    Raises:
        StateError: One of them is damaged.
    """
    _require_intact(path, snapshot, journal)
    state = snapshot.state
    try:
        for change in journal.operations if journal else []:
            state = state.appended(change)
    except NothingToUndoError as error:
        raise StateError(
            f"{journal_path(path)} is damaged: it undoes more operations than there are"
        ) from error
    return state


def _require_intact(path: Path, snapshot: Snapshot, journal: JournalContent | None) -> None:
    """Raise StateError if a checksum is wrong."""
    if snapshot.damage:
        name, rows = next(iter(sorted(snapshot.damage.items())))
        which = ", ".join(str(row + 1) for row in rows[:5]) + ("..." if len(rows) > 5 else "")
        raise StateError(
            f"{path} is damaged: the checksum of {name} is wrong in row {which}; "
            f"`robocle recover {path} OUT` keeps the rest"
        )
    if journal is not None and journal.lost:
        raise StateError(
            f"{journal_path(path)} is damaged: operation {journal.lost[0]} of "
            f"{len(journal.operations) + len(journal.lost)} is lost; "
            f"`robocle recover {path} OUT` keeps the rest"
        )
