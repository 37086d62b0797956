"""Timing on a machine that others use too: in turns, and the shortest.

Noise only ever adds. A few runs in a row are one turn, and the first of them does not count: it
finds the caches full of another's data.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

from robocle.types import Pixels

Work = Callable[[], object]
IN_A_ROW = 3


def shortest_in_turns(
    works: Sequence[Work], rounds: int, seconds: float = float("inf")
) -> list[float]:
    """The shortest time of each work, A A A B B B A A A..., for so many rounds or seconds."""
    best = [float("inf")] * len(works)
    start = time.perf_counter()
    for _ in range(rounds):
        for index, work in enumerate(works):
            work()
            best[index] = min(best[index], *(timed(work) for _ in range(IN_A_ROW)))
        if time.perf_counter() - start > seconds:
            break
    return best


def timed(work: Work) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def noise(count: int, side: int) -> Pixels:
    """Pictures to time a network with: what they show does not matter."""
    return np.random.default_rng(0).integers(0, 256, (count, side, side, 3), np.uint8)
