"""Random operations on a learner, and the lessons that they amount to."""

import random

from from_scratch import Lesson
from robocle import Learner
from stub_backbone import STUB, embedding

WIDTH = 96
# Fewer operations than usual can be undone, so that many steps need a checkpoint.
UNDOABLE = 6
LABELS = ("mug", "cup", "pan", "jar")
# Pictures of a step: a small step, and one that needs a checkpoint.
PICTURES = (2, 5, UNDOABLE + 3, 5 * UNDOABLE)
Words = list[str]
"""An operation: its verb, its step (empty if it is a step of its own), and its arguments. A taught
embedding is named by its seed. "remove" removes the first picture of a label."""


VERBS = {
    "teach": 60,
    "undo": 22,
    "forget": 10,
    "remove": 10,
    "rename": 10,
    "purge": 2,
    "merge": 5,
    "step": 8,
}


def next_operations(rng: random.Random, learner: Learner, key: str) -> list[Words]:
    """Return operations that are possible now, and are one step."""
    known = sorted(learner.labels)
    verb = rng.choices(list(VERBS), list(VERBS.values()))[0]
    if verb in ("forget", "remove") and known:
        return [[verb, "", rng.choice(known)]]
    if verb == "rename" and known:
        old = rng.choice(known)
        return [["rename", "", old, rng.choice([label for label in LABELS if label != old])]]
    if verb in ("undo", "purge"):
        return [[verb, ""]]
    if verb == "step":
        pictures = range(rng.choice(PICTURES))
        return [["teach", key, rng.choice(LABELS), f"{key}/{number}"] for number in pictures]
    return [["merge" if verb == "merge" else "teach", "", rng.choice(LABELS), key]]


def lesson(label: str, key: str) -> Lesson:
    return embedding([ord(letter) for letter in key], WIDTH), label


def perform(learner: Learner, words: Words) -> None:
    verb, _, *rest = words
    if verb == "teach":
        learner.teach_embedding(*lesson(*rest))
    elif verb == "merge":
        other = Learner(STUB, "avg", learner.parts.classifier)
        other.teach_embedding(*lesson(*rest))
        learner.merge(other)
    elif verb == "remove":
        learner.remove(next(each.id for each in learner.samples if each.label == rest[0]))
    else:
        getattr(learner, verb)(*rest)


def without_undone(operations: list[Words]) -> list[Words]:
    """Return the operations that no later undo has undone."""
    left: list[Words] = []
    for words in operations:
        if words[0] == "undo":
            _, step, *_ = left.pop()
            while step and left and left[-1][1] == step:
                left.pop()
        elif words[0] != "purge":
            left.append(words)
    return left


def equivalent_lessons(operations: list[Words]) -> list[Lesson]:
    """Return the lessons that, taught alone, give the same state as the operations."""
    lessons: list[Lesson] = []
    for verb, _, *rest in without_undone(operations):
        if verb in ("teach", "merge"):
            lessons.append(lesson(*rest))
        elif verb == "forget":
            lessons = [(taught, label) for taught, label in lessons if label != rest[0]]
        elif verb == "remove":
            del lessons[[label for _, label in lessons].index(rest[0])]
        else:
            old, new = rest
            lessons = [(taught, new if label == old else label) for taught, label in lessons]
    return lessons
