"""Writing a state to another file."""

import os
import secrets
import stat
from pathlib import Path

from robocle._internal.files import flush_folder, patiently, require_writable
from robocle.errors import StateAccessError
from robocle.store.change import changing
from robocle.store.state import FilePath, State, is_open_here, located
from robocle.store.tables import connect, require_header, translated


def require_place(path: FilePath, replace: bool) -> Path:
    """Check that a state may be written to a path, and return where that is, links resolved.

    Args:
        path: The file to create, or to replace.
        replace: Whether a state that is there is replaced.

    Raises:
        StateError: Something that is not a state is there, or a state that may not be replaced.
    """
    path = located(path)
    with translated(path, "write"):
        if os.path.lexists(path):
            if not is_open_here(path):
                _require_state(path)
            if not replace:
                raise _exists(path)
            require_writable(path)
    return path


def _require_state(path: Path) -> None:
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a pipe would be waited for
        raise StateAccessError("write", path, "it is not a file; choose another name")
    require_header(path, path)


def _exists(path: Path) -> StateAccessError:
    return StateAccessError("write", path, "it exists; pass replace=True, or choose another name")


def write_state(path: FilePath, state: State, *, replace: bool = False) -> None:
    """Write a state to a file, without history.

    Args:
        path: The file to create, or to replace.
        state: The state.
        replace: Whether a state that is there is replaced.

    Raises:
        StateError: The file cannot be written, or something is there that is not replaced.
    """
    path = require_place(path, replace)
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    with translated(path, "write"):
        try:
            written = State.open(temporary, lambda: state.parts)
            with changing(written) as change:
                change.unite(state)
            written.close()
            if replace and os.path.exists(path):
                _replace(path, temporary)
            else:
                _create(path, temporary)
        except StateAccessError as error:
            if error.path != temporary:
                raise
            raise StateAccessError("write", path, error.reason) from error
        finally:
            for each in (temporary, Path(f"{temporary}-journal")):
                each.unlink(missing_ok=True)
        flush_folder(path.parent)


def _create(path: Path, temporary: Path) -> None:
    """Put a new state where there was no file, unless another program has put one there meanwhile.

    A rename would replace that one. A link does not, but some file systems have none.
    """
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise _exists(path) from None
    except OSError:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            raise _exists(path) from None
        try:
            patiently(lambda: os.replace(temporary, path))
        except BaseException:
            path.unlink()
            raise


def _replace(path: Path, temporary: Path) -> None:
    """Put a new state in the place of another, while no program is writing that one."""
    before = connect(path)
    try:
        os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        # An unfinished change is undone: its journal would be taken for one of the new file.
        before.execute("BEGIN EXCLUSIVE")
        if os.name == "nt":  # where an open file cannot be replaced
            before.close()
        patiently(lambda: os.replace(temporary, path))
    finally:
        before.close()
