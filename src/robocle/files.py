"""Whole-file writes: afterwards a file has its new content, or, after a failure, its old one."""

import os
import secrets
from pathlib import Path


def replace_file(path: Path, content: bytes, permissions: int = 0o600) -> None:
    """Replace a file by one atomic rename; the content is on the disk when this returns.

    Args:
        path: The file, which need not exist. Its folder must.
        content: All bytes of the new file.
        permissions: Of the new file; the umask removes bits from them. Only the owner can read and
            write the file unless others are named here.

    Raises:
        OSError: The file cannot be written. It is as it was before, and no temporary file remains.
    """
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, permissions)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Make renames and removals in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
