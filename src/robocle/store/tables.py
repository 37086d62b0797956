"""Opening the database of a state, and the checks before anything in it is used.

A file may come from anyone, so nothing in it is believed: before SQLite opens a file its header is
checked, and before anything is read its tables must be exactly those of `schema.sql`.
"""

import os
import re
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from robocle._internal.wording import one_line
from robocle.errors import StateAccessError, StateError, StateLockedError
from robocle.images.opening import HEAD, kind_of

FORMAT, FORMAT_WITH_BADGES = 6, 7
"""A file gets the second when the first badge is chosen; versions that know none refuse it."""
APPLICATION = 0x52424C45  # "RBLE"
PAGE = 4096
OLDEST = (3, 37)
"""The first version of SQLite that has STRICT tables, whose types its checks verify."""
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""The first bytes of a journal that is complete, and the last ones if it names another file."""
MOST_TO_OPEN = 100_000
"""How many operations SQLite may take to read the definitions of tables."""
BUSY_SECONDS = 20.0
"""How long a program waits for another one that is writing."""
SCHEMA = Path(__file__).with_name("schema.sql").read_text("utf-8").split("\n;\n")[:-1]
SCHEMA[0] = SCHEMA[0].partition("\n\n")[2]  # without what the file says about itself
BADGES = SCHEMA.pop()
RULES = {
    name: re.findall(r"CHECK \((.+)\)", statement)
    for name, statement in (("samples", "".join(SCHEMA)), ("badges", BADGES))
}
"""What holds for every row of a table."""
# A transaction ends when its journal is removed. EXTRA also flushes that removal, without which a
# power failure could bring the journal back and undo what was acknowledged.
SETTINGS = f"""
    PRAGMA page_size = {PAGE}; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
    PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON;
    PRAGMA fullfsync = ON; PRAGMA synchronous = EXTRA;
"""
REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk failed, or it is full",
    sqlite3.SQLITE_READONLY: "it or its folder is read-only; make them writable first",
    sqlite3.SQLITE_PERM: "permission denied",
    sqlite3.SQLITE_CANTOPEN: "it or its folder cannot be opened",
}

Access = Literal["rwc", "rw", "ro"]


def connect(path: Path | None, access: Access = "rw") -> sqlite3.Connection:
    """Return a connection to a file, or to a new database in memory.

    Args:
        path: The absolute path of the file; None for a database in memory.
        access: Whether the file may be created, written, or only read.

    Raises:
        StateError: The SQLite of this Python is too old.
    """
    if sqlite3.sqlite_version_info < OLDEST:
        raise StateError(
            f"states need SQLite 3.37 or newer, and this Python has {sqlite3.sqlite_version}: "
            "install a newer Python, such as one from python.org or conda"
        )
    name = ":memory:" if path is None else f"{path.as_uri()}?mode={access}"
    connection = sqlite3.connect(name, BUSY_SECONDS, 0, None, False, uri=path is not None)
    # The settings read the tables' definitions, of which a state has few and a file could claim any
    # number.
    connection.set_progress_handler(lambda: 1, MOST_TO_OPEN)
    try:
        connection.executescript(SETTINGS)
    except BaseException:
        connection.close()
        raise
    connection.set_progress_handler(None, 0)
    return connection


def create_tables(connection: sqlite3.Connection, parts: dict[str, str]) -> None:
    """Create the tables of a state, unless another program has done so meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        for statement in (
            f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {FORMAT}", *SCHEMA
        ):  # fmt: skip
            connection.execute(statement)
        connection.executemany("INSERT INTO parts VALUES (?, ?)", parts.items())
    connection.execute("COMMIT")


def damaged(path: object, why: object) -> StateError:
    """Return the error for a file that cannot be what was written."""
    line = one_line(why, 200)  # in which SQLite quotes what is in the file
    return StateError(f"{path} is damaged ({line}): `robocle recover` saves what is intact")


def require_header(path: Path, given: object) -> None:
    """Check the first bytes of a file, before SQLite opens it.

    SQLite would create further files beside one in its WAL mode.

    Args:
        path: The file.
        given: Its path as the user gave it.

    Raises:
        StateError: The file is not a state.
        OSError: It cannot be read.
    """
    if os.path.isdir(path):
        raise StateError(f"{given} is a folder: give a file")
    with open(path, "rb") as file:
        head = file.read(HEAD)
    journal = require_journal(path)
    if not any(head) and journal.startswith(JOURNAL_MAGIC) and not any(journal[16:20]):
        return  # it was empty before the power failed, and SQLite empties it again
    if head[:16] != b"SQLite format 3\0" or int.from_bytes(head[68:72]) != APPLICATION:
        raise _no_state(given, head)
    if (version := int.from_bytes(head[60:64])) not in (FORMAT, FORMAT_WITH_BADGES):
        raise StateError(
            f"{path} has state format {version}, and this robocle reads formats {FORMAT} and "
            f"{FORMAT_WITH_BADGES}: use the robocle version that wrote it"
        )
    if int.from_bytes(head[16:18]) != PAGE or head[18:21] != b"\1\1\0":
        raise damaged(path, "its header cannot be that of a state")


