"""A whole file is replaced or left as it was."""

import errno
import fcntl
import importlib.util
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from robocle import files
from robocle.files import remove_file, replace_file


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_gets_its_new_content_and_nothing_else_is_left(tmp_path: Path) -> None:
    replace_file(tmp_path / "file", b"old")
    replace_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


@pytest.mark.usefixtures("umask")
def test_only_the_owner_can_read_a_file_unless_permissions_are_given(tmp_path: Path) -> None:
    replace_file(tmp_path / "private", b"")
    replace_file(tmp_path / "shared", b"", permissions=0o666)
    assert permissions(tmp_path / "private") == 0o600
    assert permissions(tmp_path / "shared") == 0o644


def test_a_failed_write_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_file(tmp_path / "file", b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("robocle.files.flush_file", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


# ---- other systems


def in_use(path: Path) -> OSError:
    """Return the error of Windows if another program has opened a file."""
    error: Any = PermissionError(errno.EACCES, "The process cannot access the file", str(path))
    error.winerror = 32
    return error  # type: ignore[no-any-return]


@pytest.mark.parametrize(("name", "change"), [("replace", replace_file), ("unlink", remove_file)])
def test_a_file_that_stays_in_use_on_windows_is_an_error_and_is_not_changed(
    name: str, change: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, attempts = tmp_path / "file", []
    path.write_bytes(b"old")
    real = os.unlink

    def refuse(*arguments: Any, **_: Any) -> None:
        attempts.append(arguments)
        if arguments[-1] != path:
            real(arguments[-1])  # the temporary file is not in use
        else:
            raise in_use(path)

    monkeypatch.setattr(files, "PAUSE", 0)
    monkeypatch.setattr(os, name, refuse)
    with pytest.raises(PermissionError, match="cannot access"):
        change(path, *([b"new"] if change is replace_file else []))
    assert len(attempts) == files.ATTEMPTS
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_may_not_be_replaced_is_tried_once_on_other_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    def refuse(*arguments: object) -> None:
        attempts.append(arguments)
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError, match="not permitted"):
        replace_file(tmp_path / "file", b"")
    assert len(attempts) == 1


@pytest.fixture
def macos_files(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module robocle.files as it is on macOS."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    spec = importlib.util.spec_from_file_location("macos_files", str(files.__file__))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("answer", "fsyncs"), [(None, 0), (errno.ENOTSUP, 1), (errno.EIO, 0)], ids=str
)
def test_macos_flushes_the_cache_of_the_disk_if_the_drive_can(
    answer: int | None, fsyncs: int, macos_files: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def full_sync(_: int, command: int) -> None:
        assert command == 51
        calls.append("full")
        if answer is not None:
            raise OSError(answer, os.strerror(answer))

    monkeypatch.setattr(fcntl, "fcntl", full_sync)
    monkeypatch.setattr(os, "fsync", lambda _: calls.append("fsync"))
    if answer == errno.EIO:
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            macos_files.flush_file(3)
    else:
        macos_files.flush_file(3)
    assert calls == ["full", *["fsync"] * fsyncs]
