"""The vector cache: each picture is embedded once, however often it is used, by any process.

A vector is kept under a hash of all it depends on: the backbone's fingerprint, the preprocessing,
the pooling, the corruption with its seed, and the picture's content. The store is one SQLite file
(write-ahead log), so several processes may read and write at once; over its limit, what was not
used for longest goes.
"""

import hashlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocle.backbones.model_folder import cache_folder
from robocle.errors import RobocleError

DEFAULT_LIMIT = 20_000_000_000
ASKED_AT_ONCE = 500
SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, used REAL, value BLOB);
CREATE INDEX IF NOT EXISTS by_use ON vectors (used);
"""

Vector = NDArray[np.float32]


def embedding_key(*parts: str) -> bytes:
    """The hash of all that a vector depends on."""
    return hashlib.sha256("\x1f".join(parts).encode()).digest()


class EmbeddingCache:
    """Embeddings on disk, by key."""

    def __init__(self, path: Path | None = None, limit: int = DEFAULT_LIMIT) -> None:
        self.path = path or cache_folder() / "vectors.sqlite"
        self._limit = limit
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RobocleError(
                f"the cache folder {self.path.parent} cannot be used ({error.strerror}): set "
                "ROBOCLE_CACHE to one that can"
            ) from error
        with self._connection() as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.executescript(SCHEMA)

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Which of the keys have a vector."""
        with self._connection() as database:
            return {
                row[0]
                for part in _parts(keys)
                for row in database.execute(
                    f"SELECT key FROM vectors WHERE key IN ({_marks(part)})", part
                )
            }

    def read(self, keys: Sequence[bytes]) -> NDArray[np.float32]:
        """The vectors of the keys, in their order. Every key must be known."""
        found: dict[bytes, Vector] = {}
        with self._connection() as database:
            for part in _parts(list(dict.fromkeys(keys))):
                query = f"SELECT key, value FROM vectors WHERE key IN ({_marks(part)})"
                for key, value in database.execute(query, part):
                    found[key] = np.frombuffer(value, np.float32)
        if len(found) < len(set(keys)):
            raise RobocleError(
                f"the vector cache {self.path} lost vectors while they were used: start again, and "
                "if it happens again give it more room"
            )
        return np.array([found[key] for key in keys])

    def write(self, vectors: dict[bytes, Vector]) -> None:
        """Keep vectors; then make room if that was too much."""
        now = time.time()
        rows = [
            (key, now, np.ascontiguousarray(value, np.float32).tobytes())
            for key, value in vectors.items()
        ]
        with self._connection() as database, database:
            database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        self._make_room()

    def touch(self, keys: Sequence[bytes]) -> None:
        """Mark vectors as used now, so that others go first; once an hour is enough."""
        now = time.time()
        stale = f"UPDATE vectors SET used = {now} WHERE used < {now - 3600} AND key IN"
        with self._connection() as database, database:
            for part in _parts(keys):
                database.execute(f"{stale} ({_marks(part)})", part)

    def size(self) -> int:
        """How many bytes the vectors take."""
        with self._connection() as database:
            pages = database.execute("PRAGMA page_count").fetchone()[0]
            free = database.execute("PRAGMA freelist_count").fetchone()[0]
            page: int = database.execute("PRAGMA page_size").fetchone()[0]
        return int(pages - free) * page

    def _make_room(self) -> None:
        while self.size() > self._limit:
            with self._connection() as database, database:
                oldest = "SELECT key FROM vectors ORDER BY used LIMIT 100"
                gone = database.execute(f"DELETE FROM vectors WHERE key IN ({oldest})").rowcount
            if not gone:
                return

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self.path, timeout=60)
            try:
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise RobocleError(
                f"the vector cache {self.path} cannot be used ({error}): make room, or delete it"
            ) from error


def _parts(keys: Sequence[bytes]) -> Iterator[list[bytes]]:
    for start in range(0, len(keys), ASKED_AT_ONCE):
        yield list(keys[start : start + ASKED_AT_ONCE])


def _marks(keys: Sequence[bytes]) -> str:
    return ",".join("?" * len(keys))
