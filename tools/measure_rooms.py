"""Measure how well taught objects are found in rooms: `python tools/measure_rooms.py DETECTOR`.

DETECTOR is the spec of a finder, such as onnx:picodet.onnx. Rooms of the rendered home are
searched, with four to six objects each. Half of the categories are taught, five clean pictures
each, in five orderings. The table is written to docs/finders.md.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from tabulate import tabulate

from robocle import Find, Learner, finder
from robocle._internal.randomness import keyed_rng
from robocle.evaluation.datasets import dataset
from robocle.finders.boxes import PixelBox, overlap
from robocle.learner.embedding import Embedder, Embedding
from robocle.learner.finding import BOXES, Rows, embedded_boxes, shows_same
from robocle.learner.finding import found as found_in
from robocle_sim.room import Room, Visible

PAGE = Path(__file__).parents[1] / "docs" / "finders.md"
MARK = "<!-- begin rooms: python tools/measure_rooms.py DETECTOR -->"
END = "<!-- end rooms -->"
ROOMS = 60
ORDERINGS, SHOTS = 5, 5
HIT = 0.5
"""The overlap of a find with an object from which on it has found it."""
Searched = tuple[list[Visible], Rows]
"""The objects in a room, and the embeddings of its whole picture and of its boxes."""


class Score(NamedTuple):
    """A find of a label, and whether it is right."""

    confidence: float
    is_hit: bool


class Tally:
    """What was found in some rooms."""

    def __init__(self) -> None:
        self.scores: dict[str, list[Score]] = defaultdict(list)
        self.present: dict[str, int] = defaultdict(int)
        self.found: list[bool] = []
        self.covered: list[bool] = []
        self.false: list[int] = []

    def add(self, taught: Sequence[Visible], finds: Sequence[Find], boxes: list[PixelBox]) -> None:
        """Add a room: its taught objects, its known finds, and the boxes."""
        hits: dict[int, Find] = {}
        false = 0
        for find in sorted(finds, key=lambda each: -each.prediction.confidence):
            label = str(find.prediction.label)
            own = [row for row, each in enumerate(taught) if each.category == label]
            hit = next((row for row in own if is_hit(find.box, taught[row])), None)
            is_new = hit is not None and hit not in hits
            self.scores[label].append(Score(find.prediction.confidence, is_new))
            if hit is not None and is_new:
                hits[hit] = find
            # A box that is only imprecise is no object that was not taught.
            false += not any(shows_same(find.box, taught[row].box) for row in own)
        self.false.append(false)
        for row, each in enumerate(taught):
            self.present[each.category] += 1
            self.found.append(row in hits)
            self.covered.append(any(is_hit(box, each) for box in boxes))

    def figures(self) -> list[float]:
        """Return the average precision, two recalls in percent, and false finds per frame."""
        precision = fmean(
            average_precision(self.scores[label], number) for label, number in self.present.items()
        )
        reached = [found for found, box in zip(self.found, self.covered, strict=True) if box]
        within = fmean(reached) if reached else 0.0
        return [100 * precision, 100 * fmean(self.found), 100 * within, fmean(self.false)]


def is_hit(box: PixelBox, seen: Visible) -> bool:
    """Return whether a box has found an object."""
    return overlap(box, seen.box) >= HIT


def average_precision(scores: Iterable[Score], present: int) -> float:
    """Return the area under the curve of precision over recall, which never rises.

    Args:
        scores: All finds of a label.
        present: How many objects with this label there are.

    >>> average_precision([Score(0.9, True), Score(0.8, False), Score(0.7, True)], present=4)
    0.41666666666666663
    """
    ranked = sorted(scores, key=lambda each: -each.confidence)
    hits = np.array([each.is_hit for each in ranked], float)
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    highest = np.maximum.accumulate(precision[::-1])[::-1]
    return float((hits * highest).sum()) / present


def main() -> None:
    """Measure, print the table and write it to the page."""
    base, found = Learner(), finder(sys.argv[1])
    embedder = Embedder(base.pipeline, "prediction")
    alone, boxed = Tally(), Tally()
    with Pool() as pool:
        rooms = pool.map(Room.render, [Room(0, number) for number in range(ROOMS)], 4)
    searched = [
        (objects, embedded_boxes(embedder, found, picture, BOXES)) for picture, objects in rooms
    ]
    for learner in learners(base):
        for room in searched:
            look(learner, room, boxed)
            look(learner, (room[0], room[1][:1]), alone)
    rows = [["whole frame only", *alone.figures()], ["with the finder", *boxed.figures()]]
    columns = ["average precision", "found", "found, if in a box", "false finds per frame"]
    table = tabulate(rows, ["", *columns], "pipe", floatfmt=("", ".1f", ".1f", ".1f", ".2f"))
    covered = f"The boxes of the finder cover {100 * fmean(boxed.covered):.0f} % of the objects."
    print(table, covered, sep="\n\n")
    begin, rest = PAGE.read_text("utf-8").split(MARK)
    _, end = rest.split(END)
    PAGE.write_text(f"{begin}{MARK}\n{table}\n\n{covered}\n{END}{end}", "utf-8")


def learners(base: Learner) -> Iterable[Learner]:
    """Yield a learner per ordering, each taught half of the categories."""
    embedded: dict[str, list[Embedding]] = defaultdict(list)
    for each in dataset("home").examples():
        if each.split == "train" and len(embedded[each.label]) < SHOTS:
            embedded[each.label].append(base.embed_for_teaching(each.path))
    for seed in range(ORDERINGS):
        rng = keyed_rng(seed, "measure_rooms")
        learner = Learner(base.backbone)
        for label in sorted(rng.permutation(sorted(embedded))[: len(embedded) // 2].tolist()):
            for sample in embedded[label]:
                learner.teach_embedding(sample, label)
        yield learner


def look(learner: Learner, room: Searched, tally: Tally) -> None:
    """Find objects in a room, and add what was found."""
    objects, rows = room
    finds = [
        each
        for each in found_in(rows, learner.predict_embedding)
        if each.prediction.label is not None
    ]
    taught = [each for each in objects if each.category in learner.labels]
    tally.add(taught, finds, [box for box, _ in rows[1:]])


if __name__ == "__main__":
    main()
