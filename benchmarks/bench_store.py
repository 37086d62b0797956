"""States on disk: `python benchmarks/bench_store.py`.

Embeddings of the default learner's width are taught to an open state, one at a time. Each is on the
disk before the next. The time to write and flush as many bytes is printed for comparison, because
no durable write can be faster. Then the state is opened.

At last, the command `robocle teach` teaches one more picture to a state of many. It is compared
with a process that prints the help and loads the backbone.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
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
from robocle.learner import DEFAULT_BACKBONE, DEFAULT_CLASSIFIER, DEFAULT_POOLING


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
backbone({DEFAULT_BACKBONE!r})
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
    times = []
    learner = Learner.open(path, STUB, pooling=DEFAULT_POOLING, classifier=DEFAULT_CLASSIFIER)
    for embedding, label in zip(embeddings, labels, strict=True):
        start = time.perf_counter()
        learner.teach_embedding(embedding, label)
        times.append(1e3 * (time.perf_counter() - start))
    report("durable teach, median", statistics.median(times), 5, at_least=False, unit=" ms")
    print(f"  writing and flushing alone {flush(folder / 'plain', embeddings[0].nbytes):.2f} ms; "
          f"slowest teach {max(times):.0f} ms")  # fmt: skip
    after_a_crash = 1e3 * seconds(lambda: Learner.load(path, STUB), repeats=5)
    closing = 1e3 * seconds(learner.close)
    opening = 1e3 * seconds(lambda: Learner.load(path, STUB), repeats=5)
    report("opening", opening, 100, at_least=False, unit=" ms")
    print(f"  opening after a crash {after_a_crash:.0f} ms, closing {closing:.0f} ms, "
          f"file {path.stat().st_size / 1e6:.1f} MB")  # fmt: skip
    reference = CLASSIFIERS.build(DEFAULT_CLASSIFIER, blocks=3)
    for embedding, label in zip(embeddings, labels, strict=True):
        reference.learn(embedding, label)
    loaded = Learner.load(path, STUB)
    found = [
        list(loaded.predict_embedding(embedding).scores.values()) for embedding in embeddings[:20]
    ]
    require_agreement(np.array(found), reference.scores(embeddings[:20]), 1e-6)


def commands(folder: Path, pictures: int) -> None:
    """Report how long the command takes that teaches one more picture, and the state's size."""
    workload(f"robocle teach, {pictures} pictures before")
    taught, path, picture = (folder / name for name in ("many.robocle", "one.robocle", "new.png"))
    objects = Objects(50)
    learner = Learner.open(taught)
    with learner, learner.step():
        for number in range(pictures):
            learner.teach_embedding(objects.embedding(number % 50), f"object {number % 50}")
    noise = np.random.default_rng(0).integers(0, 256, (15, 20, 3), np.uint8)
    Image.fromarray(noise).resize((640, 480)).save(picture)
    teach = [
        sys.executable,
        "-m",
        "robocle",
        "teach",
        str(path),
        "object 7",
        str(picture),
        "--gate=off",
    ]
    reference = [sys.executable, "-c", HELP_AND_BACKBONE]
    # Compiled modules are kept, as they are by an installation.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder.resolve() / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    times = []
    for _ in range(8):
        shutil.copy(taught, path)
        times.append([*process_times(reference, environment), *process_times(teach, environment)])
    assert sum(Learner.load(path).counts.values()) == pictures + 1, "the lesson is not in the state"
    wall, cpu, teach_wall, teach_cpu = np.min(times, axis=0).tolist()
    report("CPU time beyond help and backbone", teach_cpu - cpu, 0.3, at_least=False, unit=" s")
    report("time beyond help and backbone", teach_wall - wall, 0.3, at_least=False, unit=" s",
           detail=f"teaching {teach_wall:.2f} s, help and backbone {wall:.2f} s")  # fmt: skip
    report("size of the state", taught.stat().st_size / 1e6, 20, at_least=False, unit=" MB")


def process_times(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the seconds that a process took, and its CPU time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: agreement only")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory(dir=".") as folder:  # /tmp may be in memory
        measure(Path(folder), *((384, 5, 30) if quick else (3840, 40, 10)))
        commands(Path(folder), 60 if quick else 958)
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
