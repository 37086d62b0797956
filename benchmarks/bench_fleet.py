"""Fleets: `python benchmarks/bench_fleet.py`.

Simulated robots, all in one process, come back with what they were taught without a connection, and
share it through a real server on this machine. Nothing may be lost: in the end all states have all
samples, and one of them scores like a robot that was taught everything. The memory of the process
is measured on the way.

Then one robot takes in more samples than it keeps, and many states are merged: on this machine, and
as a tree of unions on two Dask workers. The peak of the memory must not grow with their number.
"""

import argparse
import asyncio
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measuring import finish, report, require_agreement, seconds, workload
from numpy.typing import NDArray
from stub_network import STUB

from robocle import Learner
from robocle.fleet import member
from robocle.fleet.exchange import Exchange
from robocle.fleet.followed import Sharing
from robocle.fleet.member import Member
from robocle.fleet.messages import Received, sample_message
from robocle.fleet.server import Server
from robocle.store.change import changing
from robocle.store.state import State

WIDTH = 16
CLASSIFIER = "slda:keep=1000000"
KEEP = 1000
TOLERANCE = 1e-6


def embeddings(robot: int, count: int, width: int = WIDTH) -> NDArray[np.float32]:
    rng = np.random.default_rng([1, robot])
    return np.abs(rng.normal(size=(count, width))).astype(np.float32)


def label_of(number: int) -> str:
    return f"label{number % 20}"