def _no_state(given: object, head: bytes) -> StateError:
    if kind := kind_of(head):
        return StateError(f"{given} is {kind}, not a state: give a state file in its place")
    return StateError(
        f"{given} is not a state, or was written by a version of robocle that this one cannot "
        "read: give another file, or teach a new one"
    )


def require_journal(path: Path) -> bytes:
    """Check the journal of a file, if it has one, before SQLite opens the file.

    SQLite would remove any file that a journal names as that of a transaction over several
    databases, which no state has. And it would enlarge the file to the size in the journal.

    Returns:
        The header of the journal.

    Raises:
        StateError: It cannot be the journal of a state.
        OSError: It cannot be read.
    """
    journal = f"{path}-journal"
    try:
        if not stat.S_ISREG(os.stat(journal).st_mode):  # such as a pipe, for which SQLite waits
            raise damaged(path, "its journal cannot be that of a state")
        with open(journal, "rb") as file:
            head, size = file.read(28), file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 8))
            named = file.read() == JOURNAL_MAGIC
    except FileNotFoundError:
        return b""
    pages, page = int.from_bytes(head[16:20]), int.from_bytes(head[24:28])
    larger = PAGE * pages > size + os.path.getsize(path)
    if named or (head.startswith(JOURNAL_MAGIC) and (larger or page != PAGE)):
        raise damaged(path, "its journal cannot be that of a state")
    return head


def require_tables(connection: sqlite3.Connection, path: object) -> None:
    """Check that a database has the tables of a state, and that all that is in them is possible.

    SQLite reads the whole file for that, 3 GB per second if it is in memory. Otherwise a small file
    could claim to hold any number of rows of any size.

    Raises:
        StateError: It has other tables, or triggers or views, or its pages are damaged, or values
            are not those that `schema.sql` allows.
    """
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL OR type != 'index'"
    found = sorted(str(sql) for (sql,) in connection.execute(query).fetchmany(100))
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if found != sorted([*SCHEMA, *[BADGES] * (version == FORMAT_WITH_BADGES)]):
        raise damaged(path, "its tables are not those of a state")
    # SQLite does not check the rules of a file that is only read, and does not name them.
    connection.execute("PRAGMA ignore_check_constraints = ON")
    if problems := problems_of(connection, 1):
        raise damaged(path, problems[0])
    connection.execute("PRAGMA ignore_check_constraints = OFF")
    for table, rules in RULES.items():
        if table == "badges" and BADGES not in found:
            continue
        query = f"SELECT {', '.join(f'min({rule})' for rule in rules)} FROM {table}"
        for rule, holds in zip(rules, connection.execute(query).fetchone(), strict=True):
            if holds == 0:
                raise damaged(path, f"a {table[:-1]} that violates {rule}")


def problems_of(connection: sqlite3.Connection, most: int) -> list[str]:
    """Return what a check of all pages finds, up to a number of problems."""
    rows = connection.execute(f"PRAGMA integrity_check({most})").fetchall()
    lines = [line for (text,) in rows for line in str(text).splitlines()]
    return [line for line in lines if line not in ("ok", "*** in database main ***")]


@contextmanager
def translated(path: object, action: Literal["read", "write"]) -> Iterator[None]:
    """Turn errors of SQLite and of the system into those of robocle."""
    file = Path(str(path or "the state in memory"))
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # in which SQLite quotes what is no text
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StateLockedError(file) from error
        if code == sqlite3.SQLITE_CANTOPEN and not os.path.isdir(file.parent):
            raise StateAccessError.of(action, file, FileNotFoundError()) from error
        if code in REASONS:
            reason = "it is a folder" if os.path.isdir(file) else REASONS[code]
            raise StateAccessError(action, file, reason) from error
        raise damaged(file, error) from error
    except OSError as error:
        if isinstance(error, StateError):
            raise
        raise StateAccessError.of(action, file, error) from error


def no_file(path: object) -> StateError:
    """Return the error for a state that does not exist, or that nothing was written to."""
    is_empty = path is not None and os.path.exists(str(path))
    what = f"{path} is an empty file" if is_empty else f"there is no state file {path}"
    return StateError(f"{what}: check the name, or teach something to make it")
