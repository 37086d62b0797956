"""Timing on a machine that runs other programs too.

Other programs can only make a run slower, so the shortest time is the best estimate. Competing
functions are timed alternately, to expose them to the same load. A function runs several times in a
row, and its first run is not timed, because another function has filled the CPU caches.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

from robocle.types import Pixels

Function = Callable[[], object]
Clock = Callable[[], float]
RUNS_PER_TURN = 3


def shortest_times(
    functions: Sequence[Function],
    rounds: int,
    seconds: float = float("inf"),
    clock: Clock = time.perf_counter,
) -> list[float]:
    """Time several functions alternately: A A A, B B B, A A A, ...

    Args:
        functions: The functions to call.
        rounds: How many turns each function gets at most.
        seconds: The time after which no further round starts.
        clock: Returns the time in seconds. `time.process_time` counts no other programs.

    Returns:
        The shortest time of each function, in seconds.

    Example:
        >>> short, long = shortest_times([lambda: None, lambda: time.sleep(0.001)], rounds=2)
        >>> short < 0.001 <= long
        True
    """
    best = [float("inf")] * len(functions)
    start = time.perf_counter()
    for _ in range(rounds):
        for index, function in enumerate(functions):
            function()
            best[index] = min(best[index], *(timed(function, clock) for _ in range(RUNS_PER_TURN)))
        if time.perf_counter() - start > seconds:
            break
    return best


def timed(function: Function, clock: Clock = time.perf_counter) -> float:
    """Return the seconds that one call of a function takes."""
    start = clock()
    function()
    return clock() - start


def random_pixels(count: int, side: int) -> Pixels:
    """Return random pictures (count, side, side, 3), to time a network with."""
    return np.random.default_rng(0).integers(0, 256, (count, side, side, 3), np.uint8)
