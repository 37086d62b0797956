"""Measure what a finder brings to predictions: `python tools/measure_find.py DETECTOR`.

DETECTOR is the spec of a finder, such as onnx:picodet.onnx. Five pictures of each object of the
rendered home are taught, clean, in five orderings. The test pictures show the same objects and
others of their kinds in other conditions. For the last row, half of the labels are taught, and the
pictures of the others are predicted. The table is written to docs/finders.md.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from tabulate import tabulate

from robocle import Learner, Prediction, finder
from robocle._internal.randomness import keyed_rng
from robocle.evaluation.datasets import dataset
from robocle.evaluation.scenarios import scenario
from robocle.learner.embedding import Embedder
from robocle.learner.finding import BOXES, embedded_boxes, with_best_box
from robocle.types import Example

PAGE = Path(__file__).parents[1] / "docs" / "finders.md"
MARK = "<!-- begin figures: python tools/measure_find.py DETECTOR -->"
END = "<!-- end figures -->"
ORDERINGS, SHOTS = 5, 5
KINDS = {"same": "the same objects", "others": "others of their kinds"}
PLANS = {"same": "shared=instances", "others": "disjoint=instances"}
Verdicts = dict[str, tuple[list[str], list[str]]]
"""Verdicts without and with the finder, by the row of the table."""


class Embedded:
    """The embeddings of the home's pictures, each computed once."""

    def __init__(self, spec: str) -> None:
        learner = Learner()
        found = finder(spec)
        recognising = Embedder(learner.pipeline, "prediction")
        self.taught = cache(learner.embed_for_teaching)
        self.boxes = cache(lambda path: embedded_boxes(recognising, found, path, BOXES))
        self.backbone = learner.backbone

    def learner(self, examples: list[Example]) -> Learner:
        """Return a learner that was taught these pictures."""
        learner = Learner(self.backbone)
        for each in examples:
            learner.teach_embedding(self.taught(each.path), each.label)
        return learner

    def verdicts(self, learner: Learner, example: Example) -> tuple[str, str]:
        """Return the verdicts about a picture without and with the finder."""
        rows = self.boxes(example.path)
        alone = learner.predict_embedding(rows[0][1])
        nearer = with_best_box(rows, learner.predict_embedding)
        return judged(alone, example.label), judged(nearer, example.label)


def judged(found: Prediction, label: str) -> str:
    """Return whether a prediction is right, unknown or wrong."""
    return "unknown" if found.label is None else "right" if found.label == label else "wrong"


def main() -> None:
    """Measure, print the table and write it to the page."""
    embedded, examples = Embedded(sys.argv[1]), dataset("home").examples()
    found: Verdicts = defaultdict(lambda: ([], []))
    for row, learner, example in (*closed(embedded, examples), *opened(embedded, examples)):
        for listed, verdict in zip(found[row], embedded.verdicts(learner, example), strict=True):
            listed.append(verdict)
    lines = [[row, *map(shares, both)] for row, both in found.items()]
    table = tabulate(lines, ["", "whole picture", "with the finder"], "pipe")
    print(table)
    begin, rest = PAGE.read_text("utf-8").split(MARK)
    _, end = rest.split(END)
    PAGE.write_text(f"{begin}{MARK}\n{table}\n{END}{end}", "utf-8")


def closed(embedded: Embedded, examples: list[Example]) -> Iterator[tuple[str, Learner, Example]]:
    """Yield the pictures of taught labels, with a learner."""
    for kind, option in PLANS.items():
        for seed in range(ORDERINGS):
            stream = scenario(f"class_iid:shots={SHOTS},{option}").stream(examples, seed)
            learner = embedded.learner(list(stream.taught))
            for test in stream.tests.values():
                yield from ((f"{KINDS[kind]}, {each.domain}", learner, each) for each in test)


def opened(embedded: Embedded, examples: list[Example]) -> Iterator[tuple[str, Learner, Example]]:
    """Yield the pictures of labels that were not taught, with a learner."""
    labels = sorted({each.label for each in examples})
    clean = [each for each in examples if (each.domain, each.split) == ("clean", "train")]
    for seed in range(ORDERINGS):
        rng = keyed_rng(seed, "measure_find")
        half = sorted(rng.permutation(labels)[: len(labels) // 2].tolist())
        shots = [[each for each in clean if each.label == label] for label in half]
        learner = embedded.learner([each for own in shots for each in own[:SHOTS]])
        for each in examples:
            if each.label not in half and each.domain != "clean":
                yield "objects that were not taught", learner, each


def shares(verdicts: list[str]) -> str:
    """Return the percentages of right, unknown and wrong verdicts."""
    kinds = ("right", "unknown", "wrong")
    return " / ".join(f"{100 * np.mean([each == kind for each in verdicts]):.1f}" for kind in kinds)


if __name__ == "__main__":
    main()
