"""Recovery: every sample whose row is intact, from a state file that may be damaged anywhere.

SQLite finds rows through the pages above them, so one damaged page can hide many rows. Recovery
does without: it looks for rows on every page by itself, and a checksum says whether an embedding is
whole. The format of pages and records is that of https://www.sqlite.org/fileformat2.html.
"""

import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

from robocle._internal.wording import plural
from robocle.errors import RobocleError, StateError
from robocle.store.change import changing
from robocle.store.folding import classifier_of
from robocle.store.records import LATEST, UNREADABLE, Row, checked, unpacked
from robocle.store.state import FilePath, Specs, State, located
from robocle.store.tables import PAGE, connect, require_journal, translated

TABLE_LEAF, INDEX_LEAF = 13, 10
INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)
WIDEST = len(Row._fields)  # of all tables, that of samples has the most columns
MOST_USES = 10
"""How often a page may be part of a row, on average: damage, and attackers, make up rows."""
# Rows get new numbers: a damaged one may be that of another row.
KEEP_LATEST = f"""INSERT INTO samples VALUES (NULL{(WIDEST - 1) * ", ?"}) ON CONFLICT (id) DO UPDATE
    SET label = excluded.label, decided = excluded.decided WHERE excluded.decided > decided"""


def recovered(path: FilePath, like: Specs | None = None) -> tuple[State, list[str]]:
    """Return what is intact in a state file, and what is lost.

    Args:
        path: The file. It is not changed.
        like: The parts of the state, in case that some of those in the file are lost.

    Returns:
        A state in memory, without the parts that are lost; and what is lost, as far as is known.

    Raises:
        StateError: The file cannot be read.
    """
    file = located(path)
    with translated(file, "read"):
        content = _content(file)
    state = State.new({})
    parts: dict[str, set[str]] = {}
    intact, broken = list[list[Any]](), list[list[Any]]()
    indexed: set[bytes] = set()
    badges: dict[str, tuple[int, str]] = {}
    for record in _records(content):
        kinds = list(map(type, record))
        if len(record) == WIDEST and kinds[:3] == [int, bytes, bytes]:
            (intact if _inserted(state, record) else broken).append(record[:8])
        elif kinds == [bytes, str, int, int, bytes]:
            with suppress(*UNREADABLE):
                unpacked(record[4], record[3], 64, np.inf)
                state.connection.execute("INSERT OR IGNORE INTO sums VALUES (?,?,?,?,?)", record)
        elif kinds == [bytes, int] and len(record[0]) == 16:
            indexed.add(record[0])
        elif kinds == [int, str, str]:
            badges[record[1]] = max(badges.get(record[1], (0, "")), (record[0], record[2]))
        elif kinds[:2] == [str, str] and len(record) < 4:
            parts.setdefault(record[0], set()).add(record[1])
    with suppress(StateError), changing(state) as change:
        change.unite_badges(badges)
    # The file has each part twice. Which one is damaged cannot be known.
    known = {name: found.pop() for name, found in parts.items() if len(found) == 1}
    known.pop("origin", None)
    state.parts = {**(like or {}), **known}
    return state, [*_lost(intact, broken, indexed), *_without_unusable_sums(state)]


def _inserted(state: State, record: list[Any]) -> bool:
    """Insert a row if it is intact, and return whether it is."""
    try:
        row = checked(record)
        if row.label is not None and row.bits:
            row.numbers()
        if max(row.decided, row.time, row.fold or 0) > LATEST:
            return False
        state.connection.execute(KEEP_LATEST, row[1:])
    except (*UNREADABLE, sqlite3.Error):
        return False
    return True


def _lost(intact: list[list[Any]], broken: list[list[Any]], indexed: set[bytes]) -> list[str]:
    """Return what is lost.

    Args:
        intact: The first columns of the rows that are intact.
        broken: Those of the rows that are not.
        indexed: The ids that the index of rows has.
    """
    lost: Counter[str] = Counter()
    ids = {id for _, id, *_ in intact}
    for _, id, _, label, *_, pictures in broken:
        if isinstance(label, str) and id not in ids:
            several = type(pictures) is int and 1 < pictures < LATEST
            lost[label if label.isprintable() else "?"] += pictures if several else 1
    names = [f"{plural(count, 'picture')} of {label!r}" for label, count in lost.items()]
    found = intact + broken
    last = max((number for number, *_ in intact), default=0)
    numbers = last - len({number for number, *_ in found if 0 < number <= last})
    missing = max(numbers, len(indexed - {id for _, id, *_ in found}))
    return names + ([f"up to {plural(missing, 'row')} that cannot be found"] if missing else [])


