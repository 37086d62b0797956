"""Measure what a finder brings to predictions: `python tools/measure_find.py DETECTOR`.

DETECTOR is the spec of a finder, such as onnx:picodet.onnx. Five pictures of each object of the
rendered home are taught, clean, in five orderings. The test pictures show the same objects and
others of their kinds in other conditions. For the last row, half of the labels are taught, and the
pictures of the others are predicted. The table is written to docs/finders.md.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
from tabulate import tabulate

from robocle import Learner, Prediction, finder
from robocle._internal.randomness import keyed_rng
from robocle.evaluation.datasets import dataset
from robocle.evaluation.scenarios import scenario
from robocle.learner.embedding import Embedder
from robocle.learner.finding import BOXES, embedded_boxes, second_rate, with_best_box
from robocle.recognition import DEFAULT_RATE
from robocle.types import Example

PAGE = Path(__file__).parents[1] / "docs" / "finders.md"
MARK = "<!-- begin figures: python tools/measure_find.py DETECTOR -->"
END = "<!-- end figures -->"
ORDERINGS, SHOTS = 5, 5
KINDS = {"same": "the same objects", "others": "others of their kinds"}
NOT_TAUGHT = "objects that were not taught"
PLANS = {"same": "shared=instances", "others": "disjoint=instances"}
Verdict = tuple[str, bool]
"""Whether a prediction is right, unknown or wrong, and whether its nearest label is right."""
Verdicts = dict[str, tuple[list[Verdict], list[Verdict]]]
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

    def verdicts(self, learner: Learner, example: Example) -> tuple[Verdict, Verdict]:
        """Return the verdicts about a picture without and with the finder."""
        rows = self.boxes(example.path)
        alone = learner.predict_embedding(rows[0][1])
        strictly = partial(learner.predict_embedding, false_accept=second_rate(DEFAULT_RATE))
        nearer = with_best_box(rows, learner.predict_embedding, strictly)
        return judged(alone, example.label), judged(nearer, example.label)


def judged(found: Prediction, label: str) -> Verdict:
    """Return whether a prediction is right, unknown or wrong, and its nearest label right."""
    verdict = "unknown" if found.label is None else "right" if found.label == label else "wrong"
    return verdict, found.nearest == label


def main() -> None:
    """Measure, print the table and write it to the page."""
    embedded, examples = Embedded(sys.argv[1]), dataset("home").examples()
    found: Verdicts = defaultdict(lambda: ([], []))
    for row, learner, example in (*closed(embedded, examples), *opened(embedded, examples)):
        for listed, verdict in zip(found[row], embedded.verdicts(learner, example), strict=True):
            listed.append(verdict)
    taught = [found[row] for row in found if row != NOT_TAUGHT]
    found["all pictures of taught labels"] = (
        [each for alone, _ in taught for each in alone],
        [each for _, nearer in taught for each in nearer],
    )
    lines = [[row, *shares(alone), *shares(nearer)] for row, (alone, nearer) in found.items()]
    columns = ["", "whole picture", "nearest label", "with the finder", "nearest label"]
    table = tabulate(lines, columns, "pipe", floatfmt=".1f")
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
                yield NOT_TAUGHT, learner, each


def shares(found: list[Verdict]) -> tuple[str, str]:
    """Return the percentages of right, unknown and wrong verdicts, and of right nearest labels."""
    verdicts, nearest = zip(*found, strict=True)
    kinds = ("right", "unknown", "wrong")
    text = " / ".join(f"{100 * verdicts.count(kind) / len(found):.1f}" for kind in kinds)
    return text, f"{100 * np.mean(nearest):.1f}" if any(nearest) else ""


if __name__ == "__main__":
    main()
