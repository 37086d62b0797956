"""A large data set is listed in little memory."""

import os
import tracemalloc
from itertools import product
from pathlib import Path

import pytest

from robocle.evaluation.datasets import dataset
from robocle.evaluation.datasets.openloris import FACTORS, SEGMENTS

INSTANCES, FRAMES = 14, 100  # with 2 splits, 4 factors and 9 segments: 100,800 frames


@pytest.mark.exhaustive
def test_a_hundred_thousand_frames_are_listed_in_tens_of_megabytes(tmp_path: Path) -> None:
    for place in product(("train", "test"), FACTORS, SEGMENTS, range(INSTANCES)):
        folder = tmp_path.joinpath(*place[:3], f"t{place[3] % 7}_{place[3]:02d}")
        folder.mkdir(parents=True)
        for frame in range(FRAMES):
            os.close(os.open(f"{folder}/{frame:06d}.jpg", os.O_CREAT | os.O_WRONLY))
    tracemalloc.start()
    try:
        found = dataset("openloris").examples(tmp_path)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found) == 100_800
    assert kept / len(found) < 600
    assert peak < 1.2 * kept
