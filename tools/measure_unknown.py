"""Measure known and unknown on real pictures: `python tools/measure_unknown.py DATA`.

DATA holds the folders office_caltech10, grocery_store, icub_camera and world; the rendered home
comes with robocle. In each cell, some labels of a set are taught some shots, in five orderings.
Then pictures are predicted of
    again       the same objects in the same set: other pictures of the domain (office_caltech10),
                of the test split (grocery_store), from behind (icub_camera: the first ten of thirty
                views are taught), of the same clean scene (home)
    elsewhere   the same labels in other domains, conditions and instances, where a set has them
    others      labels of the same set that were not taught
    objects     labels of the other sets that this set does not have
    photos      photographs of different objects, those in DATA/world that the world does not have
    nothing     walls, noise and gradients, by other formulas than those of the world
They are written to docs/results/unknown_cells.json. tools/unknown_tables.py makes the tables.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from kept_embeddings import embedded, kept
from numpy.typing import NDArray

from robocle._internal.randomness import keyed_rng
from robocle.backbones import backbone
from robocle.backbones.world import World, used_world
from robocle.classifiers import StreamingClassifier, classifier
from robocle.classifiers.labels import UNKNOWN
from robocle.evaluation.backbones.world_building import objects_in
from robocle.evaluation.datasets.home import Home
from robocle.evaluation.keys import code_of
from robocle.evaluation.metrics.recognition import area_under_curve, mixed_calibration_error
from robocle.images.folders import pictures_under
from robocle.images.views import VIEWS
from robocle.learner.pipeline import Pipeline
from robocle.poolings import POOLINGS
from robocle.profiles import DEFAULT, PROFILES
from robocle.recognition import DEFAULT_RATE
from robocle.recognition.decision import Decision
from robocle.recognition.meaning import scored
from robocle.types import Prediction

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs/results/unknown_cells.json"
SETS = ("office_caltech10", "grocery_store", "icub_camera", "home")
LABELS: tuple[int | str, ...] = (1, 2, 4, "half", "all")
SHOTS, ORDERINGS = (1, 3, 5), 5
PER_CLASS, MOST, UNRELATED, WALLS = 30, 250, 70, 180
COPIES = {"object043": "the same pictures as object037"}
EXAMPLES = 6
"""How many other labels are shown as unknown, to measure what that brings."""
RATES = (0.001, 0.01, 0.05, 0.2, 0.5)
"""The rates at which the fraction of photographs that is accepted is measured."""
STRANGERS = ("others", "objects", "photos")
"""What is mixed with known objects, in equal parts, to measure the calibration."""
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Method:
    """A learner to measure."""

    classifier: str
    prediction_views: str


METHODS = {
    "fast": Method(DEFAULT.classifier, PROFILES["fast"].prediction_views),
    "accurate": Method(DEFAULT.classifier, PROFILES["accurate"].prediction_views),
    "without a world": Method(
        DEFAULT.classifier.replace("world=40", "world=0"), PROFILES["fast"].prediction_views
    ),
}


@dataclass(frozen=True)
class Pictures:
    """The pictures of a set, with the embeddings of each for teaching and for prediction."""

    labels: NDArray[np.str_]
    domains: NDArray[np.str_]
    """The domain, split or condition; "train" if a picture may be taught."""
    taught: NDArray[np.float32]
    predicted: NDArray[np.float32]


@dataclass(frozen=True)
class Cell:
    """What is taught and predicted in one ordering of one cell."""

    taught: list[tuple[int, str]]
    again: Rows
    elsewhere: Rows
    others: Rows
    examples: list[int]
    """One picture each of some other labels, to teach as unknown."""
    unseen: Rows
    """The others without these labels."""


def listed(name: str, data: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield the pictures of a set: path, label, domain."""
    if name == "home":
        for each in Home().examples():
            yield each.path, each.label, "train" if each.split == "train" else each.domain
        return
    if name == "world":
        used = set(objects_in(data / name))
        rest = [path for path in pictures_under(data / name) if path not in used]
        yield from ((path, path.stem, "") for path in rest)
        return
    for path in sorted((data / name).rglob("*.jpg")):
        parts = path.relative_to(data / name).parts
        if parts[0] in COPIES:
            continue
        if name == "icub_camera":
            yield path, parts[0], "train" if int(path.stem) < 10 else "behind"
        elif name == "office_caltech10" or parts[0] in ("train", "test"):
            yield path, parts[1], parts[0]


