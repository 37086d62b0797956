"""Measure accuracy against milliseconds: `python tools/measure_front.py DATA`.

DATA holds the folders office_caltech10, grocery_store, icub_camera and world; the rendered home
comes with robocle. Each point is a backbone at one input size, with its looks at a picture to
recognise. Five pictures per label are taught, in five orderings, and a half of the test pictures is
predicted. The points are written to docs/results/front.json, and drawn by docs/front.py.

Points that are in that file keep their accuracy: delete them there to measure them again. The times
of all points are measured together.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from kept_embeddings import kept
from numpy.typing import NDArray

from robocle import Learner
from robocle._internal.timing import shortest_times
from robocle.backbones import backbone
from robocle.classifiers import classifier
from robocle.evaluation.backbones.world_building import NOTHING, as_kept, objects_in
from robocle.evaluation.datasets import dataset
from robocle.evaluation.scenarios import scenario
from robocle.images.nothing import pictures_of_nothing
from robocle.images.views import Centre
from robocle.learner.pipeline import Pipeline
from robocle.profiles import DEFAULT

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs/results/front.json"
ORDERINGS = 5
LABELS, ROUNDS = 20, 10
DOMAINS = ("amazon", "caltech10", "dslr", "webcam")
STUDIES = [
    *(("folder:layout=domains", "office_caltech10", f"cross_domain:shots=5,domain={domain}")
      for domain in DOMAINS),
    ("folder:layout=split", "grocery_store", "class_iid:shots=5"),
    ("folder", "icub_camera", "class_iid:shots=5,first=10"),
    ("home", "home", "class_iid:shots=5,shared=instances"),
    ("home", "home", "class_iid:shots=5,disjoint=instances"),
]  # fmt: skip
WHOLE = "1/0.67"
"""The looks at a taught picture, for points whose looks were not chosen anew."""
Rows = NDArray[np.float32]
Embedded = dict[Path, Rows]
"""The embedding of each picture."""


@dataclass(frozen=True)
class Point:
    """A backbone at one input size, and its looks."""

    backbone: str
    looks: str
    """The shares of a picture to recognise, as the views `centre` take them."""
    taught: str = Centre().shares
    """The shares of a taught picture."""


INT8 = "numbers=int8"
POINTS = (
    *(Point(f"efficientnet_lite0:size={size}", looks, WHOLE)
      for size in (192, 224, 256, 288, 320, 352) for looks in ("1", WHOLE)),
    *(Point(f"efficientnet_lite1:size={size}", looks, WHOLE)
      for size in (256, 288) for looks in ("1", WHOLE)),
    *(Point(f"efficientnet_lite2:size={size}", looks, WHOLE)
      for size in (256, 260, 320) for looks in ("1", WHOLE)),
    *(Point(f"efficientnet_lite{network}", looks)
      for network in ("0", "0:size=320", "2:size=256") for looks in ("0.8", "1/0.6")),
    *(Point(f"efficientnet_lite0:{INT8}", looks) for looks in ("0.8", "1/0.6")),
    *(Point(f"efficientnet_lite2:size={size},{INT8}", "1/0.75/0.5") for size in (256, 288, 320)),
    Point(f"efficientnet_lite2:size=320,{INT8}", "1/0.6"),
)  # fmt: skip


@dataclass(frozen=True)
class Ordering:
    """What is taught and predicted in one ordering of a study: pictures and their labels."""

    study: str
    taught: list[tuple[Path, str]]
    tests: dict[str, list[tuple[Path, str]]]

    def column(self, test: str) -> str:
        """Return the column of the results that a test belongs to."""
        if self.study == "office_caltech10":
            return f"{self.study} {'same' if test == 'same' else 'elsewhere'}"
        return self.study


def orderings(data: Path) -> Iterator[Ordering]:
    """Yield all orderings of all studies."""
    for kind, name, plan in STUDIES:
        examples = dataset(kind).examples(None if name == "home" else data / name)
        title = f"home {'others' if 'disjoint' in plan else 'same'}" if name == "home" else name
        for seed in range(ORDERINGS):
            stream = scenario(plan).stream(examples, seed)
            tests = {
                test: [(e.path, e.label) for e in shown if name == "home" or is_chosen(e.path)]
                for test, shown in stream.tests.items()
            }
            yield Ordering(title, [(e.path, e.label) for e in stream.taught], tests)


def is_chosen(path: Path) -> bool:
    """Return whether a test picture is in the half that is predicted."""
    return hashlib.sha256("/".join(path.parts[-3:]).encode()).digest()[0] % 2 == 0


def by_name(paths: Iterable[Path]) -> list[Path]:
    """Return paths once each, in the same order on every machine."""
    return sorted(set(paths), key=lambda path: path.parts[-3:])


def embedded_looks(name: str, shares: str, pictures: Sequence[Path | NDArray[np.uint8]]) -> Rows:
    """Return the mean embedding of the looks at each picture; each look is kept by itself."""
    looks = (Pipeline.build(name, DEFAULT.pooling, f"centre:shares={share}")
             for share in shares.split("/"))  # fmt: skip
    rows: Rows = np.mean([kept(each, pictures) for each in looks], axis=0)
    return rows


class Front:
    """The pictures of all orderings, and their embeddings."""

    def __init__(self, data: Path) -> None:
        self.orderings = list(orderings(data))
        self.taught = by_name(path for each in self.orderings for path, _ in each.taught)
        self.tested = by_name(
            path for each in self.orderings for shown in each.tests.values() for path, _ in shown
        )
        self.objects = objects_in(data / "world")

    def embedded_taught(self, name: str, shares: str) -> Embedded:
        """Return the embeddings of all taught pictures."""
        return dict(zip(self.taught, embedded_looks(name, shares, self.taught), strict=True))

    def embedded_tests(self, name: str, shares: str) -> tuple[Rows, Embedded]:
        """Return the embeddings of a world, and those of all test pictures."""
        nothing = pictures_of_nothing(NOTHING, backbone(name).input_size)
        rows = embedded_looks(name, shares, [*self.objects, *nothing, *self.tested])
        world, tests = np.split(rows, [len(self.objects) + NOTHING])
        return as_kept(world), dict(zip(self.tested, tests, strict=True))

    def accuracy(self, point: Point) -> dict[str, float]:
        """Return the accuracy of a point in percent, by column."""
        blocks = Pipeline.build(point.backbone, DEFAULT.pooling).blocks
        taught = self.embedded_taught(point.backbone, point.taught)
        world, tested = self.embedded_tests(point.backbone, point.looks)
        found: dict[str, list[float]] = {}
        for each in self.orderings:
            clf = classifier(f"{DEFAULT.classifier},blocks={blocks}")
            clf.use_world(world)
            for path, label in each.taught:
                clf.learn(taught[path], label)
            for test, shown in each.tests.items():
                scores = clf.scores(np.stack([tested[path] for path, _ in shown]))
                named = np.array(clf.labels)[scores.argmax(axis=1)]
                right = named == np.array([label for _, label in shown])
                found.setdefault(each.column(test), []).append(100 * float(right.mean()))
        return {column: round(float(np.mean(values)), 2) for column, values in found.items()}


def milliseconds(points: Sequence[Point]) -> list[float]:
    """Return the times of one prediction from a 640x480 frame, one thread."""
    rng = np.random.default_rng(0)
    frame = rng.integers(0, 256, (480, 640, 3), np.uint8)
    functions = []
    for point in points:
        views = f"centre:shares={point.looks}"
        learner = Learner(backbone(point.backbone), prediction_views=views)
        for number in range(LABELS):
            learner.teach(np.roll(frame, 17 * number, 0), f"object {number}", poor="accept")
        functions.append(partial(learner.predict, frame))
    return [round(1e3 * seconds, 1) for seconds in shortest_times(functions, ROUNDS)]


def accuracies(data: Path) -> list[dict[str, float]]:
    """Return the accuracies of all points: those of the file, or else measured now."""
    found = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else []
    known = {(e["backbone"], e["looks"], e["taught"]): e["accuracy"] for e in found}
    front = cache(Front)
    return [known.get((point.backbone, point.looks, point.taught))
            or front(data).accuracy(point) for point in POINTS]  # fmt: skip


def main() -> None:
    """Measure all points and write them."""
    measured = zip(POINTS, accuracies(Path(sys.argv[1])), milliseconds(POINTS), strict=True)
    points = [{**vars(point), "accuracy": accuracy, "milliseconds": time}
              for point, accuracy, time in measured]  # fmt: skip
    RESULTS.write_text(json.dumps(points, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
