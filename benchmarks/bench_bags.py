"""Memory for reading a long recording: `python benchmarks/bench_bags.py`.

A bag of 10,000 images is read in a process of its own, in both formats. After the first tenth, its
memory must not grow any more. All images must come back, in order.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
from measuring import finish, report, workload
from PIL import Image

from robocle.bags import write_bag
from robocle.bags.writing import Storage
from robocle.types import Example

READING = """
import resource, sys
from pathlib import Path
from robocle.bags import Bag

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3

with Bag(Path(sys.argv[1])) as bag:
    for number, frame in enumerate(bag.frames(bag.image_topic(), "/label")):
        assert abs(frame.seconds - number / 10) < 1e-6 and frame.label == str(number // 100)
        if number == int(sys.argv[2]):
            before = peak()
    print(number + 1, peak() - before)
"""


def examples(picture: Path, count: int) -> Iterator[Example]:
    for number in range(count):
        yield Example(picture, str(number // 100))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small bag: agreement only")
    quick = parser.parse_args().quick
    count = 1_000 if quick else 10_000
    workload(f"{count:,} images of 12 kB")
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "noise.png"
        noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
        Image.fromarray(noise).save(picture)
        for storage in get_args(Storage):
            path = Path(folder) / storage
            write_bag(path, examples(picture, count), storage=storage)
            command = [sys.executable, "-c", READING, str(path), str(count // 10)]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            read, grown = output.split()
            assert int(read) == count
            report(f"{storage}: growth", float(grown), 15, at_least=False, unit=" MB")
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
