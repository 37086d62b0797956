"""Runs robocle in a process that behaves like another system, as far as Linux can imitate it.

    python other_system.py SYSTEM teach STATE     teaches, predicts, closes, reopens
    python other_system.py SYSTEM hold STATE      opens, teaches, says so, and waits to be killed
    python other_system.py SYSTEM open STATE      opens and closes; prints the error if refused
    python other_system.py SYSTEM import STATE    imports every module and counts them

SYSTEM is "no-fcntl", a Python without the modules that only POSIX has, or "windows": also without
the functions that only POSIX has, with the locks of msvcrt, where folders cannot be opened, and
where files that are open can be neither replaced nor removed.
"""

import errno
import importlib
import json
import os
import pkgutil
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

POSIX_MODULES = ("fcntl", "grp", "pwd", "resource", "termios")
MISSING_ON_WINDOWS = ("pwrite", "pread", "fdatasync", "fork", "lockf", "fchmod", "O_CLOEXEC")


def hide(*modules: str) -> None:
    """Make imports of modules fail, as on a system that does not have them."""
    for module in modules:
        sys.modules[module] = None  # type: ignore[assignment]


def imitate_windows() -> None:
    """Replace what Windows does differently. Packages that know Windows are imported before."""
    for package in ("onnx", "onnxruntime", "scipy.special", "safetensors.numpy", "platformdirs"):
        importlib.import_module(package)
    locks = windows_locks()
    hide(*POSIX_MODULES)
    sys.modules["msvcrt"] = locks
    for name in MISSING_ON_WINDOWS:
        delattr(os, name)
    imitate_windows_files()
    lock: Any = importlib.import_module("robocle.store.lock")
    real_platform, sys.platform = sys.platform, "win32"
    importlib.reload(lock)
    sys.platform = real_platform  # other packages would look for libraries of Windows
    lock.sys = types.SimpleNamespace(platform="win32")


def windows_locks() -> types.ModuleType:
    """Return a module like msvcrt, whose locks belong to an open file as those of flock do."""
    import fcntl

    module: Any = types.ModuleType("msvcrt")
    module.LK_NBLCK = 2

    def locking(handle: int, mode: int, size: int) -> None:
        assert (mode, size) == (module.LK_NBLCK, 1)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None

    module.locking = locking
    return module  # type: ignore[no-any-return]


def imitate_windows_files() -> None:
    """Let the functions of os refuse what those of Windows refuse."""
    real_open = os.open

    def open_file(path: Any, *arguments: Any, **options: Any) -> int:
        if os.path.isdir(path):
            raise windows_error(5, path)
        return real_open(path, *arguments, **options)

    os.open = open_file
    for name, place in (("replace", 1), ("rename", 0), ("unlink", 0), ("remove", 0)):
        setattr(os, name, refused_for_open_files(getattr(os, name), place))


def refused_for_open_files(call: Callable[..., None], place: int) -> Callable[..., None]:
    def checked(*arguments: Any, **options: Any) -> None:
        path = arguments[place]
        if os.path.realpath(path) in open_files():
            refusals.append(str(path))
            raise windows_error(32, path)
        call(*arguments, **options)

    return checked


refusals: list[str] = []


def open_files() -> set[str]:
    """Return the files that any program has open or mapped into memory."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found |= {os.path.realpath(link) for link in (process / "fd").iterdir()}
            maps = (process / "maps").read_text()
            found |= {line.split(maxsplit=5)[-1] for line in maps.splitlines()}
        except OSError:
            continue  # it has just ended, or it belongs to someone else
    return found


def windows_error(number: int, path: object) -> PermissionError:
    error: Any = PermissionError(errno.EACCES, "The process cannot access the file", str(path))
    error.winerror = number
    return error  # type: ignore[no-any-return]


def teach(path: Path) -> dict[str, Any]:
    """Teach, predict, undo, compact while a reader has the state open, close and reopen."""
    from robocle import Learner
    from robocle.errors import StateLockedError
    from stub_backbone import STUB, embedding

    with Learner.open(path, STUB) as learner:
        for number, label in enumerate(("mug", "mug", "cup", "cup", "pan")):
            learner.teach_embedding(embedding(number, 96), label)
        learner.undo()
        try:
            Learner.open(path, STUB)
            refused = ""
        except StateLockedError as error:
            refused = str(error)
        predicted = learner.predict_embedding(embedding(0, 96)).nearest
        while_journal = Learner.load(path, STUB).counts
        with kept_open_until_refused(path, path.with_name("home-journal")):
            learner.save(path)
    with Learner.open(path, STUB) as learner:
        learner.teach_embedding(embedding(9, 96), "jar")
        counts = learner.counts
    return {
        "predicted": predicted,
        "refused": refused,
        "while_journal": while_journal,
        "counts": counts,
        "files": sorted(file.name for file in path.parent.iterdir()),
        "refusals": refusals,
    }


def import_everything() -> int:
    """Import every module of robocle that does not need PyTorch, and return their number."""
    import robocle

    found = pkgutil.walk_packages(robocle.__path__, "robocle.")
    names = [
        name for _, name, _ in found if not name.endswith(("_export", "weights_file", "main__"))
    ]
    for name in names:
        importlib.import_module(name)
    return len(names)


@contextmanager
def kept_open_until_refused(*paths: Path) -> Iterator[None]:
    """Keep files open, as a reader does, until something is refused because of it."""
    files = {str(path): path.open("rb") for path in paths}
    saved = threading.Event()

    def close() -> None:
        while not all(file.closed for file in files.values()):
            for path in files if saved.wait(0.001) else set(refusals):
                if path in files:
                    files[path].close()

    reader = threading.Thread(target=close)
    reader.start()
    yield
    saved.set()
    reader.join()


def open_and_close(path: Path, hold: bool) -> str:
    from robocle import Learner
    from robocle.errors import RobocleError
    from stub_backbone import STUB, embedding

    try:
        with Learner.open(path, STUB) as learner:
            if hold:
                learner.teach_embedding(embedding(0, 96), "held")
                print(json.dumps("open"), flush=True)
                time.sleep(600)
            return str(learner.labels)
    except RobocleError as error:
        return str(error)


if __name__ == "__main__":
    system, verb, state = sys.argv[1:]
    if system == "windows":
        imitate_windows()
    else:
        hide(*POSIX_MODULES)
    answers: dict[str, Callable[[], object]] = {
        "teach": lambda: teach(Path(state)),
        "import": import_everything,
        "hold": lambda: open_and_close(Path(state), hold=True),
        "open": lambda: open_and_close(Path(state), hold=False),
    }
    print(json.dumps(answers[verb]()), flush=True)
