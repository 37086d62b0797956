"""The writer's lock: only one program at a time can write a state.

The lock belongs to an open file beside the state. The system releases it when the file is closed or
the program ends, even if it is killed. So a lock file that is left behind never blocks anyone. Each
system has its own call:

- Linux and macOS: `flock`. It also refuses a second learner of the same program, and a fork shares
  the lock.
- Windows: `msvcrt.locking`. It also refuses a second learner of the same program.
- A Python without the module fcntl: `os.lockf`. This lock belongs to the whole program and not to
  its forks, so the names of the locked files are kept to refuse a second learner.

The package filelock would do the same on the first two, but without fcntl its lock is the mere
existence of a file. If a program is killed, such a file can block all others.
"""

import errno
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from robocle.errors import StateAccessError, StateLockedError
from robocle.files import open_binary

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # the first byte; it need not exist
else:
    try:
        import fcntl
    except ImportError:

        def _lock(handle: int) -> None:
            os.lockf(handle, os.F_TLOCK, 0)
    else:

        def _lock(handle: int) -> None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


# The errors that mean that another program holds the lock.
HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
LOCKS_BELONG_TO_PROGRAMS = "msvcrt" not in globals() and "fcntl" not in globals()
_locked: dict[Path, object] = {}
"""The lock files that this program has locked, if its locks belong to the whole program."""


def lock_path(path: Path) -> Path:
    """Return the path of the lock file of a state."""
    return path.with_name(f"{path.name}-lock")


def acquire(path: Path) -> int:
    """Acquire the writer's lock of a state. The system releases it when the program ends.

    Returns:
        A handle for `release` or `drop`.

    Raises:
        StateLockedError: Another program holds the lock.
        StateAccessError: The lock file cannot be created.
    """
    me = object()
    if LOCKS_BELONG_TO_PROGRAMS and _locked.setdefault(path, me) is not me:
        raise StateLockedError(path)
    try:
        while True:
            handle = _opened_and_locked(path)
            if _is_current(lock_path(path), handle):
                return handle
            os.close(handle)  # its last owner removed the file after we opened it: try again
    except BaseException as error:
        _locked.pop(path, None)
        if isinstance(error, OSError) and not isinstance(error, StateAccessError):
            raise StateAccessError.of("write", path, error) from error
        raise


def is_held(path: Path, handle: int) -> bool:
    """Return whether the lock file of a state is still the one that was locked.

    It is not if the state was moved, or if the lock file was removed.
    """
    return _is_current(lock_path(path), handle)


def release(path: Path, handle: int) -> None:
    """Release the writer's lock and remove its file, unless another file has its place."""
    # Windows removes a file only after it is closed, and only if no other writer has opened it.
    # Elsewhere it must be removed while it is locked: it could be the next writer's afterwards.
    mine = is_held(path, handle)
    removed = not mine or _is_removed(lock_path(path))
    drop(path, handle)
    if not removed:
        _is_removed(lock_path(path))


def drop(path: Path, handle: int) -> None:
    """Release the writer's lock and leave its file."""
    os.close(handle)
    _locked.pop(path, None)


def _opened_and_locked(path: Path) -> int:
    handle = open_binary(lock_path(path), os.O_RDWR | os.O_CREAT)
    try:
        _lock(handle)
        with suppress(OSError):  # there is no state yet, or the lock file is someone else's
            # Whoever may write the state may lock it, even after this program was killed.
            shutil.copymode(path, lock_path(path))
    except BaseException as error:
        os.close(handle)
        if isinstance(error, OSError) and error.errno in HELD:
            raise StateLockedError(path) from error
        raise
    return handle


def _is_current(name: Path, handle: int) -> bool:
    """Whether the lock file is still the one that was opened. On Windows it always is."""
    try:
        return sys.platform == "win32" or os.path.samestat(os.fstat(handle), os.stat(name))
    except FileNotFoundError:
        return False


def _is_removed(name: Path) -> bool:
    try:
        name.unlink(missing_ok=True)
    except PermissionError:
        return False
    return True
