"""States on disk: `python benchmarks/bench_store.py`.

Embeddings of the default learner's width are taught to an open state, one at a time. Each is on the
disk before the next. The time to write and flush as many bytes is printed for comparison, because
no durable write can be faster. Then the state is loaded.

The journal modes of SQLite are compared, and several programs teach one state.

At last, the command `robocle teach` teaches one more picture to a state of many. It is compared
with a process that prints the help and loads the backbone.
"""

import argparse
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import cast

import numpy as np
from bench_scale import Objects
from measuring import finish, report, require_agreement, seconds, workload
from numpy.typing import NDArray
from PIL import Image

from robocle import Learner
from robocle.backbones import Backbone
from robocle.classifiers import CLASSIFIERS
from robocle.profiles import DEFAULT


class StubBackbone:
    """A backbone that is never run: only embeddings are taught here."""

    name = "stub"
    fingerprint = "0" * 64
    input_size = 8


STUB = cast(Backbone, StubBackbone())
HELP_AND_BACKBONE = f"""
from contextlib import suppress
from robocle.cli import main
with suppress(SystemExit):
    main(["--help"])
from robocle.backbones import backbone
backbone({DEFAULT.backbone!r})
"""


def embeddings_of(width: int, count: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(0)
    return np.maximum(rng.normal(size=(count, width)), 0).astype(np.float32)


def milliseconds(works: list[Callable[[], object]]) -> float:
    """Return the median time of one call."""
    return 1e3 * statistics.median(seconds(work) for work in works)


def flush(path: Path, size: int) -> float:
    """Return the milliseconds that it takes to append so many bytes to a file and flush them."""
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def append() -> None:
        os.write(handle, bytes(size))
        os.fdatasync(handle)

    took = milliseconds([append] * 50)
    os.close(handle)
    return took


def measure(folder: Path, width: int, classes: int, shots: int) -> None:
    workload(f"width {width}, {classes} classes x {shots}")
    path = folder / "home.robocle"
    embeddings = embeddings_of(width, classes * shots)
    labels = [f"object {number % classes}" for number in range(len(embeddings))]
    times, waiting = [], []
    learner = Learner.open(path, STUB, pooling=DEFAULT.pooling, classifier=DEFAULT.classifier)
    for embedding, label in zip(embeddings, labels, strict=True):
        start, busy = time.perf_counter(), time.thread_time()
        learner.teach_embedding(embedding, label)
        times.append(1e3 * (time.perf_counter() - start))
        waiting.append(times[-1] - 1e3 * (time.thread_time() - busy))
    lesson, disk = statistics.median(times), statistics.median(waiting)
    report("a lesson beyond the disk", lesson - disk, 5, at_least=False, unit=" ms",
           detail=f"{lesson:.1f} ms in all, slowest {max(times):.0f} ms; to append and flush as "
           f"many bytes takes {flush(folder / 'plain', embeddings[0].nbytes):.2f} ms")  # fmt: skip
    learner.close()
    opening = 1e3 * seconds(lambda: Learner.load(path, STUB), repeats=5)
    report("loading", opening, 100, at_least=False, unit=" ms",
           detail=f"file {path.stat().st_size / 1e6:.1f} MB")  # fmt: skip
    reference = CLASSIFIERS.build(DEFAULT.classifier, blocks=3)
    for embedding, label in zip(embeddings, labels, strict=True):
        reference.learn(embedding, label)
    loaded = Learner.load(path, STUB)
    found = [
        list(loaded.predict_embedding(embedding).scores.values()) for embedding in embeddings[:20]
    ]
    require_agreement(np.array(found), reference.scores(embeddings[:20]), 1e-6)


def journal_modes(folder: Path) -> None:
    """Print what a transaction of one sample takes in the journal modes of SQLite."""
    workload("one sample per transaction, by journal mode")
    for mode, synchronous in (("delete", "extra"), ("truncate", "full"), ("wal", "full")):
        connection = sqlite3.connect(folder / f"{mode}.db", isolation_level=None)
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("CREATE TABLE samples (id BLOB UNIQUE, embedding BLOB)")

        def insert(connection: sqlite3.Connection = connection) -> None:
            values = os.urandom(16), bytes(20_736)
            connection.execute("INSERT INTO samples VALUES (?, ?)", values)

        print(f"  {mode:9} {milliseconds([insert] * 50):.2f} ms")
        connection.close()


def programs(folder: Path, lessons: int, number: int = 4) -> None:
    """Report how long several programs take that teach one state at the same time."""
    workload(f"{number} programs, {lessons} lessons in all")
    path = folder / "shared.robocle"
    Learner.open(path, STUB, pooling=DEFAULT.pooling, classifier=DEFAULT.classifier).close()
    start = time.perf_counter()
    with ProcessPoolExecutor(number, mp_context=get_context("spawn")) as pool:
        list(pool.map(teach_some, [path] * number, range(number), [lessons // number] * number))
    took = time.perf_counter() - start
    found = sum(Learner.load(path, STUB).counts.values())
    assert found == lessons // number * number, f"{found} lessons are in the state"
    print(f"  {took:.1f} s with starting; every lesson is there")


def teach_some(path: Path, program: int, lessons: int) -> None:
    """Teach embeddings to a state that others teach as well."""
    with Learner.open(path, STUB) as learner:
        for embedding in embeddings_of(1728, lessons):
            learner.teach_embedding(embedding, f"object {program}")


def commands(folder: Path, pictures: int) -> None:
    """Report how long the command takes that teaches one more picture, and the state's size."""
    workload(f"robocle teach, {pictures} pictures before")
    path, picture = folder / f"{pictures}.robocle", folder / "new.png"
    objects = Objects(50)
    with Learner.open(path) as learner:
        labels = [number % 50 for number in range(pictures)]
        learner.teach_embeddings(
            [objects.embedding(label) for label in labels], [f"object {label}" for label in labels]
        )
    size = path.stat().st_size
    noise = np.random.default_rng(0).integers(0, 256, (15, 20, 3), np.uint8)
    Image.fromarray(noise).resize((640, 480)).save(picture)
    teach = [sys.executable, "-m", "robocle", "teach", str(path), "object 7", str(picture)]
    reference = [sys.executable, "-c", HELP_AND_BACKBONE]
    # Compiled modules are kept, as they are by an installation.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder.resolve() / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    times = []
    for _ in range(8):
        times.append([*process_times(reference, environment), *process_times(teach, environment)])
    with Learner.edit(path) as learner:
        assert sum(learner.counts.values()) == pictures + 8, "a lesson is not in the state"
    wall, cpu, teach_wall, teach_cpu = np.min(times, axis=0).tolist()
    report("CPU time beyond help and backbone", teach_cpu - cpu, 0.3, at_least=False, unit=" s")
    report("time beyond help and backbone", teach_wall - wall, 0.3, at_least=False, unit=" s",
           detail=f"teaching {teach_wall:.2f} s, help and backbone {wall:.2f} s")  # fmt: skip
    report("size of the state per picture", size / pictures / 1e3, 22_000 / 958, at_least=False,
           unit=" kB", detail=f"{size / 1e6:.1f} MB")  # fmt: skip


def process_times(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the seconds that a process took, and its CPU time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: agreement only")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory(dir=".") as folder:  # /tmp may be in memory
        measure(Path(folder), *((384, 5, 30) if quick else (3840, 40, 10)))
        journal_modes(Path(folder))
        programs(Path(folder), 20 if quick else 200)
        for pictures in (60,) if quick else (958, 10_000):
            commands(Path(folder), pictures)
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
