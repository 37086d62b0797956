"""How the database of a state is opened, and what is checked before anything in it is used.

A file may come from anyone, so nothing in it is believed: before SQLite opens a file its header is
checked, and before anything is read its tables must be exactly those of `schema.sql`.
"""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from robocle.errors import StateAccessError, StateError, StateLockedError

FORMAT = 5
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
# A transaction ends when its journal is removed. EXTRA also flushes that removal, without which a
# power failure could bring the journal back and undo what was acknowledged.
SETTINGS = f"""
    PRAGMA page_size = {PAGE}; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
    PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON;
    PRAGMA fullfsync = ON; PRAGMA synchronous = EXTRA;
"""
CHECKED_WHOLE = 64_000_000
"""Files up to this size are checked whole when they are opened, in less than 0.1 s."""
# Whatever is read later from a larger file is read once, apart from embeddings and sums.
INDEXES = (
    "SELECT max(0) FROM samples INDEXED BY samples_changed WHERE changed > -1",
    "SELECT max(0) FROM changes INDEXED BY changes_step WHERE step > -1",
    "SELECT 0 FROM sums GROUP BY origin",
)
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
    # SQLite quotes what is in the file.
    line = "".join(filter(str.isprintable, " ".join(str(why).split())))[:200]
    return StateError(f"{path} is damaged ({line}): `robocle recover` saves what is intact")


def require_header(path: Path) -> None:
    """Check the first bytes of a file, before SQLite opens it.

    SQLite would create further files beside one in its WAL mode.

    Raises:
        StateError: The file is not a state.
        OSError: It cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(100)
    journal = require_journal(path)
    if not any(head) and journal.startswith(JOURNAL_MAGIC) and not any(journal[16:20]):
        return  # it was empty before the power failed, and SQLite empties it again
    if head[:16] != b"SQLite format 3\0" or int.from_bytes(head[68:72]) != APPLICATION:
        raise StateError(
            f"{path} is not a robocle state, or one of an earlier version, which this one cannot "
            "read: give another file, or teach a new one"
        )
    if (version := int.from_bytes(head[60:64])) != FORMAT:
        raise StateError(
            f"{path} has state format {version}, and this robocle reads format {FORMAT}: use the "
            "robocle version that wrote it"
        )
    if int.from_bytes(head[16:18]) != PAGE or head[18:21] != b"\1\1\0":
        raise damaged(path, "its header cannot be that of a state")


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


def require_tables(connection: sqlite3.Connection, path: object, access: Access) -> None:
    """Check that a database has the tables of a state, and that no page is used twice.

    Otherwise a small file could claim to hold any number of rows of any size. A large file that is
    to be changed is not read whole, which takes long: then the number of operations is bounded.

    Raises:
        StateError: It has other tables, or triggers or views, or its pages are damaged.
    """
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL OR type != 'index'"
    found = sorted(str(sql) for (sql,) in connection.execute(query).fetchmany(100))
    if found != sorted(SCHEMA):
        raise damaged(path, "its tables are not those of a state")
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    if access == "ro" or PAGE * pages <= CHECKED_WHOLE:
        if problems := problems_of(connection, 1):
            raise damaged(path, problems[0])
    else:
        _require_claims(connection, path, PAGE * pages)
    query = "SELECT 1 FROM samples WHERE changed < 1 OR changed > 1 << 62"
    if connection.execute(query).fetchone():
        raise damaged(path, "its clock is out of range")


def _require_claims(connection: sqlite3.Connection, path: object, size: int) -> None:
    """Check that a large file does not claim to hold more than its size."""
    turns = iter(range(size // 1_000))
    largest = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, size)
    connection.set_progress_handler(lambda: next(turns, None) is None, 10_000)
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    held = 0.0
    try:
        for (table,) in tables:
            wrong, lengths = _types_and_lengths(connection, table)
            query = f"SELECT max({wrong}), {lengths} FROM {table} NOT INDEXED"
            is_wrong, length = connection.execute(query).fetchone()
            if is_wrong:
                raise damaged(path, f"a value of another type in the table {table}")
            held += length
        for query in INDEXES:
            connection.execute(query).fetchall()
        if held > size:
            raise damaged(path, "it claims to hold more than its size")
    finally:
        connection.set_progress_handler(None, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, largest)


def _types_and_lengths(connection: sqlite3.Connection, table: str) -> tuple[str, str]:
    """Return SQL for whether a row of a table has a wrong type, and for the bytes of all rows."""
    wrong, lengths = [], []
    for _, name, kind, required, *_ in connection.execute(f"PRAGMA table_info({table})"):
        wrong.append(f"typeof({name}) NOT IN ('{kind}', '{kind if required else 'NULL'}')".lower())
        if kind != "INTEGER":  # the length of a text ends at the first zero
            lengths.append(f"total(length({name if kind == 'BLOB' else f'CAST({name} AS BLOB)'}))")
    return " OR ".join(wrong), " + ".join(lengths)


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
    """Return the error for a state that does not exist."""
    return StateError(
        f"there is no state file {path}: check the name, or teach something to make it"
    )
