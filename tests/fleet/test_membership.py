"""The file beside a state: what is wrong with it is one line, and nothing is lost with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from robocle.errors import FleetError, StateAccessError
from robocle.fleet.membership import Entry, Membership, file_beside


@pytest.fixture
def known(tmp_path: Path) -> Iterator[Membership]:
    found = Membership(tmp_path / "home.robocle")
    yield found
    found.close()


def entry(number: int) -> Entry:
    return Entry(number.to_bytes(16), number, "mug" * 1000, 1, 1, 0)


def write(known: Membership) -> None:
    known["cursor"] = "8"
    known.add(map(entry, range(1, 1000)))


def test_a_file_that_is_damaged_is_deleted_and_read_again(tmp_path: Path) -> None:
    folder = tmp_path / "locked"  # a name that says nothing about the file
    folder.mkdir()
    state = folder / "home.robocle"
    file_beside(state).write_bytes(b"no database" * 1000)
    with pytest.raises(
        FleetError, match=r"is damaged \(.*\): delete it, and the log is read again"
    ):
        Membership(state)
    file_beside(state).unlink()
    Membership(state).close()


def test_a_place_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    state = tmp_path / "home.robocle"
    file_beside(state).mkdir()
    with pytest.raises(StateAccessError, match=r"cannot write .*: it is a folder"):
        Membership(state)
    with pytest.raises(StateAccessError, match="there is no folder"):
        Membership(tmp_path / "none" / "home.robocle")


def test_a_full_disk_is_one_line_and_changes_nothing(known: Membership) -> None:
    known._connection.execute("PRAGMA max_page_count = 20")
    known["cursor"] = "7"
    with pytest.raises(StateAccessError, match="the disk is full"), known.writing():
        write(known)
    assert known["cursor"] == "7"
    assert list(known.ids()) == []


@pytest.mark.parametrize(
    "use",
    [
        lambda known: known.entries([bytes(16)]),
        lambda known: list(known.ids()),
        lambda known: known.note_erased(1),
        lambda known: known.start_again(),
    ],
)
def test_damage_that_is_found_later_is_one_line(known: Membership, use: object) -> None:
    known._connection.execute("DROP TABLE entries")
    with pytest.raises(FleetError, match="delete it, and the log is read again"):
        use(known)  # type: ignore[operator]


def test_what_is_wrong_with_something_else_is_not_wrong_with_the_file(known: Membership) -> None:
    with pytest.raises(OSError, match=r"^elsewhere$"), known.writing():
        raise OSError("elsewhere")


def test_a_second_program_is_told_that_join_is_running(known: Membership, tmp_path: Path) -> None:
    with pytest.raises(
        FleetError, match=r"`robocle fleet join` is running for .*home.robocle: stop"
    ):
        Membership(tmp_path / "home.robocle")
