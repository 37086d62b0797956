"""Keys: what a result or an embedding was made of, as a hash.

`key` makes every key: of trials, of their data and code, and of embeddings. Which code decides is
derived: the modules of the parts that are used, and all that these import. The source of a plug-in
is its whole package. Code is hashed once per process, because a process runs the code it loaded,
whatever is written to the files later.
"""

import ast
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

# What no number depends on, though almost everything imports it. All other code counts.
WITHOUT_EFFECT = frozenset({"robocle.errors", "robocle._internal.wording"})
OWN = "robocle"


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
        if file is None or name in found or left_out.intersection(_itself_and_outer(name)):
            continue
        found.add(name)
        to_read += _imports(file)
    return sorted(found)


def _itself_and_outer(module: str) -> Iterator[str]:
    """Yield "a.b.c", "a.b" and "a" for "a.b.c"."""
    while module:
        yield module
        module = module.rpartition(".")[0]


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
