"""A whole file is replaced or left as it was."""

import errno
import fcntl
import importlib.util
import os
import stat
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from refusal import SetUmask
from robocle._internal import files
from robocle._internal.files import replace_file


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_gets_its_new_content_and_nothing_else_is_left(tmp_path: Path) -> None:
    replace_file(tmp_path / "file", b"old")
    replace_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_several_pieces_are_one_content(tmp_path: Path) -> None:
    large = bytes(range(256)) * 1000
    replace_file(tmp_path / "file", b"head", memoryview(large), b"", b"tail")
    assert (tmp_path / "file").read_bytes() == b"head" + large + b"tail"


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077], ids=oct)
def test_a_new_file_gets_the_permissions_that_the_umask_leaves(
    umask: int, tmp_path: Path, set_umask: SetUmask
) -> None:
    set_umask(umask)
    replace_file(tmp_path / "file", b"")
    assert permissions(tmp_path / "file") == 0o666 & ~umask


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o666], ids=oct)
def test_a_replaced_file_keeps_its_permissions(
    mode: int, tmp_path: Path, set_umask: SetUmask
) -> None:
    set_umask(0o022)
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(mode)
    replace_file(tmp_path / "file", b"new", like=Path(__file__))
    assert permissions(tmp_path / "file") == mode
    replace_file(tmp_path / "beside", b"", like=tmp_path / "file")
    assert permissions(tmp_path / "beside") == mode


def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o444)
    with pytest.raises(PermissionError, match="it is read-only; make it writable first"):
        replace_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_failed_write_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_file(tmp_path / "file", b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("robocle._internal.files.flush_file", full)
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


def test_a_file_that_stays_in_use_on_windows_is_an_error_and_is_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, attempts = tmp_path / "file", []
    path.write_bytes(b"old")

    def refuse(*arguments: Any) -> None:
        attempts.append(arguments)
        raise in_use(path)

    monkeypatch.setattr(files, "PAUSE", 0)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError, match="cannot access"):
        replace_file(path, b"new")
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
    """The module robocle._internal.files as it is on macOS."""
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
