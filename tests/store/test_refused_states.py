"""A file that is not a state of this learner is refused in one line, and nothing is touched."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from command_line import assert_refused, run
from hostile_states import FILES, HOSTILE, ROWS, journal, naming, taught
from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone, backbone
from robocle.errors import RobocleError, StateError
from state_files import LAST, PAGE, edit, files_in, rows, set_parts

Use = Callable[[], object]


@pytest.fixture(scope="module")
def saved(lite0: Backbone, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "home.robocle"
    taught(path, lite0)
    return path.read_bytes()


@pytest.fixture
def state(saved: bytes, tmp_path: Path) -> Path:
    """A state to attack, beside a good one."""
    (tmp_path / "good.robocle").write_bytes(saved)
    (tmp_path / "home.robocle").write_bytes(saved)
    return tmp_path / "home.robocle"


def uses_of(path: Path, backbone: Backbone) -> list[Use]:
    """Return the ways to use a file in Python."""

    def opened() -> None:
        with Learner.open(path, backbone) as learner:
            assert learner.samples

    def edited() -> None:
        with Learner.edit(path) as learner:
            assert learner.samples

    def merged() -> None:
        good = Learner.load(path.with_name("good.robocle"), backbone)
        before = good.counts, [each.id for each in good.samples]
        try:
            good.merge_files(path)
        finally:
            assert (good.counts, [each.id for each in good.samples]) == before

    return [lambda: Learner.load(path, backbone), opened, edited, merged]


# ---- hostile files


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_everywhere_and_nothing_is_touched(
    name: str, state: Path, lite0: Backbone, objects: Path, refusal: Refusal
) -> None:
    attack, reason = HOSTILE[name]
    attack(state)
    before = files_in(state.parent)
    *uses, merged = uses_of(state, lite0)
    for use in uses:
        message = refusal(StateError, use)
        assert message.startswith(str(state))
        assert reason in message
    refusal(StateError, merged)
    assert_refused(run("inspect", state), str(state))
    assert_refused(run("merge", state.with_name("good.robocle"), state), str(state))
    assert_refused(run("merge", state.with_name("new.robocle"), state))
    if name not in ROWS:  # for these, the command would load the backbone first
        assert_refused(run("predict", state, objects / "ball" / "0.jpg"), str(state))
    assert files_in(state.parent) == before


def test_a_hostile_file_can_be_skipped(state: Path, lite0: Backbone) -> None:
    FILES["text"][0](state)
    learner = Learner(lite0, pooling="avg", classifier="slda:keep=6")
    (skipped,) = learner.merge_files(state, state.with_name("good.robocle"), skip=True)
    assert "is not a state, or was written" in str(skipped)
    assert learner.labels


KINDS = {"TEXT": (7, b"x"), "INTEGER": ("x", 1.5, b"x"), "BLOB": (7, "x")}


def test_a_value_of_another_type_is_refused_in_any_column(
    state: Path, saved: bytes, refusal: Refusal
) -> None:
    tried = 0
    for (table,) in rows(state, "SELECT name FROM sqlite_master WHERE type = 'table'"):
        for _, column, kind, is_required, _, key in rows(state, f"PRAGMA table_info({table})"):
            if key and kind == "INTEGER":
                continue  # the number of a row, which is always one
            for value in (*KINDS[kind], *([None] if is_required else [])):
                state.write_bytes(saved)
                where = f"rowid = (SELECT max(rowid) FROM {table})"
                edit(state, (f"UPDATE {table} SET {column} = ? WHERE {where}", (value,)))
                message = refusal(StateError, lambda: Learner.edit(state))
                assert f"value in {table}.{column}" in message
                tried += 1
    assert tried > 80


def test_the_rules_for_values_hold_in_a_file_that_can_only_be_read(
    state: Path, refusal: Refusal
) -> None:
    """SQLite itself does not check them there."""
    edit(state, f"UPDATE samples SET sketch = x'00' WHERE {LAST}")
    state.chmod(0o444)
    for use in (lambda: Learner.edit(state), lambda: Learner().merge_files(state)):
        assert "a sample that violates length(sketch) = 64" in refusal(StateError, use)


def test_two_samples_with_one_id_are_refused(state: Path, refusal: Refusal) -> None:
    (first,), (second,), *_ = rows(state, "SELECT id FROM samples WHERE fold IS NULL")
    state.write_bytes(state.read_bytes().replace(first, second))
    assert "is damaged" in refusal(StateError, lambda: Learner.edit(state))


def test_hostile_texts_of_steps_stay_on_their_line(state: Path) -> None:
    edit(state, ("UPDATE steps SET title = ?, token = ?, time = ?", ("a\x1b[2J\nb", "\x1b", 2**62)))
    for arguments in (("inspect",), ("inspect", "--json"), ("undo", "--list"), ("undo",)):
        result = run(*arguments, state)
        assert result.exit_code == 0
        assert "\x1b" not in result.stdout


# ---- journals


def hostile_journals(state: Path, victim: Path) -> list[bytes]:
    header = bytearray(state.read_bytes()[:PAGE])
    header[18:20] = b"\2\2"
    pages = state.stat().st_size // PAGE
    return [
        naming(victim, journal(pages=pages)),
        naming(victim, journal((1, bytes(header)), pages=pages)),
        naming(victim, b"x" * 512),  # SQLite reads the name even if the rest is no journal
        naming(victim, b"x"),
        journal(pages=2**31),  # 8 TB
        journal(pages=pages, page=65536),
    ]


@pytest.mark.parametrize("number", range(6))
def test_a_hostile_journal_removes_no_file_and_enlarges_none(
    number: int, state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    victim = state.with_name("precious.txt")
    victim.write_text("precious")
    state.with_name("home.robocle-journal").write_bytes(hostile_journals(state, victim)[number])
    before = files_in(state.parent)
    good = Learner.load(state.with_name("good.robocle"), lite0)
    for use in (*uses_of(state, lite0), lambda: good.save(state)):
        assert "its journal cannot be that of a state" in refusal(StateError, use)
        assert files_in(state.parent) == before
    result = run("recover", state, state.with_name("out.robocle"))
    assert result.exit_code == 0
    state.with_name("out.robocle").unlink()
    assert files_in(state.parent) == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders")
def test_a_journal_that_is_a_pipe_a_folder_or_a_link_is_refused(
    state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    journal = Path(f"{state}-journal")
    os.mkfifo(journal)
    refusal(StateError, lambda: Learner.load(state, lite0))
    journal.unlink()
    journal.mkdir()
    refusal(StateError, lambda: Learner.load(state, lite0))
    journal.rmdir()
    victim = state.with_name("precious.txt")
    victim.write_text("precious")
    journal.symlink_to(victim)
    with pytest.raises(StateError), Learner.edit(state) as learner:
        learner.forget("mug")
    assert victim.read_text() == "precious"


def test_a_hostile_journal_of_an_empty_state_removes_no_file(
    tmp_path: Path, lite0: Backbone, refusal: Refusal
) -> None:
    victim, state = tmp_path / "precious.txt", tmp_path / "home.robocle"
    victim.write_text("precious")
    state.write_bytes(bytes(PAGE))
    Path(f"{state}-journal").write_bytes(naming(victim, journal(pages=0)))
    refusal(StateError, lambda: Learner.open(state, lite0, pooling="avg"))
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("at", [16, 18, 60, 100], ids=["pages", "WAL", "format", "tables"])
def test_a_journal_that_changes_the_header_leaves_no_other_file(
    at: int, state: Path, saved: bytes
) -> None:
    page = bytearray(saved[:PAGE])
    page[at : at + 2] = b"\2\2"
    hot = journal((1, bytes(page)), pages=len(saved) // PAGE)
    Path(f"{state}-journal").write_bytes(hot)
    with suppress(StateError), Learner.edit(state) as learner:
        assert learner.samples
    assert {each.name for each in state.parent.iterdir()} == {"good.robocle", "home.robocle"}


# ---- files that are not there, or of another kind


def test_an_empty_file_is_no_state_but_can_become_one(
    tmp_path: Path, lite0: Backbone, refusal: Refusal
) -> None:
    path = tmp_path / "empty.robocle"
    path.touch()
    for use in (lambda: Learner.load(path, lite0), lambda: Learner.edit(path)):
        assert "is an empty file" in refusal(StateError, use)
    assert path.read_bytes() == b""
    with Learner.open(path, lite0, pooling="avg") as learner:
        learner.teach_embedding(np.ones(3), "mug")
    assert Learner.load(path, lite0).counts == {"mug": 1}


# ---- states of other parts


def test_a_state_of_another_input_size_is_refused_with_both_sizes(
    tmp_path: Path, lite0: Backbone, refusal: Refusal
) -> None:
    small = backbone("efficientnet_lite0:size=128")
    path = tmp_path / "small.robocle"
    taught(path, small)
    assert refusal(StateError, lambda: Learner.load(path, lite0)) == (
        f"{path} was learned on efficientnet_lite0:size=128 (sha {small.fingerprint[:8]}), not on "
        f"efficientnet_lite0 (sha {lite0.fingerprint[:8]}): leave out the backbone, and the state "
        "finds its own"
    )
    assert Learner.load(path).backbone.name == "efficientnet_lite0:size=128"


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (
            {"backbone": "resnet50", "fingerprint": "1f3a" * 16},
            "was learned on resnet50 (sha 1f3a1f3a), not on efficientnet_lite0 (sha SHA): "
            "leave out the backbone, and the state finds its own",
        ),
        (
            {"fingerprint": "1f3a" * 16},
            "was learned on another efficientnet_lite0 (sha 1f3a1f3a) than the one on this "
            "machine (sha SHA): use the robocle version that wrote it",
        ),
        ({"preprocessing": "centre-crop/7"}, "'centre-crop/7'"),
    ],
)
def test_a_state_of_other_parts_is_refused_with_both_names(
    parts: dict[str, str], reason: str, state: Path, lite0: Backbone, refusal: Refusal
) -> None:
    set_parts(state, **parts)
    message = refusal(StateError, lambda: Learner.load(state, lite0))
    assert str(state) in message
    assert reason.replace("SHA", lite0.fingerprint[:8]) in message


def test_a_state_with_an_unknown_backbone_is_refused_with_its_name(
    state: Path, refusal: Refusal
) -> None:
    set_parts(state, backbone="backbone_of_tomorrow")
    assert "backbone_of_tomorrow" in refusal(RobocleError, lambda: Learner.load(state))
