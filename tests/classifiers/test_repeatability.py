"""The same stream gives the same scores to the last bit, in this process or in another."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robocle.classifiers import CLASSIFIERS, classifier

WIDTH = 48


def scores_after_a_stream(spec: str) -> str:
    """All bits of the scores, after a stream that fills buffers and passes every switch."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 5, 160)
    vectors = np.abs(rng.normal(size=(5, WIDTH))[rows] + rng.normal(size=(160, WIDTH)))
    clf = classifier(spec)
    for index, (vector, row) in enumerate(zip(vectors.astype(np.float32), rows, strict=True)):
        clf.learn(vector, f"thing {row}")
        if index % 5 == 0:
            clf.scores(vector[None])
    return clf.scores(vectors[:20]).tobytes().hex()


@pytest.fixture(scope="module")
def elsewhere() -> dict[str, str]:
    """What another process says, whose hashes of strings differ from ours."""
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    command = [sys.executable, str(Path(__file__)), *CLASSIFIERS.names()]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    said: dict[str, str] = json.loads(run.stdout)
    return said


@pytest.mark.parametrize("spec", CLASSIFIERS.names())
def test_another_process_gives_the_same_scores_to_the_last_bit(
    spec: str, elsewhere: dict[str, str]
) -> None:
    assert scores_after_a_stream(spec) == elsewhere[spec]


if __name__ == "__main__":
    print(json.dumps({spec: scores_after_a_stream(spec) for spec in sys.argv[1:]}))
