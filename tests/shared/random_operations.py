"""Random operations on a learner, and what they amount to."""

import random

from from_scratch import Lesson, equals_learning_from_scratch
from robocle import Learner
from stub_backbone import STUB, embedding

WIDTH = 96
LABELS = ("mug", "cup", "pan", "jar")
PICTURES = (2, 5)  # of a step
Words = list[str]
"""An operation: its verb, its step (empty if it is a step of its own), and its arguments. A taught
embedding is named by its seed. "remove" removes the first picture of a label."""


VERBS = {
    "teach": 60,
    "undo": 22,
    "redo": 10,
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
    if verb in ("undo", "redo", "purge"):
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
        other = Learner(STUB, pooling="avg", classifier=learner.parts.classifier)
        other.teach_embedding(*lesson(*rest))
        learner.merge(other)
    elif verb == "remove":
        learner.remove(next(each.id for each in learner.samples if each.label == rest[0]))
    else:
        getattr(learner, verb)(*rest)


def steps_of(operations: list[Words]) -> tuple[list[Words], list[list[Words]], list[list[Words]]]:
    """Return the operations that are permanent, the steps that can be undone, and those undone."""
    permanent: list[Words] = []
    steps: list[list[Words]] = []
    undone: list[list[Words]] = []
    for words in operations:
        if words[0] == "undo":
            undone.append(steps.pop())
        elif words[0] == "redo":
            steps.append(undone.pop())
        elif words[0] == "purge":
            permanent += [each for step in steps for each in step]
            steps, undone = [], []
        elif steps and words[1] and steps[-1][0][1] == words[1]:
            steps[-1].append(words)
        else:
            steps.append([words])
            undone = []
    return permanent, steps, undone


def equivalent_lessons(operations: list[Words]) -> list[Lesson]:
    """Return the lessons that, taught alone, give the same state as the operations."""
    lessons: list[Lesson] = []
    permanent, steps, _ = steps_of(operations)
    for verb, _, *rest in [*permanent, *(words for step in steps for words in step)]:
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


def is_result_of(operations: list[Words], learner: Learner) -> bool:
    """Return whether a learner has what operations amount to, and their steps.

    Samples that are folded make the steps that taught them permanent.
    """
    _, steps, undone = steps_of(operations)
    found = len(learner.steps), len(learner.undone)
    if learner.forgets_exactly and found != (len(steps), len(undone)):
        return False
    return equals_learning_from_scratch(learner, equivalent_lessons(operations))
