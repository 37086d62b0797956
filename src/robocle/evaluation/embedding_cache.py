"""The embedding cache: each picture is embedded once, however many trials and processes use it.

The key of an embedding is a hash of everything that it depends on: see `EmbeddingSetup.keys`. The
cache is one SQLite file with a write-ahead log, so several processes can read and write at the same
time. When it exceeds its limit, the least recently used embeddings are deleted.
"""

import math
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from robocle.backbones.model_folder import cache_folder
from robocle.errors import RobocleError
from robocle.types import Embeddings

DEFAULT_GIGABYTES = 20.0
LIMIT_VARIABLE = "ROBOCLE_CACHE_GB"
SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, used REAL, value BLOB);
CREATE INDEX IF NOT EXISTS by_use ON vectors (used);
"""


class EmbeddingCache:
    """Embeddings on disk, by key."""

    def __init__(self, path: Path | None = None, limit: int | None = None) -> None:
        """Open the cache, or make it.

        Args:
            path: The file. The default is in the cache folder.
            limit: The most bytes that embeddings may take. The default is 20 GB, or what the
                environment variable ROBOCLE_CACHE_GB says.

        Raises:
            RobocleError: The folder or the file cannot be used.
        """
        self.path = path or cache_folder() / "vectors.sqlite"
        self._limit = _limit() if limit is None else limit
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
        """Return those of the keys that have an embedding."""
        return {key for (key,) in self._selected("key", keys)}

    def read(self, keys: Sequence[bytes]) -> Embeddings:
        """Return the embeddings of the keys, in their order.

        Raises:
            RobocleError: A key has no embedding.
        """
        rows = self._selected("key, value", list(dict.fromkeys(keys)))
        found = {key: np.frombuffer(value, np.float32) for key, value in rows}
        if len(found) < len(set(keys)):
            raise RobocleError(
                f"the embedding cache {self.path} lost embeddings that are in use: start again, "
                "and if this happens again, increase its limit"
            )
        return np.array([found[key] for key in keys])

    def write(self, embeddings: dict[bytes, Embeddings]) -> None:
        """Write one embedding per key; then delete old ones if the limit is exceeded."""
        now = time.time()
        rows = [
            (key, now, np.ascontiguousarray(value, np.float32).tobytes())
            for key, value in embeddings.items()
        ]
        with self._connection() as database, database:
            database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
        self._make_room()

    def touch(self, keys: Sequence[bytes]) -> None:
        """Mark embeddings as used now, at most once per hour."""
        now = time.time()
        stale = f"UPDATE vectors SET used = {now} WHERE used < {now - 3600} AND key = ?"
        with self._connection() as database, database:
            database.executemany(stale, [(key,) for key in keys])

    def size(self) -> int:
        """Return how many bytes the embeddings take."""
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

    def _selected(self, columns: str, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        with self._connection() as database:
            for key in keys:
                yield from database.execute(f"SELECT {columns} FROM vectors WHERE key = ?", (key,))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=60)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise RobocleError(
                f"the embedding cache {self.path} cannot be used ({error}): free disk space, or "
                "delete it"
            ) from error


def _limit() -> int:
    """Return the most bytes that embeddings may take on this machine."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    try:
        gigabytes = float(text) if text else DEFAULT_GIGABYTES
        if 0 < gigabytes < math.inf:
            return int(gigabytes * 1e9)
    except ValueError:
        pass
    raise RobocleError(f"{LIMIT_VARIABLE}={text} is no size: give a number of gigabytes above 0")
