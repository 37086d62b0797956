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


def write_state(path: FilePath, state: State) -> None:
    """Write a state to a file, without history, in place of the state that is there, if any.

    Raises:
        StateError: The file cannot be written, or something that is not a state is there.
    """
    path = located(path)
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    with translated(path, "write"):
        if os.path.exists(path):
            if not is_open_here(path):
                require_header(path)
            require_writable(path)
        try:
            written = State.open(temporary, lambda: state.parts)
            with changing(written) as change:
                change.unite(state)
            written.close()
            _put(temporary, path)
        except StateAccessError as error:
            if error.path != temporary:
                raise
            raise StateAccessError("write", path, error.reason) from error
        finally:
            for each in (temporary, Path(f"{temporary}-journal")):
                each.unlink(missing_ok=True)
        flush_folder(path.parent)


def _put(temporary: Path, path: Path) -> None:
    """Put a new state in the place of another, while no program is writing that one."""
    before = connect(path) if os.path.exists(path) else None
    try:
        if before is not None:
            os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
            # An unfinished change is undone: its journal would be taken for one of the new file.
            before.execute("BEGIN EXCLUSIVE")
            if os.name == "nt":  # where an open file cannot be replaced
                before.close()
        patiently(lambda: os.replace(temporary, path))
    finally:
        if before is not None:
            before.close()
