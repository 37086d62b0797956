"""Whole-file writes: afterwards a file has its new content, or, after a failure, its old one.

The same code runs on Linux, macOS and Windows. Where they differ:

- macOS: `fsync` leaves the data in the cache of the disk; `F_FULLFSYNC` makes it durable.
- Windows: a file that another program has open can be neither replaced nor removed, and a file that
  is being replaced cannot be opened. Readers take milliseconds, so such calls are tried again.
- Windows: a folder cannot be opened, so it cannot be flushed either.
"""

import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

if sys.platform == "darwin":
    import fcntl

    def _sync(handle: int) -> None:
        try:
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.ENOTTY, errno.EINVAL):
                raise
            os.fsync(handle)  # a network drive that knows no other way
else:

    def _sync(handle: int) -> None:
        (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(handle)


Result = TypeVar("Result")
# What Windows reports while another program uses a file: access denied, sharing violation, lock
# violation.
IN_USE = (5, 32, 33)
ATTEMPTS = 50
PAUSE = 0.02  # seconds; all attempts together take a second


def replace_file(path: Path, *content: bytes | memoryview, like: Path | None = None) -> None:
    """Replace a file by one atomic rename; the content is on the disk when this returns.

    A file that exists keeps its permissions. Those of a new one follow from the umask.

    Args:
        path: The file, which need not exist. Its folder must.
        content: All bytes of the new file, in one piece or in several that follow each other.
        like: A file whose permissions a new file gets instead.

    Raises:
        OSError: The file cannot be written, or it is read-only. It is as it was before, and no
            temporary file remains.
    """
    require_writable(path)
    model = next((each for each in (path, like) if each and os.path.exists(each)), None)
    permissions = 0o666 if model is None else stat.S_IMODE(os.stat(model).st_mode)
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    handle = open_binary(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, permissions)
    try:
        if model is not None:
            os.chmod(temporary, permissions)  # the umask has removed some
        with os.fdopen(handle, "wb") as file:
            file.writelines(content)
            file.flush()
            flush_file(file.fileno())
        patiently(lambda: os.replace(temporary, path))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def require_writable(path: Path) -> None:
    """Check that a file may be replaced.

    A rename replaces even a file that its owner has made read-only. That must not happen by
    mistake.

    Raises:
        PermissionError: The file exists and is read-only.
    """
    if not is_writable(path):
        raise PermissionError(errno.EACCES, "it is read-only; make it writable first")


def is_writable(path: Path) -> bool:
    """Return whether a file may be written, or does not exist.

    The bits of the mode count also for the superuser, whom nothing else stops.
    """
    if not os.path.exists(path):
        return True
    return os.access(path, os.W_OK) and bool(os.stat(path).st_mode & 0o222)


def open_binary(path: Path, flags: int, permissions: int = 0o666) -> int:
    """Open a file for unbuffered reads and writes of bytes, and return its descriptor.

    Args:
        path: The file.
        flags: As `os.open` takes them. Subprocesses never inherit the descriptor.
        permissions: Of a new file; the umask removes bits from them.

    Raises:
        OSError: The file cannot be opened.
    """
    # Without O_BINARY, Windows would write every line feed as two bytes.
    return patiently(lambda: os.open(path, flags | getattr(os, "O_BINARY", 0), permissions))


def patiently(call: Callable[[], Result]) -> Result:
    """Call a function, again for up to a second while Windows reports that a file is in use.

    Args:
        call: Opens, replaces or removes a file. On other systems it is called once.

    Returns:
        What it returns.

    Raises:
        OSError: It fails for another reason, or the file is still in use.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return call()
        except OSError as error:
            if getattr(error, "winerror", None) not in IN_USE:
                raise
            time.sleep(PAUSE)
    return call()


def flush_file(handle: int) -> None:
    """Write the content and the length of an open file to the disk.

    Raises:
        OSError: The disk failed, or it is full.
    """
    _sync(handle)


def flush_folder(folder: Path) -> None:
    """Make renames and removals in a folder durable, where the system can.

    Raises:
        OSError: The disk failed.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # always on Windows; elsewhere for a folder that may only be written to
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def file_identity(path: Path | None) -> tuple[int, int] | None:
    """Return what tells a file from another one at the same path; None if there is none."""
    try:
        found = os.stat(path or "")
    except OSError:
        return None
    return found.st_dev, found.st_ino
