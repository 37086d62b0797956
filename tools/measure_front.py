"""Measure accuracy against milliseconds: `python tools/measure_front.py DATA [--time]`.

DATA holds the folders office_caltech10, grocery_store, icub_camera and world; the rendered home
comes with robocle. Each point is a backbone at one input size, with its looks at a picture to
recognise. Five pictures per label are taught, in five orderings, and a half of the test pictures is
predicted. The points are written to docs/results/front.json, and drawn by docs/front.py.

With --time, only the times of the points are measured again: on a quiet machine.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from robocle import Learner
from robocle.backbones import backbone
from robocle.backbones.model_folder import cache_folder
from robocle.classifiers import classifier
from robocle.evaluation.backbones.world_building import NOTHING, as_kept, things_in
from robocle.evaluation.datasets import dataset
from robocle.evaluation.scenarios import scenario
from robocle.images import Picture, read
from robocle.images.nothing import pictures_of_nothing
from robocle.images.views import Centre
from robocle.learner.pipeline import Pipeline
from robocle.profiles import DEFAULT

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs/results/front.json"
ORDERINGS = 5
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


@dataclass(frozen=True)
class Point:
    """A backbone at one input size, and its looks."""

    backbone: str
    looks: str
    """The shares of a picture to recognise, as the views `centre` take them."""
    taught: str = Centre().shares
    """The shares of a taught picture."""


POINTS = (
    *(Point(f"efficientnet_lite0:size={size}", looks, WHOLE)
      for size in (192, 224, 256, 288, 320) for looks in ("1", WHOLE)),
    *(Point(f"efficientnet_lite2:size={size}", looks, WHOLE)
      for size in (256, 260, 320) for looks in ("1", WHOLE)),
    Point("efficientnet_lite0", "0.8"),
    Point("efficientnet_lite0", "1/0.6"),
    Point("efficientnet_lite0:size=320", "0.8"),
    Point("efficientnet_lite0:size=320", "1/0.6"),
    Point("efficientnet_lite2:size=256", "0.8"),
    Point("efficientnet_lite2:size=256", "1/0.6"),
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


class Front:
    """The pictures of all orderings, and their embeddings."""

    def __init__(self, data: Path) -> None:
        self.orderings = list(orderings(data))
        shown = (
            pair
            for each in self.orderings
            for pairs in (each.taught, *each.tests.values())
            for pair in pairs
        )
        # In the same order on every machine: the embeddings that are kept are in this order.
        self.paths = sorted({path for path, _ in shown}, key=lambda path: path.parts[-3:])
        self.rows = {path: row for row, path in enumerate(self.paths)}
        self.objects = things_in(data / "world")

    def embedded(self, name: str, shares: str) -> tuple[Rows, Rows]:
        """Return the embeddings of a world, and those of all pictures."""
        looks = [self._look(name, share) for share in shares.split("/")]
        rows: Rows = np.mean(looks, axis=0)
        world = len(self.objects) + NOTHING
        return as_kept(rows[:world]), rows[world:]

    def _look(self, name: str, share: str) -> Rows:
        pipeline = Pipeline.build(name, DEFAULT.pooling, f"centre:shares={share}")
        network = pipeline.backbone
        facts = DEFAULT.pooling, *("/".join(path.parts[-3:]) for path in self.paths)
        key = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
        file = cache_folder() / "measure_front" / f"{network.fingerprint[:12]}-{key}-{share}.npy"
        if not file.is_file():
            side = network.input_size
            shown: list[Picture] = [
                *self.objects, *pictures_of_nothing(NOTHING, side), *self.paths
            ]  # fmt: skip
            rows = [pipeline.embed([read(each, side).pixels])[0] for each in shown]
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, np.stack(rows).astype(np.float16))
        return np.asarray(np.load(file), np.float32)

    def accuracy(self, point: Point) -> dict[str, float]:
        """Return the accuracy of a point in percent, by column."""
        blocks = Pipeline.build(point.backbone, DEFAULT.pooling).blocks
        taught, predicted = (self.embedded(point.backbone, each)
                             for each in (point.taught, point.looks))  # fmt: skip
        found: dict[str, list[float]] = {}
        for each in self.orderings:
            clf = classifier(f"{DEFAULT.classifier},blocks={blocks}")
            clf.use_world(predicted[0])
            for path, label in each.taught:
                clf.learn(taught[1][self.rows[path]], label)
            for test, shown in each.tests.items():
                scores = clf.scores(predicted[1][[self.rows[path] for path, _ in shown]])
                named = np.array(clf.labels)[scores.argmax(axis=1)]
                right = named == np.array([label for _, label in shown])
                found.setdefault(each.column(test), []).append(100 * float(right.mean()))
        return {column: round(float(np.mean(values)), 2) for column, values in found.items()}


def milliseconds(point: Point, frames: int = 60) -> float:
    """Return the time of one prediction from a 640x480 frame, one thread."""
    views = f"centre:shares={point.looks}"
    learner = Learner(backbone(point.backbone), prediction_views=views)
    rng = np.random.default_rng(0)
    frame = rng.integers(0, 256, (480, 640, 3), np.uint8)
    for number in range(20):
        learner.teach(np.roll(frame, 17 * number, 0), f"object {number}", poor="accept")
    times = []
    for work in [partial(learner.predict, frame)] * frames:
        start = perf_counter()
        work()
        times.append(1e3 * (perf_counter() - start))
    return round(float(np.median(times)), 1)


def main() -> None:
    """Measure all points and write them."""
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else []
    accuracies = {(each["backbone"], each["looks"]): each["accuracy"] for each in known}
    front = None if "--time" in sys.argv else Front(Path(sys.argv[1]))
    points = []
    for point in POINTS:
        accuracy = front.accuracy(point) if front else accuracies[point.backbone, point.looks]
        points.append({**vars(point), "accuracy": accuracy, "milliseconds": milliseconds(point)})
        print(point, accuracy, points[-1]["milliseconds"], flush=True)
    RESULTS.write_text(json.dumps(points, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
