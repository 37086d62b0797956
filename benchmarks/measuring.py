"""Measuring: times as the minimum of several runs, ratios printed beside what is demanded.

Timings on a shared machine are noisy, and noise only ever adds: the minimum is the honest figure.
"""

import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

failures: list[str] = []


def seconds(work: Callable[[], object], repeats: int = 1) -> float:
    """The shortest time that one call took."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def alternating(works: list[Callable[[], object]], rounds: int) -> list[float]:
    """The shortest time of each of several works, measured in turns: A B A B."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            best[index] = min(best[index], seconds(work))
    return best


def peak_megabytes(work: Callable[[], object]) -> float:
    """How much memory a call needs at its peak, beyond what there was before."""
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def report(name: str, value: float, demand: float, *, at_least: bool, unit: str = "x") -> None:
    """Print a figure beside its demand, and remember a miss."""
    reached = value >= demand if at_least else value <= demand
    bound = "at least" if at_least else "at most"
    verdict = "ok" if reached else "MISSED"
    print(f"  {name:<48} {value:>10,.2f}{unit}   ({bound} {demand:g}{unit}: {verdict})", flush=True)
    if not reached:
        failures.append(name)


def require_agreement(
    found: NDArray[np.float64], expected: NDArray[np.float64], tolerance: float
) -> None:
    """Scores must agree relative to their size, and the predicted labels fully."""
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    assert error <= tolerance, f"scores differ by {error:.1e}, allowed {tolerance:.0e}"
    assert (found.argmax(axis=1) == expected.argmax(axis=1)).all(), "predicted labels differ"
    print(f"  scores agree with the float64 reference to {error:.1e}, labels fully", flush=True)


def finish(*, demanding: bool) -> None:
    """Exit with 1 if a demand was missed, where demands count."""
    if failures and demanding:
        sys.exit(f"{len(failures)} demand(s) missed: {'; '.join(failures)}")
