"""Badges of labels: kept, merged by the later decision, and no harm to files without them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from robocle.errors import LabelError, NotLastStepError, StateError, UnknownLabelError
from robocle.learner import Learner
from robocle.store.recovery import recovered

CUP, BLUE = "\N{HOT BEVERAGE}", "#2a6fdb"


def taught(path: Path, *labels: str) -> Learner:
    learner = Learner.open(path, pooling="avg", classifier="slda")
    for number, label in enumerate(labels):
        learner.teach_embedding([1.0 + number, 0.5 * number, 3.0], label)
    return learner


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_a_badge_is_kept_and_follows_its_label(tmp_path: Path) -> None:
    path = tmp_path / "home.robocle"
    with taught(path, "mug", "pan") as learner, Learner.edit(path) as other:
        assert (learner.badges, version_of(path)) == ({}, 6)
        before = other.version
        learner.set_badge("mug", CUP)
        assert (other.badges, other.version > before) == ({"mug": CUP}, True)
        learner.rename("mug", "cup")
        learner.set_badge("pan", BLUE.upper())
        for label, badge, kind in (("mug", CUP, UnknownLabelError), ("pan", "pan", LabelError)):
            with pytest.raises(kind):
                learner.set_badge(label, badge)
        learner.save(tmp_path / "copy")
    with Learner.edit(path) as again, Learner.edit(tmp_path / "copy") as copy:
        assert again.badges == copy.badges == {"cup": CUP, "pan": BLUE}
        again.forget("pan")
        again.purge()
        again.set_badge("cup", "")
        assert again.badges == {}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT label FROM badges").fetchall() == [("cup",)]
    assert version_of(path) == 7


def test_a_renamed_label_keeps_its_badge_although_the_new_name_had_another(
    tmp_path: Path,
) -> None:
    with taught(tmp_path / "home", "mug", "pan") as learner:
        learner.set_badge("mug", CUP)
        learner.rename("mug", "cup")
        learner.undo()
        learner.set_badge("mug", BLUE)
        learner.rename("mug", "cup")
        assert learner.badges == {"cup": BLUE}
        learner.set_badge("pan", CUP)
        learner.rename("cup", "pan")  # which keeps its own
        assert learner.badges == {"pan": CUP}


def test_of_two_badges_the_later_decision_counts_in_any_order(tmp_path: Path) -> None:
    with taught(tmp_path / "one", "mug") as one, taught(tmp_path / "two", "mug") as two:
        one.set_badge("mug", CUP)
        two.set_badge("mug", BLUE)
        one.merge(two)
        two.merge(one)
        assert one.badges == two.badges == {"mug": BLUE}


@pytest.mark.parametrize(
    "row", [(1, "mug", "<script>"), (0, "mug", CUP), (1 << 60, "mug", CUP), (1, "a\nb", CUP)]
)
def test_a_badge_that_cannot_be_is_damage(row: tuple[int, str, str], tmp_path: Path) -> None:
    path = tmp_path / "home.robocle"
    with taught(path, "mug") as learner:
        learner.set_badge("mug", CUP)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("INSERT OR REPLACE INTO badges VALUES (?, ?, ?)", row)
    with pytest.raises(StateError), Learner.edit(path) as learner:
        print(learner.badges)


def test_badges_are_recovered(tmp_path: Path) -> None:
    path = tmp_path / "home.robocle"
    with taught(path, "mug") as learner:
        learner.set_badge("mug", CUP)
        parts = dict(vars(learner.parts))
    state, lost = recovered(path)
    assert lost == []
    assert {label: badge for label, (_, badge) in state.badges().items()} == {"mug": CUP}
    assert state.parts.items() <= {**parts, **state.parts}.items()


def test_a_step_that_others_followed_can_be_undone_unless_they_changed_the_same(
    tmp_path: Path,
) -> None:
    with taught(tmp_path / "home.robocle", "mug", "pan", "pan") as learner:
        mug = learner.steps[-1].id
        assert learner.revert(mug) == "teaching 'mug'"
        assert learner.counts == {"pan": 2}
        assert learner.undo() == "undoing teaching 'mug'"
        assert learner.counts == {"mug": 1, "pan": 2}
        learner.rename("mug", "cup")
        renamed = "renaming 'mug' to 'cup' has changed the same pictures: undo that first"
        with pytest.raises(NotLastStepError, match=renamed):
            learner.revert(mug)
        assert learner.counts == {"cup": 1, "pan": 2}
        assert learner.revert(learner.steps[0].id).startswith("renaming")
        learner.teach_embeddings([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], ["jug", "jar"])
        lesson = learner.steps[0].id
        learner.teach_embedding([9.0, 2.0, 3.0], "pan")
        learner.revert(lesson)
        assert learner.counts == {"mug": 1, "pan": 3}
        with taught(tmp_path / "other", "jar") as other:
            learner.merge(other)
        merge = learner.steps[0].id
        learner.teach_embedding([9.0, 9.0, 3.0], "pan")
        with pytest.raises(NotLastStepError, match="a merge cannot be undone once other changes"):
            learner.revert(merge)
        learner.undo()
        assert learner.revert(merge) == "merging 1 label, 1 picture"
