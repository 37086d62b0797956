"""Uses mutated state files in little memory, and prints what happened as JSON.

`PYTHONPATH=tests/shared python tests/store/fuzz_driver.py SEED COUNT`. Without arguments, the files
of `hostile_states` are used instead of random mutations.
"""

import json
import logging
import random
import resource
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from command_line import run
from hostile_states import HOSTILE, WIDTH, Attack, taught
from robocle import Learner
from robocle.errors import RobocleError, StateError
from state_files import PAGE, edit, files_in, rows
from stub_backbone import STUB, embedding

MEMORY = 400 << 20  # in bytes, of which more than half is code
CLASSIFIERS = (
    "slda:keep=6",
    "slda:keep=0",
    "slda",
    "ncm",
    "slda:covariance=blocks,blocks=3,keep=6",
)
QUERY = embedding(99, WIDTH)
VALUES: tuple[object, ...] = (
    None, 0, 1, -1, 2, 64, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63), 1.5, 1e308, float("inf"), "",
    "x", "mug", "unknown", "\x1b[2J", "a\0b", "x" * 5000, b"", b"x", bytes(16), bytes(64),
    bytes(WIDTH * 4), b"\xff" * WIDTH * 8,
)  # fmt: skip
Rng = random.Random


def bytes_changed(rng: Rng, content: bytearray) -> None:
    for _ in range(rng.randrange(1, 30)):
        content[rng.randrange(len(content))] = rng.randrange(256)


