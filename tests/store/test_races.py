"""Programs that open one state at the same moment each get their turn, and none loses a label."""

import os
import time
from pathlib import Path

import pytest

from robocle import Learner
from robocle.errors import StateLockedError
from stub_backbone import STUB, embedding

WIDTH = 24
PATIENCE = 20  # seconds


def teach_when_it_is_free(path: Path, label: str, starts: float) -> None:
    """The program: it opens the state when the others do, and tries again while it is taken."""
    while time.time() < starts:
        pass
    while time.time() < starts + PATIENCE:
        try:
            with Learner.open(path, STUB, pooling="avg", classifier="ncm") as learner:
                learner.teach_embedding(embedding(len(label), WIDTH), label)
            return
        except StateLockedError:
            time.sleep(0.0002)
    raise TimeoutError


def race(path: Path, programs: int) -> None:
    children = []
    starts = time.time() + 0.004
    for number in range(programs):
        child = os.fork()
        if child == 0:
            try:
                teach_when_it_is_free(path, f"label {number}", starts)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    assert statuses == [0] * programs


@pytest.mark.slow
@pytest.mark.parametrize("programs", [2, 4])
@pytest.mark.parametrize("state", ["new", "existing"])
def test_in_fifty_races_every_program_keeps_what_it_taught(
    programs: int, state: str, tmp_path: Path
) -> None:
    labels = {f"label {number}" for number in range(programs)}
    for number in range(50):
        path = tmp_path / f"home{number}"
        if state == "existing":
            with Learner.open(path, STUB, pooling="avg", classifier="ncm") as learner:
                learner.teach_embedding(embedding(0, WIDTH), "first")
        race(path, programs)
        found = Learner.load(path, STUB)
        assert set(found.labels) == labels | ({"first"} if state == "existing" else set())
    assert {each.name for each in tmp_path.iterdir()} == {f"home{n}" for n in range(50)}