def _without_unusable_sums(state: State) -> list[str]:
    """Remove sums that are not complete, and return what is lost with them."""
    try:
        folded = state.folds() or state.query("SELECT 1 FROM samples WHERE fold > 0")
        if folded and "classifier" in state.parts:
            classifier_of(state)
    except RobocleError:
        ((pictures,),) = state.query("SELECT sum(pictures) FROM samples WHERE fold > 0")
        state.connection.execute("DELETE FROM sums")
        state.connection.execute("DELETE FROM samples WHERE fold > 0")
        return [f"the sums of {plural(pictures or 0, 'picture')} that are not kept"]
    return []


def _content(file: Path) -> bytes:
    """Return the content of a file, after what a killed program began in it was undone."""
    journal = Path(f"{file}-journal")
    try:
        require_journal(file)
        unfinished = journal.is_file()
    except StateError:  # nothing in it can be believed
        unfinished = False
    if not unfinished:
        return file.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder).resolve() / "state"
        shutil.copyfile(file, copy)
        shutil.copyfile(journal, f"{copy}-journal")
        with suppress(sqlite3.Error, UnicodeDecodeError), closing(connect(copy)) as connection:
            connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        return copy.read_bytes()


def _records(content: bytes) -> Iterator[list[Any]]:
    """Yield the records on all pages that hold rows."""
    left = [MOST_USES * len(content)]
    for start in range(0, len(content), PAGE):
        head = start + 100 if start == 0 else start
        kind = content[head : head + 1]
        if kind not in (bytes([TABLE_LEAF]), bytes([INDEX_LEAF])):
            continue
        for cell in range(min(int.from_bytes(content[head + 3 : head + 5]), PAGE // 4)):
            at = head + 8 + 2 * cell
            # Damage may put anything in place of a cell: any error means that it is no row.
            with suppress(ValueError, IndexError, OverflowError):
                offset = start + int.from_bytes(content[at : at + 2])
                yield _record(content, offset, kind[0], left)


def _record(content: bytes, at: int, kind: int, left: list[int]) -> list[Any]:
    """Return the values of a record."""
    size, at = _varint(content, at)
    number, at = _varint(content, at) if kind == TABLE_LEAF else (0, at)
    payload = _payload(content, at, size, kind, left)
    end, at = _varint(payload, 0)
    types: list[int] = []
    while at < end and len(types) <= WIDEST:
        found, at = _varint(payload, at)
        types.append(found)
    values = list(_values(payload, end, types))
    # A table whose key is the number of the row does not store it twice.
    return [number, *values[1:]] if kind == TABLE_LEAF and values[0] is None else values


def _payload(content: bytes, at: int, size: int, kind: int, left: list[int]) -> bytes:
    """Return the payload of a cell, part of which may be on further pages.

    Args:
        content: The file.
        at: Where the payload begins.
        size: Its size.
        kind: That of the page.
        left: How many bytes may still be read from further pages.
    """
    least = (PAGE - 12) * 32 // 255 - 23
    most = PAGE - 35 if kind == TABLE_LEAF else (PAGE - 12) * 64 // 255 - 23
    here = size if size <= most else least + (size - least) % (PAGE - 4)
    here = here if here <= most else least
    pieces, rest = [content[at : at + here]], min(size, len(content)) - here
    page = int.from_bytes(content[at + here : at + here + 4])
    while rest > 0 and page > 0 and left[0] > 0:
        start = (page - 1) * PAGE
        pieces.append(content[start + 4 : start + min(rest + 4, PAGE)])
        page = int.from_bytes(content[start : start + 4]) if pieces[-1] else 0
        rest -= len(pieces[-1])
        left[0] -= len(pieces[-1])
    return b"".join(pieces)


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and where it ends."""
    value = 0
    for byte in content[at : at + 8]:
        at += 1
        value = value << 7 | byte & 127
        if byte < 128:
            return value, at
    return value << 8 | content[at], at + 1


def _values(payload: bytes, at: int, types: list[int]) -> Iterator[Any]:
    for kind in types:
        if kind in (0, 8, 9):
            yield None if kind == 0 else kind - 8
            continue
        size = INTEGER_BYTES[kind] if kind < 12 else (kind - 12) // 2
        value, at = payload[at : at + size], at + size
        if len(value) < size:
            raise ValueError("a value that ends too early")
        number = int.from_bytes(value, signed=True) if kind < 12 else 0
        yield number if kind < 12 else value.decode() if kind % 2 else value
