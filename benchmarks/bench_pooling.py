"""The moments against their plain formula: `python benchmarks/bench_pooling.py`.

The reference follows the equation in three passes over the maps: the mean, the standard deviation,
and the mean cube of (g - mean) / deviation. With form=root it takes the cube root and multiplies it
by the deviation. The times of all poolings are printed as well. Everything runs on one thread.
"""

import argparse
from functools import partial

import numpy as np
from measuring import alternating, finish, report, seconds, workload
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from robocle.poolings import POOLINGS, pooling
from robocle.types import FeatureMaps

TOLERANCE = 1e-5  # of the largest value of each block
Floats = NDArray[np.float32] | NDArray[np.float64]


def feature_maps(pictures: int, positions: int, channels: int) -> FeatureMaps:
    """Return maps like those of a network: not negative, many zeros, no constant channel."""
    rng = np.random.default_rng(0)
    grid = np.maximum(rng.normal(0, 1, (pictures, positions, channels)), 0).astype(np.float32)
    return FeatureMaps(grid, np.ascontiguousarray(grid[:, 0]))


def three_passes(grid: Floats, form: str) -> Floats:
    mean = grid.mean(axis=1)
    deviation = grid.std(axis=1)
    moment: Floats = (((grid - mean[:, None]) / deviation[:, None]) ** 3).mean(axis=1)
    if form == "root":
        moment = np.cbrt(moment) * deviation
    return np.concatenate([mean, deviation, moment], axis=1)


def difference(found: Floats, expected: Floats) -> float:
    """Return the largest difference, relative to the largest value of its block."""
    errors, scales = (
        np.abs(values).reshape(len(values), 3, -1).max(axis=(0, 2))
        for values in (found - expected, expected)
    )
    worst = float((errors / scales).max())
    assert worst <= TOLERANCE, f"moments differ by {worst:.1e}, allowed {TOLERANCE:.0e}"
    return worst


def moments(maps: FeatureMaps, rounds: int) -> None:
    n, positions, channels = maps.grid.shape
    workload(f"moments, r=3: {n} maps of {positions} positions and {channels} channels")
    for form in ("root", "standardised"):
        ours = partial(pooling(f"moments:r=3,form={form}"), maps)
        plain = partial(three_passes, maps.grid, form)
        error = difference(ours(), three_passes(maps.grid.astype(np.float64), form))
        mine, theirs = alternating([ours, plain], rounds)
        detail = f"{mine * 1e3:.2f} ms against {theirs * 1e3:.2f} ms, equal to {error:.0e}"
        report(f"form={form}", theirs / mine, 3, at_least=True, detail=detail)


def every_pooling(maps: FeatureMaps, rounds: int) -> None:
    print("every pooling, milliseconds for the same maps")
    for name in POOLINGS.names():
        pool = partial(pooling(name), maps)
        width = pool().shape[1]
        print(f"  {name:<12}{seconds(pool, rounds) * 1e3:>10.2f}   width {width}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small maps: agreement only")
    quick = parser.parse_args().quick
    maps = feature_maps(2, 49, 64) if quick else feature_maps(16, 49, 2048)
    with threadpool_limits(1):
        moments(maps, rounds=2 if quick else 20)
        every_pooling(maps, rounds=1 if quick else 5)
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
