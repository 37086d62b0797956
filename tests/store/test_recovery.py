"""Recovery saves every sample whose bytes are intact, and `inspect` finds any damage.

What must be saved is computed without the code of recovery: from where the bytes of each embedding
are in the file before it is damaged.
"""

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import assert_refused, run
from robocle import Learner
from robocle.errors import StateError
from state_files import PAGE, damage_embedding, edit, files_in, rows, set_parts, write_at
from stub_backbone import STUB, embedding

SAMPLES = 60
LABELS = ("mug", "cup", "pan")
SMALL, LARGE = 304, 1280  # of which several samples share a page, or each goes on on another page
WINDOW = 32
Places = dict[str, list[int]]
"""Where pieces of each sample's embedding begin in a file; each has WINDOW bytes."""


def make(path: Path, width: int, classifier: str = "ncm") -> None:
    with Learner.open(path, STUB, pooling="avg", classifier=classifier) as learner:
        for number in range(SAMPLES):
            learner.teach_embedding(embedding(number, width), LABELS[number % 3])


@pytest.fixture(scope="module", params=[SMALL, LARGE])
def intact(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("intact") / "home.robocle"
    make(path, request.param)
    return path.read_bytes()


@pytest.fixture
def state(intact: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "home.robocle"
    path.write_bytes(intact)
    return path


@pytest.fixture
def like(tmp_path: Path) -> Path:
    """Another state with the same parts."""
    make(tmp_path / "like.robocle", 3)
    return tmp_path / "like.robocle"


@pytest.fixture
def labels(state: Path) -> dict[str, str]:
    return dict(rows(state, "SELECT lower(hex(id)), label FROM samples"))


@pytest.fixture
def places(state: Path) -> Places:
    content, found = state.read_bytes(), Places()
    for id, numbers in rows(state, "SELECT lower(hex(id)), embedding FROM samples"):
        starts = [content.find(numbers[at : at + WINDOW]) for at in range(0, len(numbers), WINDOW)]
        found[id] = [start for start in starts if start >= 0]
        assert len(found[id]) >= len(starts) - 2  # the others are cut by the end of a page
    return found


def outside(places: Places, damaged: set[int]) -> set[str]:
    """Return the ids of the samples that no damaged page has anything of."""
    return {id for id, found in places.items() if not {at // PAGE for at in found} & damaged}


def recovered(state: Path, *options: str | Path) -> tuple[dict[str, str], list[str]]:
    """Recover a state, use the result, and return the label of each sample, and what is lost."""
    before = files_in(state.parent)
    out = state.parent / "out"
    out.mkdir(exist_ok=True)
    result = run("recover", state, out / "new.robocle", "--replace", *options)
    assert files_in(state.parent) == before
    assert not isinstance(result.exception, Exception), result.exception
    lines = result.stdout.splitlines()
    if result.exit_code:
        assert len(result.stderr.splitlines()) == 1
        return {}, lines
    learner = Learner.load(out / "new.robocle", STUB)
    query = learner.last_embedding(learner.labels[0])
    if query is not None:
        assert learner.predict_embedding(query).nearest in learner.labels
    pictures = sum(learner.counts.values())
    assert lines.pop().startswith(f"recovered {pictures} picture")
    return {each.id: each.label for each in learner.samples}, lines


# ---- damage in any place


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zeros", "noise"])
def test_damaged_pages_lose_only_their_samples_and_are_found(
    kind: str, state: Path, intact: bytes, labels: dict[str, str], places: Places, like: Path
) -> None:
    rng, count = random.Random(kind), len(intact) // PAGE
    several = [set(rng.sample(range(count), rng.randrange(2, count // 2))) for _ in range(15)]
    for damaged in [*({page} for page in range(count)), *several]:
        state.write_bytes(intact)
        for page in damaged:
            write_at(state, PAGE * page, bytes(PAGE) if kind == "zeros" else rng.randbytes(PAGE))
        assert_refused(run("inspect", state), str(state))
        with pytest.raises(StateError):
            Learner.load(state, STUB)
        # The parts are stored twice: after damage to one page, no other state is needed.
        found, lost = recovered(state, *(("--like", like) if len(damaged) > 1 else ()))
        assert found == {id: labels[id] for id in outside(places, damaged)}
        lost_rows = sum(int(re.findall(r"lost: .*?(\d+)", each)[0]) for each in lost)
        assert lost_rows >= SAMPLES - len(found) or len(damaged) > 1
        assert lost or len(found) == SAMPLES


@pytest.mark.slow
def test_a_truncated_state_loses_only_what_is_cut_off(
    state: Path, intact: bytes, labels: dict[str, str], places: Places
) -> None:
    edges = [at + more for at in range(PAGE, len(intact), 7 * PAGE) for more in (-1, 0, 1)]
    for size in (*range(5, len(intact), 9 * 997), *edges, len(intact) - 1):
        state.write_bytes(intact[:size])
        with pytest.raises(StateError):
            Learner.load(state, STUB)
        found, _ = recovered(state)
        # At the end of its first page, a row has up to this many bytes more than were searched for.
        whole = {id for id, each in places.items() if max(each) + 2 * WINDOW + 4 <= size}
        some = {id for id, each in places.items() if max(each) + WINDOW <= size}
        assert whole <= found.keys() <= some
        assert all(found[id] == labels[id] for id in found)


@pytest.mark.slow
def test_a_damaged_sector_loses_at_most_the_samples_near_it(
    state: Path, intact: bytes, labels: dict[str, str], places: Places, like: Path
) -> None:
    rng = random.Random(1)
    for _ in range(40):
        state.write_bytes(intact)
        hole = 512 * rng.randrange(len(intact) // 512)
        write_at(state, hole, rng.choice([bytes(512), rng.randbytes(512)]))
        found, _ = recovered(state, "--like", like)
        for id, pieces in places.items():
            heads = {PAGE * (at // PAGE) for at in pieces}  # which say where the rows of a page are
            near = any(hole - 300 <= at < hole + 812 for at in pieces)
            if not near and not any(hole - 200 < head < hole + 512 for head in heads):
                assert found[id] == labels[id]


def test_a_flipped_bit_loses_one_sample_and_is_found(state: Path, labels: dict[str, str]) -> None:
    for number in (1, 30, SAMPLES):  # also the last one, after which no number is missing
        damage_embedding(state, f"number = {number}")
    assert "checksum" in run("inspect", state).stderr
    gone = [id for (id,) in rows(state, "SELECT lower(hex(id)) FROM samples WHERE number IN "
                                        f"(1, 30, {SAMPLES})")]  # fmt: skip
    found, lost = recovered(state)
    assert found == {id: label for id, label in labels.items() if id not in gone}
    assert lost == ["lost: 1 picture of 'mug'", "lost: 2 pictures of 'pan'"]


@pytest.mark.parametrize(
    "damage",
    [
        f"time = {2**53 + 1}",
        f"decided = {2**53 + 1}",
        f"time = {2**60}",
        "changed = 0",
        "bits = 16",
        "sketch = zeroblob(63)",
        "quality = char(27)",
    ],
)
def test_a_damaged_value_loses_one_sample(damage: str, state: Path) -> None:
    edit(state, f"UPDATE samples SET {damage} WHERE number = 1")
    found, lost = recovered(state)
    assert len(found) == SAMPLES - 1
    assert lost == ["lost: 1 picture of 'mug'"]


def test_a_damaged_number_of_a_row_does_not_change_the_label_of_another(
    state: Path, labels: dict[str, str]
) -> None:
    content = bytearray(state.read_bytes())
    ((id,),) = rows(state, "SELECT id FROM samples WHERE number = 40")
    at = content.index(bytes([40]), content.index(id) - 25)
    content[at] = 8  # which is another label's
    state.write_bytes(content)
    assert recovered(state)[0] == labels


# ---- an unfinished change


UNFINISHED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 5")  # pages are written before the transaction ends
connection.execute("BEGIN")
connection.execute("UPDATE samples SET label = 'jar', embedding = randomblob(6000)")
connection.execute("DELETE FROM parts")
os._exit(0)
"""


@pytest.fixture
def unfinished(state: Path, intact: bytes, labels: dict[str, str], places: Places) -> Path:
    """A state whose writer was killed, after what it had was read, which would undo that."""
    subprocess.run([sys.executable, "-c", UNFINISHED, state], check=True)
    assert Path(f"{state}-journal").stat().st_size > 10 * PAGE
    assert state.read_bytes() != intact
    return state


def test_a_change_that_a_killed_program_began_is_not_recovered(
    unfinished: Path, labels: dict[str, str]
) -> None:
    assert recovered(unfinished) == (labels, [])
    assert Learner.load(unfinished, STUB).counts == dict.fromkeys(LABELS, SAMPLES // 3)


def test_damage_where_a_killed_program_has_written_loses_nothing(
    unfinished: Path, intact: bytes, labels: dict[str, str]
) -> None:
    written = unfinished.read_bytes()
    starts = range(0, len(intact), PAGE)
    changed = [at for at in starts if intact[at : at + PAGE] != written[at : at + PAGE]]
    assert len(changed) > 5
    for at in changed:
        write_at(unfinished, at, bytes(PAGE))
    assert recovered(unfinished) == (labels, [])


@pytest.mark.slow
def test_a_damaged_journal_does_not_stop_recovery(unfinished: Path, like: Path) -> None:
    file, journal = unfinished.read_bytes(), Path(f"{unfinished}-journal").read_bytes()
    rng = random.Random(2)
    for _ in range(15):
        changed = bytearray(journal[: rng.randrange(1, len(journal))])
        for _ in range(rng.randrange(5)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        Path(f"{unfinished}-journal").write_bytes(changed)
        recovered(unfinished, "--like", like)
        assert unfinished.read_bytes() == file


# ---- sums, parts, nothing


@pytest.fixture
def folded(tmp_path: Path) -> Path:
    """A state with 20 samples, and the sums of 40."""
    path = tmp_path / "folded.robocle"
    make(path, SMALL, "slda:keep=20")
    with Learner.edit(path) as learner:
        learner.purge()
        assert len(learner.samples) == 20
    return path


def test_sums_are_recovered(folded: Path) -> None:
    expected = Learner.load(folded, STUB)
    query = embedding(99, SMALL)
    write_at(folded, 0, bytes(100))
    assert run("recover", folded, folded.with_name("new")).exit_code == 0
    found = Learner.load(folded.with_name("new"), STUB)
    assert found.counts == expected.counts
    scores = expected.predict_embedding(query).scores
    assert found.predict_embedding(query).scores == pytest.approx(scores, rel=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE sums SET crc = 1 WHERE name = 'totals'",
        "UPDATE sums SET crc = 1 WHERE name = 'scatter0'",
        "DELETE FROM sums WHERE name = 'scatter0'",
        "UPDATE sums SET numbers = numbers || zeroblob(8) WHERE name = 'scatter0'",
    ],
)
def test_damage_to_sums_loses_them_and_keeps_all_samples(change: str, folded: Path) -> None:
    kept = {each.id: each.label for each in Learner.load(folded, STUB).samples}
    edit(folded, change)
    assert recovered(folded) == (kept, ["lost: the sums of 40 pictures that are not kept"])


def test_damage_to_the_mean_of_a_class_loses_that_class(folded: Path) -> None:
    before = Learner.load(folded, STUB)
    kept = {each.id: each.label for each in before.samples}
    count = sum(label == "mug" for label in kept.values())
    damage_embedding(folded, "label = 'mug' AND fold > 0")
    found, lost = recovered(folded)
    assert found == kept
    assert lost == [f"lost: {before.counts['mug'] - count} pictures of 'mug'"]


@pytest.mark.no_cover
@pytest.mark.slow
def test_any_damaged_page_of_a_state_with_sums_leaves_a_state_that_predicts(folded: Path) -> None:
    content = folded.read_bytes()
    kept = {each.id for each in Learner.load(folded, STUB).samples}
    for page in range(len(content) // PAGE):
        folded.write_bytes(content)
        write_at(folded, PAGE * page, bytes(PAGE))
        found, lost = recovered(folded)
        assert lost or found.keys() == kept


@pytest.mark.parametrize(
    "names", [("pooling",), ("backbone", "views"), ("classifier",), ("world",)]
)
def test_lost_parts_are_taken_from_another_state(
    names: tuple[str, ...], state: Path, labels: dict[str, str], like: Path
) -> None:
    for name in names:
        edit(state, f"DELETE FROM parts WHERE name = '{name}'")
    result = run("recover", state, state.with_name("new.robocle"))
    assert_refused(result, "has lost the names of its parts", "--like")
    assert not state.with_name("new.robocle").exists()
    assert recovered(state, "--like", like) == (labels, [])


def test_a_part_that_is_damaged_in_one_place_is_not_believed(
    state: Path, labels: dict[str, str], like: Path
) -> None:
    content = state.read_bytes()
    at = content.index(b"stretched-square/1")
    write_at(state, at, b"stretched-square/2")
    assert_refused(run("recover", state, state.with_name("new.robocle")), "--like")
    assert recovered(state, "--like", like) == (labels, [])
    again = content.index(b"stretched-square/1", at + 1)  # there are two
    assert content.find(b"stretched-square/1", again + 1) == -1


def test_intact_parts_are_not_replaced_by_those_of_another_state(
    state: Path, labels: dict[str, str], like: Path
) -> None:
    set_parts(like, pooling="max")
    assert recovered(state, "--like", like) == (labels, [])


@pytest.mark.parametrize("content", [b"", b"\0", b"milk, bread, eggs", bytes(3 * PAGE)])
def test_nothing_is_written_if_nothing_is_intact(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "home.robocle").write_bytes(content)
    before = files_in(tmp_path)
    result = run("recover", tmp_path / "home.robocle", tmp_path / "new.robocle")
    assert_refused(result, "nothing can be recovered", "is not written")
    assert files_in(tmp_path) == before


def test_removed_samples_do_not_come_back(state: Path, labels: dict[str, str]) -> None:
    with Learner.edit(state) as learner:
        learner.forget("cup")
    write_at(state, 0, bytes(PAGE))
    found, lost = recovered(state)
    assert found == {id: label for id, label in labels.items() if label != "cup"}
    assert lost == []


def test_the_result_can_be_merged_with_what_it_was_recovered_from(
    state: Path, intact: bytes, labels: dict[str, str]
) -> None:
    damage_embedding(state)
    assert run("recover", state, state.with_name("new.robocle")).exit_code == 0
    state.write_bytes(intact)
    with Learner.edit(state.with_name("new.robocle")) as learner:
        assert len(learner.samples) == SAMPLES - 1
        learner.merge_files(state)
        assert {each.id: each.label for each in learner.samples} == labels
