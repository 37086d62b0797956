"""State files edited with plain sqlite3, page by page, or damaged."""

import re
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

PAGE = 4096
LAST = "number = (SELECT max(number) FROM samples WHERE label IS NOT NULL AND fold IS NULL)"
"""The last sample, in SQL."""
Statement = str | tuple[str, tuple[object, ...]]


def rows(path: Path, query: str) -> list[Any]:
    """Return what a query finds in a state file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def edit(path: Path, *statements: Statement) -> None:
    """Change a state file with SQL. Any value can be put into any column."""
    with _loose(path), closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for each in statements:
            connection.execute(*((each,) if isinstance(each, str) else each))
        connection.commit()


@contextmanager
def _loose(path: Path) -> Iterator[None]:
    """Remove the types of columns for a while."""
    found: dict[str, str] = dict(rows(path, "SELECT name, sql FROM sqlite_master WHERE sql > ''"))
    free = r" (TEXT|INTEGER)(?! PRIMARY)|(?<!IS) NOT NULL|(?<=\)) STRICT"
    define(path, {name: re.sub(free, "", sql) for name, sql in found.items()})
    try:
        yield
    finally:
        define(path, found)


def define(path: Path, definitions: Mapping[str, str]) -> None:
    """Replace the definitions of tables by others, whether or not their rows fit."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA writable_schema = ON")
        for name, sql in definitions.items():
            connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, name))
        connection.commit()


def set_parts(path: Path, **parts: str) -> None:
    """Replace parts of a state, or add others."""
    names = ", ".join(f"'{name}'" for name in parts)
    inserted = [("INSERT INTO parts VALUES (?, ?)", each) for each in parts.items()]
    edit(path, f"DELETE FROM parts WHERE name IN ({names})", *inserted)


def set_embedding(path: Path, numbers: ArrayLike, which: str = LAST) -> None:
    """Replace the embedding of samples, with a correct checksum."""
    content = np.asarray(numbers).tobytes()
    bits = 8 * np.asarray(numbers).itemsize
    query = f"UPDATE samples SET embedding = ?, crc = ?, bits = ? WHERE {which}"
    edit(path, (query, (content, zlib.crc32(content), bits)))


def damage_embedding(path: Path, which: str = LAST) -> None:
    """Flip a bit in the embedding of the first of some samples, and leave its checksum as it is."""
    (content,) = rows(path, f"SELECT embedding FROM samples WHERE {which} ORDER BY number")[0]
    file = bytearray(path.read_bytes())
    file[file.index(content[:100])] ^= 1
    path.write_bytes(file)


def write_at(path: Path, at: int, content: bytes) -> None:
    """Overwrite a part of a file."""
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(content)


def files_in(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return the content and the time of the last change of each file in a folder."""
    files = [each for each in folder.iterdir() if each.is_file()]
    return {each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in files}
