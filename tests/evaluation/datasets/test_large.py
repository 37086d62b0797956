"""A large data set is listed in reasonable time and memory."""

import os
import time
import tracemalloc
from pathlib import Path

import pytest

from robocle.evaluation.datasets import dataset
from robocle.evaluation.scenarios import scenario

FACTORS = ("clutter", "illumination", "occlusion", "pixel")
INSTANCES, FRAMES = 14, 100  # with 2 splits, 4 factors and 9 segments: 100,800 frames


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("large")
    for split in ("train", "test"):
        for factor in FACTORS:
            for segment in range(1, 10):
                for instance in range(INSTANCES):
                    folder = (
                        root
                        / split
                        / factor
                        / f"segment{segment}"
                        / f"t{instance % 7}_{instance:02d}"
                    )
                    os.makedirs(folder)
                    for frame in range(FRAMES):
                        os.close(os.open(f"{folder}/{frame:06d}.jpg", os.O_CREAT | os.O_WRONLY))
    return root


@pytest.mark.slow
def test_a_hundred_thousand_frames_are_listed_in_seconds_and_tens_of_megabytes(large: Path) -> None:
    start = time.process_time()
    found = dataset("openloris").examples(large)
    seconds = time.process_time() - start
    assert len(found) == 100_800
    assert seconds < 20  # takes about one
    del found
    tracemalloc.start()
    try:
        found = dataset("openloris").examples(large)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept / len(found) < 600
    assert peak < 1.2 * kept


@pytest.mark.slow
def test_streams_of_a_hundred_thousand_frames_are_made_in_seconds(large: Path) -> None:
    found = dataset("openloris").examples(large)
    start = time.process_time()
    stream = scenario("instance").stream(found, seed=0)
    assert time.process_time() - start < 20  # takes less than one
    assert sum(map(len, stream.steps)) == len(stream.tests["test"]) == 50_400
