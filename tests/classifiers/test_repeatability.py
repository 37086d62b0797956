"""The same stream results in bit-identical scores, in this process and in another."""

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
    """The scores as hexadecimal bytes, after a stream that fills buffers and changes forms."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 5, 160)
    embeddings = np.abs(rng.normal(size=(5, WIDTH))[rows] + rng.normal(size=(160, WIDTH)))
    clf = classifier(spec)
    for index, (embedding, row) in enumerate(zip(embeddings.astype(np.float32), rows, strict=True)):
        clf.learn(embedding, f"object {row}")
        if index % 5 == 0:
            clf.scores(embedding[None])
    return clf.scores(embeddings[:20]).tobytes().hex()


@pytest.fixture(scope="module")
def other_process() -> dict[str, str]:
    """The scores of another process, in which hashes of strings differ."""
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    command = [sys.executable, str(Path(__file__)), *CLASSIFIERS.names()]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    scores: dict[str, str] = json.loads(run.stdout)
    return scores


@pytest.mark.parametrize("spec", CLASSIFIERS.names())
def test_another_process_computes_bit_identical_scores(
    spec: str, other_process: dict[str, str]
) -> None:
    assert scores_after_a_stream(spec) == other_process[spec]


if __name__ == "__main__":
    print(json.dumps({spec: scores_after_a_stream(spec) for spec in sys.argv[1:]}))