def pictures_of(name: str, data: Path, pipeline: Pipeline) -> Pictures:
    """Return the pictures of a set, at most PER_CLASS per label and domain."""
    groups: dict[tuple[str, str], list[tuple[Path, str, str]]] = {}
    for each in listed(name, data):
        groups.setdefault((each[1], each[2]), []).append(each)
    chosen = [group[place] for key, group in groups.items()
              for place in keyed_rng(0, *key).permutation(len(group))[:PER_CLASS]]  # fmt: skip
    paths, labels, domains = zip(*chosen, strict=True)
    taught, predicted = (kept(each, paths) for each in (pipeline, pipeline.for_prediction))
    return Pictures(np.array(labels), np.array(domains), taught, predicted)


def walls(side: int = 224) -> Iterator[NDArray[np.uint8]]:
    """Yield walls, noise and gradients that have nothing to do with those of the world."""
    down, right = np.mgrid[0:side, 0:side] / (side - 1)
    for index in range(WALLS):
        rng = keyed_rng(1, "measured nothing", index)
        one, other = rng.uniform(20, 235, (2, 3))
        ramp = np.hypot(*(np.stack([down, right]) - rng.uniform(0, 1, (2, 1, 1))))[..., None]
        kinds = (
            one * (1 - rng.uniform(0, 0.6) * ramp**2) + rng.normal(0, 4, (side, side, 1)),
            rng.uniform(0, 255, (side, side, 3)),
            one * (1 - ramp) + other * ramp,
            np.where(bricks(rng, side), 0.7 * one + 60, one) + rng.normal(0, 4, (side, side, 1)),
            one + rng.normal(0, rng.uniform(10, 60), (side, side, 3)),
        )
        yield np.clip(kinds[index % len(kinds)], 0, 255).astype(np.uint8)


