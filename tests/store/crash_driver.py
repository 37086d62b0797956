"""Kills a program that teaches, undoes, forgets and renames, again and again, and checks the file.

    python crash_driver.py STATE KILLS SEED CLASSIFIER

The program is a fork, so that no time goes into imports. It says what it is about to do, does it,
and says that it is done: what it said it did must be there, what it was about to do may be.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from robocle import Learner
from robocle.backbones import Backbone
from robocle.classifiers import CLASSIFIERS
from robocle.errors import NothingToUndoError
from robocle.store import state_store

WIDTH = 96
LABELS = ("mug", "cup", "pan", "jar")
Words = list[str]


class StubBackbone:
    """A backbone that is never asked to look."""

    name = "stub"
    fingerprint = "0" * 64
    input_size = 8


STUB = cast(Backbone, StubBackbone())


def vector(key: str) -> NDArray[np.float32]:
    rng = np.random.default_rng([ord(letter) for letter in key])
    return np.abs(rng.normal(size=WIDTH)).astype(np.float32)


def wish(rng: random.Random, learner: Learner, key: str) -> Words:
    """What to do next: something that is possible now, as far as can be told."""
    known = sorted(learner.labels)
    free = sorted(set(LABELS) - set(known))
    verb = rng.choices(["teach", "undo", "forget", "rename", "purge"], [60, 22, 10, 8, 2])[0]
    if verb == "forget" and known:
        return ["forget", rng.choice(known)]
    if verb == "rename" and known and free:
        return ["rename", rng.choice(known), rng.choice(free)]
    if verb in ("undo", "purge"):
        return [verb]
    return ["teach", rng.choice(LABELS), key]


def act(learner: Learner, words: Words) -> None:
    verb, *rest = words
    if verb == "teach":
        learner.teach_embedding(vector(rest[1]), rest[0])
    else:
        getattr(learner, verb)(*rest)


def live(path: Path, classifier: str, seed: int, out: int) -> None:
    """The program that is killed."""
    rng = random.Random(seed)
    step = 0
    while True:
        learner = Learner.open(path, STUB, pooling="avg", classifier=classifier)
        for _ in range(rng.choice([3, 30, 300])):
            step += 1
            words = wish(rng, learner, f"{seed}/{step}")
            os.write(out, json.dumps(["try", words]).encode() + b"\n")
            try:
                act(learner, words)
                os.write(out, json.dumps(["done", words]).encode() + b"\n")
            except NothingToUndoError:
                os.write(out, json.dumps(["not", words]).encode() + b"\n")
        learner.close()


def killed(path: Path, classifier: str, seed: int, delay: float) -> tuple[list[Words], Words]:
    """What the program said it did before it was killed, and what it was doing."""
    inside, outside = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(inside)
        try:
            live(path, classifier, seed, outside)
        finally:
            os._exit(1)
    os.close(outside)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    with os.fdopen(inside, "rb") as pipe:
        lines = pipe.read().decode().splitlines()
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the program failed by itself with seed {seed}"
    said = [json.loads(line) for line in lines]
    done = [words for what, words in said if what == "done"]
    return done, said[-1][1] if said and said[-1][0] == "try" else []


def standing(operations: list[Words]) -> list[Words]:
    """What is left of the operations when each undo has taken one back."""
    left: list[Words] = []
    for words in operations:
        if words == ["undo"]:
            left.pop()
        elif words != ["purge"]:
            left.append(words)
    return left


def from_scratch(operations: list[Words]) -> list[tuple[str, str]]:
    """The lessons (key, label) that a learner which never made a detour would have had."""
    lessons: list[tuple[str, str]] = []
    for verb, *rest in standing(operations):
        if verb == "teach":
            lessons.append((rest[1], rest[0]))
        elif verb == "forget":
            lessons = [lesson for lesson in lessons if lesson[1] != rest[0]]
        else:
            lessons = [(key, rest[1] if name == rest[0] else name) for key, name in lessons]
    return lessons


def is_as_if_taught(learner: Learner, classifier: str, lessons: list[tuple[str, str]]) -> bool:
    fresh = CLASSIFIERS.build(classifier, blocks=1)
    for key, label in lessons:
        fresh.learn(vector(key), label)
    if learner.counts != fresh.counts:
        return False
    if not lessons:
        return True
    query = vector("query")
    found = learner.predict_embedding(query).scores
    expected = dict(zip(fresh.labels, fresh.scores(query[None])[0].tolist(), strict=True))
    largest = max(abs(score) for score in expected.values())
    return all(abs(found[name] - expected[name]) <= 1e-6 * largest for name in expected)


def main(path: Path, kills: int, seed: int, classifier: str) -> None:
    state_store.FULL = 20  # compact often: there, too, it must be safe to die
    Learner(STUB, "avg", classifier)  # imports what the forks need
    rng = random.Random(seed)
    operations: list[Words] = []
    for kill in range(kills):
        done, doing = killed(path, classifier, 1000 * seed + kill, rng.uniform(0, 0.25))
        operations += done
        if not path.exists():
            assert not operations
            continue
        learner = Learner.load(path, STUB)
        if not is_as_if_taught(learner, classifier, from_scratch(operations)):
            assert doing, f"an acknowledged operation is lost after kill {kill}"
            operations.append(doing)
            whole = is_as_if_taught(learner, classifier, from_scratch(operations))
            assert whole, f"{doing} is half done after kill {kill}"
    print(f"{kills} kills, {len(operations)} operations")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
