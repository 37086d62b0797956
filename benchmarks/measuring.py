"""Measurements: times as the minimum of several runs, and figures printed with their limits.

Timings on a shared machine are noisy, and noise only adds time, so the minimum is the best
estimate.

If the environment variable ROBOCLE_BENCH_RECORD names a file, every figure is also appended to it
as a line of JSON: see `run_all.py`.
"""

import json
import os
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RECORD = "ROBOCLE_BENCH_RECORD"
QUICK = "--quick" in sys.argv
"""Whether sizes are small: then results must agree with the references, and limits do not count."""


@dataclass(frozen=True)
class Figure:
    """One measured figure and its limit."""

    benchmark: str
    workload: str
    name: str
    value: float
    unit: str
    """"x" for a ratio, which can be compared between machines."""
    limit: float
    at_least: bool
    """Whether the limit is a lower bound."""

    @property
    def kept(self) -> bool:
        """Whether the value is within its limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        bound = "at least" if self.at_least else "at most"
        verdict = "ok" if self.kept else "MISSED"
        if QUICK:
            verdict = "counts at full size"
        limit = f"({bound} {self.limit:g}{self.unit}: {verdict})"
        return f"{self.name:<48} {self.value:>10,.2f}{self.unit}   {limit}"


figures: list[Figure] = []
_workload = ""


def workload(title: str) -> None:
    """Print what is measured next. The following figures are recorded under this title."""
    global _workload
    _workload = title
    print(title, flush=True)


Clock = Callable[[], float]


def seconds(
    work: Callable[[], object], repeats: int = 1, clock: Clock = time.perf_counter
) -> float:
    """Return the shortest time that one call took."""
    best = float("inf")
    for _ in range(repeats):
        start = clock()
        work()
        best = min(best, clock() - start)
    return best


def alternating(
    works: Sequence[Callable[[], object]], rounds: int, clock: Clock = time.perf_counter
) -> list[float]:
    """Return the shortest time of each of several functions, called in turns: A B A B.

    Args:
        works: The functions.
        rounds: How often each is called.
        clock: `time.thread_time` for CPU time, which programs beside this one hardly change.
    """
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            best[index] = min(best[index], seconds(work, clock=clock))
    return best


def peak_megabytes(work: Callable[[], object]) -> float:
    """Return the peak memory of a call, beyond what was in use before."""
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def report(
    name: str, value: float, limit: float, *, at_least: bool, unit: str = "x", detail: str = ""
) -> None:
    """Print a figure with its limit, and keep it for `finish`.

    Args:
        name: The name of the figure. It must be the same in every run, to compare releases.
        value: The figure.
        limit: What it must reach, or not exceed.
        at_least: Whether the limit is a lower bound.
        unit: "x" for a ratio.
        detail: Text that is printed below the figure and not recorded.
    """
    figure = Figure(Path(sys.argv[0]).stem, _workload, name, value, unit, limit, at_least)
    print(f"  {figure}", flush=True)
    if detail:
        print(f"    {detail}", flush=True)
    figures.append(figure)


def require_agreement(
    found: NDArray[np.float64], expected: NDArray[np.float64], tolerance: float
) -> None:
    """Assert that scores agree to a relative tolerance, and that all predicted labels agree."""
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    assert error <= tolerance, f"scores differ by {error:.1e}, allowed {tolerance:.0e}"
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all(), "predicted labels differ"
    print(f"  scores agree with the float64 reference to {error:.1e}, all labels agree", flush=True)


def finish(*, demanding: bool) -> None:
    """Record the figures; exit with 1 if one missed its limit in a demanding run."""
    if RECORD in os.environ:
        _record(Path(os.environ[RECORD]), quick=not demanding)
    missed = [figure.name for figure in figures if not figure.kept]
    if missed and demanding:
        sys.exit(f"{len(missed)} of {len(figures)} limits missed: {'; '.join(missed)}")


def _record(path: Path, *, quick: bool) -> None:
    with path.open("a", encoding="utf-8") as file:
        for figure in figures:
            origin = {"quick": quick, "machine": machine(), "python": platform.python_version()}
            file.write(json.dumps({**asdict(figure), **origin}) + "\n")


def machine() -> str:
    """Return the architecture, the processor and its number of cores."""
    try:
        listed = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in listed if line.startswith("model name")]
    except OSError:
        names = []
    model = names[0] if names else platform.processor() or "unknown processor"
    return f"{platform.machine()}, {model}, {os.cpu_count()} cores"