def resident() -> float:
    """Return the megabytes that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Run a server on a free port of this machine until the context ends."""
    program = shutil.which("nats-server") or Path(sys.executable).with_name("nats-server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [program, "-js", "-sd", str(folder / "nats"), "-p", str(port), "-a", "127.0.0.1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        yield f"nats://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def created(path: Path, classifier: str) -> Path:
    Learner.open(path, STUB, pooling="avg", classifier=classifier).close()
    return path


async def share(folder: Path, url: str, robots: int, samples: int) -> None:
    """Let robots teach and share, and report how fast, and the memory on the way."""
    model = created(folder / "model.robocle", CLASSIFIER)
    paths = [folder / f"{number}.robocle" for number in range(robots)]
    for path in paths:
        shutil.copy(model, path)
        with State.open(path).reading() as connection:  # each file has an origin of its own
            connection.rollback()
            connection.execute("UPDATE parts SET value = lower(hex(randomblob(16))) "
                               "WHERE name = 'origin'")  # fmt: skip
    given = [embeddings(number, samples) for number in range(robots)]
    for path, lessons in zip(paths, given, strict=True):
        with Learner.edit(path) as learner:
            learner.teach_embeddings(lessons, list(map(label_of, range(samples))))
    where = Server.parse(url, "bench")
    members = [
        Member(path, where, f"robot{n}", report=lambda _: None) for n, path in enumerate(paths)
    ]
    total, memory = robots * samples, list[float]()
    start, start_cpu = time.monotonic(), time.process_time()
    tasks = [asyncio.create_task(each.run()) for each in members]
    next_look = 0
    while True:
        held = total + sum(each.exchange.taken_in for each in members)
        if held >= next_look:
            memory.append(resident())
            next_look += robots * total // 10
        if held >= robots * total:
            break
        for task in tasks:
            if task.done():
                task.result()
        await asyncio.sleep(1)
    took, cpu = time.monotonic() - start, time.process_time() - start_cpu
    count = "SELECT count(*) FROM samples WHERE bits > 0"
    assert all(each.exchange.state.query(count) == [(total,)] for each in members)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    report("memory at the end, relative to the middle", memory[-1] / memory[len(memory) // 2], 1.2,
           at_least=False,
           detail=f"{memory[-1]:.0f} MB for {robots} robots; {took:.0f} s until all knew all; "
           f"{total / took:.0f} samples per second sent, "
           f"{robots * total / took:.0f} taken in; "
           f"{cpu:.0f} s of a processor: "
           f"{1e6 * cpu / robots / total:.0f} us per sample taken in")  # fmt: skip
    learner = Learner.edit(paths[0])
    everything = Learner(STUB, pooling="avg", classifier=CLASSIFIER)
    for number in range(robots):
        everything.teach_embeddings(given[number], [label_of(each) for each in range(samples)])
    asked = embeddings(10**6, 10)
    found, wanted = (
        np.array(
            [
                [p.scores[label] for label in sorted(p.scores)]
                for p in map(each.predict_embedding, asked)
            ]
        )
        for each in (learner, everything)
    )
    require_agreement(found, wanted, TOLERANCE)
    learner.close()
    for each in members:
        each.close()


def take_in(folder: Path, samples: int) -> None:
    """Let one robot take in more samples than it keeps, and report the size of its state."""
    path = created(folder / "small.robocle", f"slda:keep={KEEP}")
    source = created(folder / "source.robocle", CLASSIFIER)
    with Learner.edit(source) as learner:
        learner.teach_embeddings(embeddings(7, samples), [label_of(n) for n in range(samples)])
    rows = State.open(source).rows()
    messages = [Received(n, "sample", "other", sample_message(row), time=n)
                for n, row in enumerate(rows, 1)]  # fmt: skip
    exchange = Exchange(path, Sharing())
    batches = [messages[at : at + 256] for at in range(0, samples, 256)]
    took = sum(seconds(lambda some=some: exchange.take(some, "me")) for some in batches)  # type: ignore[misc]
    ((held,),) = exchange.state.query(
        "SELECT count(*) FROM samples WHERE bits > 0 AND fold IS NULL"
    )
    report("samples held, relative to those that are kept", held / KEEP, 1.1, at_least=False,
           detail=f"{samples} were taken in, in {took:.1f} s: {1e3 * took / samples:.2f} ms each; "
           f"the file has {path.stat().st_size / 1e6:.1f} MB")  # fmt: skip
    exchange.close()
    with Learner.edit(path) as learner:
        assert sum(learner.counts.values()) == samples


MERGE = """
import resource, sys
from robocle.cli import main
main(["merge", *sys.argv[1:]], standalone_mode=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
"""


def merged(out: Path, files: list[Path], *options: str) -> tuple[float, float]:
    """Merge states in a process of its own; return the seconds and the peak megabytes."""
    command = [sys.executable, "-c", MERGE, str(out), *map(str, files), *options]
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return time.perf_counter() - start, float(done.stdout.split()[-1])


def merge(folder: Path, states: int, samples: int, width: int) -> None:
    """Merge states, and report the time and the memory."""
    parts = State.open(created(folder / "model.robocle", CLASSIFIER)).parts
    files = [folder / f"sent{number}.robocle" for number in range(states)]
    for number, path in enumerate(files):
        state = State.open(path, lambda: parts)
        with changing(state) as change:
            for n, row in enumerate(embeddings(number, samples, width)):
                change.teach(label_of(n), row, "")
        state.close()
    few = max(1, states // 10)
    first, small = merged(folder / "few.robocle", files[:few])
    took, peak = merged(folder / "all.robocle", files)
    report("peak memory of ten times as many states", peak / small, 1.3, at_least=False,
           detail=f"{few} states {small:.0f} MB, {states} states {peak:.0f} MB")  # fmt: skip
    report("time per state, of ten times as many states", took / states / (first / few), 2,
           at_least=False,
           detail=f"{1e3 * took / states:.0f} ms per state, {took:.0f} s in all")  # fmt: skip
    with dask_workers() as address:
        on_dask, peak = merged(folder / "dask.robocle", files, "--dask", address)
    report("on two Dask workers, relative to one process", on_dask / took, 4, at_least=False,
           detail=f"{1e3 * on_dask / states:.0f} ms per state, {on_dask:.0f} s in all")  # fmt: skip
    one, other = (
        State.open(folder / name).query("SELECT id, label FROM samples ORDER BY id")
        for name in ("all.robocle", "dask.robocle")
    )
    assert one == other
    assert len(one) == states * samples


@contextmanager
def dask_workers() -> Iterator[str]:
    """Run a Dask cluster of two workers until the context ends, and yield its address."""
    from distributed import LocalCluster

    cluster_of: Any = LocalCluster
    with cluster_of(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: agreement only")
    parser.add_argument("--only", choices=["share", "take", "merge"], help="only one part")
    parser.add_argument("--robots", type=int, help="how many robots share")
    parser.add_argument("--samples", type=int, help="how many samples each of them is taught")
    given = parser.parse_args()
    member.POLL = 2.0  # they share the processors of one machine
    robots, samples = (10, 20) if given.quick else (200, 100)
    robots, samples = given.robots or robots, given.samples or samples
    states, width = (20, 32) if given.quick else (1000, 512)
    if given.only in (None, "share"):
        workload(f"{robots} robots share {samples} samples each")
        # Robots have disks of their own, and one disk for all of them would be measured.
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
        with (
            tempfile.TemporaryDirectory() as disk,
            tempfile.TemporaryDirectory(dir=memory) as folder,
            server(Path(disk)) as url,
        ):
            asyncio.run(share(Path(folder), url, robots, samples))
    if given.only in (None, "take"):
        count = 1500 if given.quick else 20_000
        workload(f"one robot that keeps {KEEP} takes in {count}")
        with tempfile.TemporaryDirectory() as folder:
            take_in(Path(folder), count)
    if given.only in (None, "merge"):
        workload(f"{states} states of 100 samples of {width} numbers are merged")
        with tempfile.TemporaryDirectory() as folder:
            merge(Path(folder), states, 100, width)
    finish(demanding=not given.quick)


if __name__ == "__main__":
    main()