def bit_flipped(rng: Rng, content: bytearray) -> None:
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def place(rng: Rng, content: bytearray) -> slice:
    start = PAGE * rng.randrange(max(1, len(content) // PAGE))
    return slice(start, start + PAGE)


def pages_swapped(rng: Rng, content: bytearray) -> None:
    one, other = place(rng, content), place(rng, content)
    content[one], content[other] = content[other], content[one]


def page_copied(rng: Rng, content: bytearray) -> None:
    content[place(rng, content)] = content[place(rng, content)]


def page_overwritten(rng: Rng, content: bytearray) -> None:
    content[place(rng, content)] = rng.choice([bytes(PAGE), rng.randbytes(PAGE)])


def page_appended(rng: Rng, content: bytearray) -> None:
    content += content[place(rng, content)]
    content[28:32] = (len(content) // PAGE).to_bytes(4)


def truncated(rng: Rng, content: bytearray) -> None:
    del content[rng.randrange(len(content)) :]


def tree_changed(rng: Rng, content: bytearray) -> None:
    """Change the head of a page, where SQLite finds its way."""
    start = place(rng, content).start
    for _ in range(rng.randrange(1, 4)):
        at = start + rng.randrange(40) + (100 if start == 0 and rng.random() < 0.8 else 0)
        content[at : at + 1] = bytes([rng.choice([0, 1, 2, 5, 10, 13, 255, rng.randrange(256)])])


DAMAGES = (
    bytes_changed, bit_flipped, pages_swapped, page_copied, page_overwritten, page_appended,
    truncated, tree_changed, tree_changed,
)  # fmt: skip


def value_changed(rng: Rng, path: Path) -> None:
    """Put any value into any column, or another array with a correct checksum."""
    table, arrays = rng.choice([("samples", "embedding"), ("sums", "numbers"), ("steps", ""),
                                ("changes", ""), ("parts", "")])  # fmt: skip
    numbers = [each for (each,) in rows(path, f"SELECT rowid FROM {table}")]
    if not numbers:
        return
    row = rng.choice(numbers)
    if arrays and rng.random() < 0.5:
        ((found,),) = rows(path, f"SELECT {arrays} FROM {table} WHERE rowid = {row}")
        array = other_array(rng, found)
        query = f"UPDATE {table} SET {arrays} = ?, crc = ? WHERE rowid = {row}"
        edit(path, (query, (array, zlib.crc32(array))))
        return
    column = rng.choice(rows(path, f"PRAGMA table_info({table})"))[1]
    others = [each for (each,) in rows(path, f"SELECT {column} FROM {table}")]
    value = rng.choice(rng.choice([VALUES, others]))
    with suppress(sqlite3.IntegrityError):  # the number of a row is a number in any table
        edit(path, (f"UPDATE OR REPLACE {table} SET {column} = ? WHERE rowid = {row}", (value,)))


def other_array(rng: Rng, content: bytes | None) -> bytes:
    array = np.frombuffer(content or bytes(8))[: len(content or b"") // 8]
    number = rng.choice([np.nan, np.inf, 0.0, -1.0, 1e-300, 1e30, 1e70, 1e300])
    choices: list[Callable[[], object]] = [
        lambda: array * -1, lambda: array * 1e9, lambda: array * 0 + number, lambda: array[:-1],
        lambda: np.concatenate([array, array]), lambda: array[::-1], lambda: array * 0,
        lambda: np.where(np.arange(len(array)) == rng.randrange(len(array) or 1), number, array),
    ]  # fmt: skip
    return np.asarray(rng.choice(choices)(), np.float64).tobytes()


def mutate(rng: Rng, path: Path) -> None:
    if rng.random() < 0.5:
        for _ in range(rng.randrange(1, 3)):
            value_changed(rng, path)
        return
    content = bytearray(path.read_bytes())
    for _ in range(rng.randrange(1, 3)):
        if content:
            rng.choice(DAMAGES)(rng, content)
    path.write_bytes(content)


def load(path: Path, good: Path) -> None:
    learner = Learner.load(path, STUB)
    assert all(label.isprintable() for label in learner.labels)
    if learner.labels:
        prediction = learner.predict_embedding(QUERY)
        assert prediction.nearest in learner.labels
    assert all(time.gmtime(each.time) for each in learner.samples)
    learner.readiness()
    learner.teach_embedding(embedding(7, WIDTH), "new")
    learner.forget("new")
    for _ in range(4):
        learner.undo()
    learner.save(path.with_name("saved"), replace=True)


def inspect(path: Path, good: Path) -> None:
    with Learner.edit(path) as learner:
        assert all(label.isprintable() for label in learner.counts)
        json.dumps([vars(each) for each in (*learner.steps, *learner.undone)])
        assert all(time.gmtime(each.time) for each in learner.samples)
        if problems := learner.problems():
            raise StateError(problems[0])


def merge(path: Path, good: Path) -> None:
    learner = Learner.load(good, STUB)
    steps = learner.undoable
    learner.merge_files(path)
    learner.predict_embedding(QUERY)
    if learner.undoable > steps:
        learner.undo()
        learner.predict_embedding(QUERY)


def recover(path: Path, good: Path) -> None:
    result = run("recover", path, path.with_name("saved"), "--like", good)
    if isinstance(result.exception, Exception):
        raise result.exception
    if result.exit_code == 0:
        Learner.load(path.with_name("saved"), STUB).predict_embedding(QUERY)


USES = (load, inspect, merge, recover)


def used(path: Path, good: Path, outcomes: Counter[str]) -> list[str]:
    """Use a file in all ways, and return what went wrong."""
    before = files_in(path.parent)
    failures: list[str] = []
    for use in USES:
        try:
            use(path, good)
            outcomes[f"{use.__name__} done"] += 1
        except RobocleError as error:
            outcomes[f"{use.__name__} refused"] += 1
            if len(str(error).splitlines()) != 1:
                failures.append(f"{use.__name__}: {error!r}")
        except Exception:
            failures.append(f"{use.__name__}: {traceback.format_exc(limit=-4)}")
        path.with_name("saved").unlink(missing_ok=True)
    if files_in(path.parent) != before:
        failures.append("a file was touched")
    return failures


def attacks_of(arguments: list[str]) -> list[Attack]:
    if not arguments:
        return [attack for attack, _ in HOSTILE.values()]
    rng = Rng(arguments[0])
    return [lambda path: mutate(rng, path) for _ in range(int(arguments[1]))]


def main(folder: Path) -> None:
    warnings.simplefilter("ignore", RuntimeWarning)  # overflows of float64
    logging.disable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    path, good = folder / "state", folder / "good"
    states: list[tuple[bytes, bytes]] = []
    for classifier in CLASSIFIERS:
        taught(path, STUB, classifier)
        taught(good, STUB, classifier)
        states += [(path.read_bytes(), good.read_bytes()), (path.read_bytes(), path.read_bytes())]
        path.unlink()
        good.unlink()
    outcomes, slowest, failures = Counter[str](), 0.0, list[str]()
    for number, attack in enumerate(attacks_of(sys.argv[1:])):
        pair = states[number % len(states) if len(sys.argv) > 1 else 0]
        for each, content in zip((path, good), pair, strict=True):
            each.write_bytes(content)
        attack(path)
        start = time.perf_counter()
        failures += [f"file {number}: {each}" for each in used(path, good, outcomes)]
        slowest = max(slowest, time.perf_counter() - start)
    print(json.dumps({"slowest": slowest, "failures": failures[:20], **outcomes}, indent=1))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
