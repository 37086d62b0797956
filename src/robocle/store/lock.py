"""The writer's lock: only one program at a time can write a state."""

import fcntl
import os
from pathlib import Path

from robocle.errors import StateAccessError, StateLockedError


def lock_path(path: Path) -> Path:
    """Return the path of the lock file of a state."""
    return path.with_name(f"{path.name}-lock")


def acquire(path: Path) -> int:
    """Acquire the writer's lock of a state. The kernel releases it when the program ends.

    Returns:
        A handle for `release`.

    Raises:
        StateLockedError: Another program holds the lock.
        StateAccessError: The lock file cannot be created.
    """
    name = lock_path(path)
    try:
        while True:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_current(name, handle):
                    return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)  # its last owner removed the file after we opened it: try again
    except BlockingIOError as error:
        raise StateLockedError(path) from error
    except OSError as error:
        raise StateAccessError.of("write", path, error) from error


def release(path: Path, handle: int) -> None:
    """Release the writer's lock and remove its file."""
    lock_path(path).unlink(missing_ok=True)
    os.close(handle)


def _is_current(name: Path, handle: int) -> bool:
    """Whether the lock file is still the one that was opened."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(name))
    except FileNotFoundError:
        return False
