"""Many pictures at once: `python benchmarks/bench_throughput.py`.

`predict_many` on JPEG photographs is compared with a loop of `predict`. It embeds batches in one
thread per core, and each thread decodes its own pictures. The answers must be equal. This is the
one benchmark whose figure depends on the number of cores: with one, there is nothing to gain. Other
programs on these cores lower it. The CPU time shows how much work batches and threads add.
"""

import argparse
import io
import time

import numpy as np
from bench_embedding import camera_frame
from measuring import alternating, finish, report, workload
from PIL import Image

from robocle import Learner
from robocle.learner.embedding import cores


def jpegs(count: int) -> list[bytes]:
    """Return photographs as a camera writes them."""
    found = []
    for number in range(count):
        buffer = io.BytesIO()
        Image.fromarray(camera_frame(number)).save(buffer, "JPEG", quality=90)
        found.append(buffer.getvalue())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few pictures: agreement only")
    quick = parser.parse_args().quick
    pictures = jpegs(16 if quick else 96)
    learner = Learner()
    for number in range(6):
        learner.teach(pictures[number], f"object {number % 2}", poor="accept")
    workload(f"{len(pictures)} JPEG photographs, {cores()} cores")
    looped = [learner.predict(picture) for picture in pictures]
    together = learner.predict_many(pictures)
    for one, other in zip(looped, together, strict=True):
        assert one.label == other.label
        assert np.allclose(list(one.scores.values()), list(other.scores.values()), atol=1e-4)
    works = [
        lambda: [learner.predict(picture) for picture in pictures],
        lambda: learner.predict_many(pictures),
    ]
    loop, many = alternating(works, rounds=1 if quick else 8)
    limit = 1.7 if cores() > 1 else 1.0
    report("predict_many against a loop", loop / many, limit, at_least=True,
           detail=f"{len(pictures) / many:.0f} pictures per second")  # fmt: skip
    loop, many = alternating(works, 1 if quick else 3, time.process_time)
    report("its CPU time against a loop", many / loop, 1.1, at_least=False)
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
