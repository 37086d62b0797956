"""Content hashes of pictures: a picture is what its bytes are, whatever its name.

Reading all pictures of a large data set at every start would take minutes. A hash is therefore
kept, in memory and in the cache folder, as long as the path, the size and the time of change of the
file stay the same. The hash of a file that changed in the last seconds is not kept, since the file
may change again without getting another time.
"""

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from robocle.backbones.model_folder import cache_folder
from robocle.errors import ImageError
from robocle.images.opening import require_regular_file

SETTLED = 2_000_000_000
"""How many nanoseconds after its change the hash of a file is kept."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS contents
(path TEXT PRIMARY KEY, size INTEGER, changed INTEGER, hash TEXT)
"""
UNUSABLE = (sqlite3.Error, OSError, UnicodeEncodeError)  # a name may be no valid text
State = tuple[str, int, int]
"""A file's path, its size, and its time of change in nanoseconds."""
_known: dict[State, str] = {}


def content_hash(picture: Path | bytes) -> str:
    """Return the hash of a picture's bytes: a renamed picture is the same picture.

    Args:
        picture: The file, or its bytes.

    Raises:
        ImageError: The file cannot be read.
    """
    if isinstance(picture, bytes):
        return hashlib.sha256(picture).hexdigest()
    try:
        state = _state(picture)
        if state not in _known:
            require_regular_file(picture)
            found = hashlib.sha256(picture.read_bytes()).hexdigest()
            if not _is_settled(state):
                return found
            _known[state] = found
        return _known[state]
    except OSError as error:
        raise ImageError(f"cannot read {picture}: {error.strerror}") from error


def content_hashes(folder: Path, pictures: Iterable[Path]) -> list[str | None]:
    """Return the hashes of pictures in a folder; None for one that cannot be read.

    Only pictures that are new or changed since the last call, in any process, are read.
    """
    kept = _read_kept(folder)
    _known.update(kept)
    hashes = [content_or_none(picture) for picture in pictures]
    fresh = _known.keys() - kept.keys()
    prefix = os.path.join(os.path.abspath(folder), "")
    _keep((*state, _known[state]) for state in fresh if state[0].startswith(prefix))
    return hashes


def content_or_none(picture: Path) -> str | None:
    """Return the hash of a file's bytes; None if it cannot be read."""
    try:
        return content_hash(picture)
    except ImageError:
        return None


def _state(picture: Path) -> State:
    facts = picture.stat()
    return os.path.abspath(picture), facts.st_size, facts.st_mtime_ns


def _is_settled(state: State) -> bool:
    return state[2] + SETTLED < time.time_ns()


def _read_kept(folder: Path) -> dict[State, str]:
    """Return the hashes in the cache folder for a folder of pictures."""
    start = os.path.join(os.path.abspath(folder), "")
    query = "SELECT path, size, changed, hash FROM contents WHERE path >= ? AND path < ?"
    with suppress(*UNUSABLE), _database() as database:
        rows = database.execute(query, (start, f"{start}\U0010ffff"))
        return {(path, size, changed): found for path, size, changed, found in rows}
    return {}


def _keep(rows: Iterable[tuple[str, int, int, str]]) -> None:
    with suppress(*UNUSABLE), _database() as database, database:
        database.executemany("INSERT OR REPLACE INTO contents VALUES (?, ?, ?, ?)", rows)


@contextmanager
def _database() -> Iterator[sqlite3.Connection]:
    """Open the file of kept hashes. Without it, everything works, only more slowly."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(cache_folder() / "contents.sqlite", timeout=60)) as database:
        database.execute(SCHEMA)
        yield database