def bricks(rng: np.random.Generator, side: int) -> NDArray[np.bool_]:
    """Return the joints of a brick wall."""
    height = int(rng.integers(12, 40))
    down, right = np.mgrid[0:side, 0:side]
    right = right + (down // height % 2) * height
    return np.asarray(((down % height < 2) | (right % (2 * height) < 2))[..., None])


def cell_of(name: str, found: Pictures, labels: int | str, shots: int, seed: int) -> Cell:
    """Draw what is taught and predicted in one ordering."""
    rng = keyed_rng(seed, "ordering", name)
    domains = sorted(set(found.domains))
    taught_in = domains[seed % len(domains)] if name == "office_caltech10" else "train"
    tested_in = {"office_caltech10": taught_in, "grocery_store": "test", "icub_camera": "behind",
                 "home": "train"}[name]  # fmt: skip
    names = sorted(set(found.labels[found.domains == taught_in]))
    number = {"half": len(names) // 2, "all": len(names)}.get(str(labels)) or int(labels)
    chosen = [str(each) for each in rng.permutation(names)[:number]]
    order = rng.permutation(np.flatnonzero(found.domains == taught_in))
    drawn = {label: [int(row) for row in order if found.labels[row] == label] for label in names}
    used = {row for rows in drawn.values() for row in rows[: max(SHOTS)]}
    tested = np.flatnonzero(found.domains == tested_in)
    again = np.array([row for row in tested if row not in used], np.int64)
    away = np.flatnonzero((found.domains != taught_in) & (found.domains != tested_in))
    known = np.isin(found.labels, chosen)

    def some(rows: NDArray[np.int64], wanted: NDArray[np.bool_]) -> Rows:
        return np.asarray(rng.permutation(rows[wanted[rows]])[:MOST])

    rows = some(again, known), some(away, known), some(again, ~known)
    lessons = [(drawn[label][shot], label) for shot in range(shots) for label in chosen]
    shown = rng.permutation([label for label in names if label not in chosen])[:EXAMPLES].tolist()
    unseen = rows[2][~np.isin(found.labels[rows[2]], shown)]
    return Cell(lessons, *rows, [drawn[label][0] for label in shown], unseen)


def unrelated(name: str, sets: dict[str, Pictures], seed: int) -> NDArray[np.float32]:
    """Return pictures of the other sets, without labels that this set has, too."""
    own = {plain(label) for label in sets[name].labels}
    rows = []
    for other, found in sets.items():
        if other != name:
            usable = [i for i, label in enumerate(found.labels) if plain(label) not in own]
            rng = keyed_rng(seed, "unrelated", name, other)
            rows.append(found.predicted[rng.choice(usable, UNRELATED, replace=False)])
    return np.concatenate(rows)


def plain(label: str) -> str:
    """Return the start of a label without spelling: apples of two sets are no unrelated objects."""
    return "".join(sign for sign in label.lower() if sign.isalpha())[:4]


@dataclass(frozen=True)
class Measurement:
    """The pictures of all sets as one learner sees them."""

    spec: str
    sets: dict[str, Pictures]
    photos: NDArray[np.float32]
    nothing: NDArray[np.float32]
    world: World | None

    @classmethod
    def of(cls, method: Method, data: Path) -> "Measurement":
        """Embed all pictures, or read the embeddings of an earlier run."""
        network, views = backbone(DEFAULT.backbone), method.prediction_views
        pipeline = Pipeline.build(network, DEFAULT.pooling, DEFAULT.views, views)
        spec = f"{method.classifier},blocks={pipeline.blocks}"
        pooling, described = POOLINGS.describe(pipeline.pooling), VIEWS.describe(VIEWS.build(views))
        seen = network.name, network.fingerprint, pooling, described
        return cls(
            spec,
            {name: pictures_of(name, data, pipeline) for name in SETS},
            pictures_of("world", data, pipeline).predicted,
            embedded(pipeline.for_prediction, list(walls(network.input_size))),
            used_world(classifier(spec), *seen),
        )

    def figures(self, name: str, labels: int | str, shots: int, seed: int) -> dict[str, float]:
        """Return the figures of one ordering of a cell, in percent."""
        cell = cell_of(name, self.sets[name], labels, shots, seed)
        objects = unrelated(name, self.sets, seed)
        stray = {"objects": objects, "photos": self.photos, "nothing": self.nothing}
        return measured(self.spec, self.sets[name], cell, stray, self.world)


def measured(
    spec: str,
    found: Pictures,
    cell: Cell,
    stray: dict[str, NDArray[np.float32]],
    world: World | None,
) -> dict[str, float]:
    """Teach one ordering of a cell and return its figures, in percent."""
    clf = classifier(spec)
    if world is not None:
        clf.use_world(world.pictures)
    for row, label in cell.taught:
        clf.learn(found.taught[row], label)
    decision = Decision.of(clf.answer(), world)
    groups = {"again": cell.again, "elsewhere": cell.elsewhere, "others": cell.others}
    pictures = {name: found.predicted[rows] for name, rows in groups.items()} | stray
    seen = {name: predicted(clf, rows, decision) for name, rows in pictures.items() if len(rows)}
    figures = {f"{name} accepted": percent(one.label is not None for one in each)
               for name, each in seen.items()}  # fmt: skip
    strangers = mixed([seen[name] for name in STRANGERS if name in seen])
    for name in ("again", "elsewhere"):
        if name in seen:
            named = [each.nearest for each in seen[name]]
            right = np.array(named) == found.labels[groups[name]]
            for key, value in outcomes(seen[name], right, strangers).items():
                figures[f"{name} {key}"] = value
    known = [each.familiarity for each in seen["again"]]
    for name in set(seen) - {"again", "elsewhere"}:
        strange = [each.familiarity for each in seen[name]]
        figures[f"{name} AUROC"] = area_under_curve(known, strange)
    if decision is not None:
        for rate in RATES:
            above = (each.familiarity >= decision.threshold(rate) for each in seen["photos"])
            figures[f"photos accepted at {rate}"] = percent(above)
    return figures | with_examples(clf, found, cell, world)


def predicted(
    clf: StreamingClassifier, rows: NDArray[Any], decision: Decision | None
) -> list[Prediction]:
    """Return the prediction for each embedding."""
    return [each.prediction(DEFAULT_RATE) for each in scored(clf, rows, decision)]


def with_examples(
    clf: StreamingClassifier, found: Pictures, cell: Cell, world: World | None
) -> dict[str, float]:
    """Teach examples of other labels as unknown, and return what has changed, in percent."""
    if not (cell.examples and len(cell.unseen)):
        return {}
    before = Decision.of(clf.answer(), world)
    for row in cell.examples:
        clf.learn(found.taught[row], UNKNOWN)
    after = Decision.of(clf.answer(), world)
    groups = {"again": cell.again, "elsewhere": cell.elsewhere, "unseen": cell.unseen}
    figures = {}
    for name, rows in groups.items():
        for when, decision in (("before", before), ("after", after)):
            if len(rows):
                seen = predicted(clf, found.predicted[rows], decision)
                accepted = percent(each.label is not None for each in seen)
                figures[f"{name} accepted {when} examples"] = accepted
    return figures


def outcomes(
    seen: list[Prediction], right: NDArray[np.bool_], strangers: list[Prediction]
) -> dict[str, float]:
    """Return how many are right, unknown and wrong, and how well the confidence fits a mix."""
    known = np.array([each.label is not None for each in seen])
    sure = np.array([each.sure for each in seen])
    sure_strangers = percent(each.sure for each in strangers)
    relied = percent(sure) + sure_strangers
    return {
        "accuracy": percent(right),
        "right": percent(known & right),
        "unknown": percent(~known),
        "wrong": percent(known & ~right),
        "sure": percent(sure),
        "right if sure": 100 * percent(sure & right) / relied if relied else float("nan"),
        "ECE": mixed_calibration_error(
            [each.confidence for each in seen], right, [each.confidence for each in strangers]
        ),
    }


def mixed(kinds: list[list[Prediction]]) -> list[Prediction]:
    """Return the same number of each kind of strangers."""
    fewest = min(map(len, kinds))
    return [each for kind in kinds for each in kind[:fewest]]


def percent(which: Iterable[object]) -> float:
    """Return how many are true, in percent."""
    return 100 * float(np.mean([bool(each) for each in which]))


def main() -> None:
    """Measure all cells, and write the results and the tables."""
    data = Path(sys.argv[1])
    methods = {name: Measurement.of(method, data) for name, method in METHODS.items()}
    cells: dict[str, dict[str, dict[str, float]]] = {}
    for name, labels, shots in product(SETS, LABELS, SHOTS):
        cells[f"{name}, {labels}, {shots}"] = {
            method: averaged([each.figures(name, labels, shots, seed) for seed in range(ORDERINGS)])
            for method, each in methods.items()
        }
        print(f"{name}, {labels} labels, {shots} shots", flush=True)
    specs = {name: vars(method) for name, method in METHODS.items()}
    head = {"specs": specs, "orderings": ORDERINGS, "seeds": list(range(ORDERINGS)),
            "code": code_of(*{type(classifier(method.classifier)) for method in METHODS.values()},
                            also=("robocle.recognition.meaning",))}  # fmt: skip
    RESULTS.write_text(json.dumps({**head, "cells": cells}, indent=1) + "\n", "utf-8")


def averaged(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each figure over the orderings."""
    values = {name: [run[name] for run in runs if np.isfinite(run[name])] for name in runs[0]}
    return {name: round(float(np.mean(each)), 2) for name, each in sorted(values.items()) if each}


if __name__ == "__main__":
    main()
