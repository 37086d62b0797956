"""Keys: what a result or an embedding was made of, as a hash.

`key` makes every key: of trials, of their data and code, and of embeddings. Which code decides is
derived: the modules of the parts that are used, and all that these import. The source of a plug-in
is its whole package. Code is hashed once per process, because a process runs the code it loaded,
whatever is written to the files later.

A picture is what its bytes are, whatever its name. Reading all pictures of a large data set at
every start would take minutes. A hash is therefore kept, in memory and in the cache folder, as long
as the path, the size and the time of change of the file stay the same. The hash of a file that
changed in the last seconds is not kept, since the file may change again without getting another
time.
"""

import ast
import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from robocle.backbones.model_folder import cache_folder
from robocle.errors import ImageError
from robocle.images.opening import require_regular_file

# What no number depends on, though almost everything imports it. All other code counts.
WITHOUT_EFFECT = frozenset({"robocle.errors", "robocle._internal.wording"})
OWN = "robocle"
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


def key(*facts: object) -> str:
    """Return the key of something that depends on these facts, and on nothing else.

    Args:
        facts: Anything that JSON can express. Equal facts have equal keys in every process.

    Example:
        >>> key("ab", "c") == key("a", "bc")
        False
    """
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def versions(*libraries: str) -> dict[str, str]:
    """Return the installed version of each library."""
    return {name: version(name) for name in libraries}


def code_of(*classes: type, also: Iterable[str] = (), without: Iterable[str] = ()) -> str:
    """Return the key of the code that decides what some parts compute.

    Args:
        classes: The classes of the parts. Their modules count with all of robocle that they
            import; of a plug-in, its whole package counts.
        also: Further modules that count, such as the one that calls the parts.
        without: Modules, with all that is inside them, that do not count here.

    Example:
        >>> from robocle.poolings import pooling
        >>> code_of(type(pooling("avg"))) == code_of(type(pooling("moments")))
        False
    """
    return _code(frozenset(classes), frozenset(also), frozenset(without))


@cache
def _code(classes: frozenset[type], also: frozenset[str], without: frozenset[str]) -> str:
    modules = {each.__module__ for each in classes}
    own = {name for name in modules if _package(name) == OWN}
    plugins = [file for name in sorted({*map(_package, modules - own)}) for file in _files(name)]
    used = {name for file in plugins for name in _imports(file)}
    deciding = [_file(name) for name in imported_by({*own, *used, *also}, without)]
    return key([(str(file.name), file_hash(file)) for file in [*deciding, *plugins] if file])[:16]


def imported_by(modules: Iterable[str], without: Iterable[str] = ()) -> list[str]:
    """Return some modules of robocle and all others of it that these import, sorted.

    Args:
        modules: The names of the modules.
        without: Modules, with all that is inside them, that are left out.

    Example:
        >>> imported_by(["robocle.images.boxes"])
        ['robocle.images.boxes']
    """
    left_out = {*without, *WITHOUT_EFFECT}
    found: set[str] = set()
    to_read = list(modules)
    while to_read:
        name = to_read.pop()
        file = _file(name)
        is_left_out = any(f"{name}.".startswith(f"{each}.") for each in left_out)
        if file is None or name in found or is_left_out:
            continue
        found.add(name)
        to_read += _imports(file)
    return sorted(found)


@cache
def _imports(file: Path) -> frozenset[str]:
    """Return what a file imports from robocle, also inside functions: modules and other names."""
    named: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes() if file.suffix == ".py" else b"")):
        if isinstance(node, ast.ImportFrom) and node.module:
            named |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Import):
            named |= {each.name for each in node.names}
    return frozenset(name for name in named if name.startswith(f"{OWN}."))


def _file(name: str) -> Path | None:
    """Return the file of a module of robocle; None if the name is not that of a module."""
    path = Path(str(sys.modules[OWN].__file__)).parents[1].joinpath(*name.split("."))
    files = path / "__init__.py", path.with_suffix(".py")
    return next((file for file in files if file.is_file()), None)


def _files(package: str) -> list[Path]:
    """Return the files of a plug-in's package, or the one of its module, sorted."""
    spec = find_spec(package)
    if spec is None:
        return []
    folders = [Path(each) for each in spec.submodule_search_locations or ()]
    files = (file for folder in folders for file in folder.rglob("*") if file.is_file())
    if not folders:
        return [Path(spec.origin)] if spec.origin else []
    return sorted(file for file in files if "__pycache__" not in file.parts)


def _package(module: str) -> str:
    return module.partition(".")[0]


def file_hash(file: Path) -> str:
    """Return the hash of a file's content."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


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
            found = file_hash(picture)
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
