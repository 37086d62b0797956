"""Whole-file writes: afterwards a file has its new content, or, after a failure, its old one."""

import os
import tempfile
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file by one atomic rename; the content is on the disk when this returns.

    Args:
        path: The file, which need not exist. Its folder must.
        content: All bytes of the new file.

    Raises:
        OSError: The file cannot be written. It is as it was before, and no temporary file remains.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Make renames and removals in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
