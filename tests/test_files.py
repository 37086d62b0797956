"""A whole file is replaced or left as it was."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from robocle.files import replace_file


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

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
