"""Compute what the paper's tables cost, and write it into docs/paper-tables.md.

    python docs/paper_costs.py            # from docs/results/paper-costs.json
    python docs/paper_costs.py --measure  # measures the classifiers and the added backbones first

Times are processor times on one core, so other programs hardly change them. A backbone is timed on
batches of 8 random pictures, whatever its weights are. A classifier is timed on random embeddings
of a network with 2,048 channels, chunk by chunk as in a trial; the last chunk counts, after 12,000
samples of 40 classes or a minute. Narrower networks take less. A table takes the time of all
embeddings, all lessons and all predictions, divided by two cores.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from robocle.backbones import backbone
from robocle.backbones.added import added_names
from robocle.backbones.names import ARCHITECTURES, Architecture
from robocle.blocks import Layout
from robocle.classifiers import classifier
from robocle.cli.bench import EXPERIMENTS
from robocle.evaluation.evaluation_set import CHUNK
from robocle.evaluation.experiment import Experiment, Method, Study
from robocle.evaluation.experiment_file import load_experiment
from robocle.evaluation.teach_and_test import teach_classifier
from robocle.images.views import VIEWS
from robocle.poolings import POOLINGS, block_layout
from robocle.types import FeatureMaps

HERE = Path(__file__).parent
MEASURED = HERE / "results" / "paper-costs.json"
PAGE = HERE / "paper-tables.md"
BEGIN, END = "<!-- begin costs: python docs/paper_costs.py -->", "<!-- end costs -->"
CORES = 2
Costs = dict[str, dict[str, Any]]
"""Milliseconds: to embed by backbone; to learn and to predict by pooling and classifier."""
CHANNELS, POSITIONS, EARLIER = 2048, 49, (196, 1024)
CLASSES, SAMPLES, SECONDS = 40, 12_000, 60.0

# OpenLORIS-Object: 121 objects, 12 levels of factors with 260 frames each, divided 8 : 1 : 1.
FRAMES = 121 * 12 * 260
TRAIN, TEST = FRAMES * 8 // 10, FRAMES // 10
VIDEO = 260 * 8 // 10 // 3
"""The frames of a training video: a level has three."""
SMALL = CLASSES * VIDEO
FSIOL, FSIOL_CLASSES = 620, 22
NAMES = {"openloris": "OpenLORIS-Object", "fsiol": "F-SIOL-310"}


MOMENTS = tuple(
    Method("moments", f"moments:r=3,form={form}", "") for form in ("root", "standardised")
)


def main() -> None:
    """Write the table."""
    if "--measure" in sys.argv:
        measure()
    PAGE.write_text(with_table(PAGE.read_text("utf-8")), "utf-8")


def with_table(page: str) -> str:
    """Return a page with a new table between its marks."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def table() -> str:
    """Return the table of data, backbones, disk and hours."""
    costs = json.loads(MEASURED.read_text("utf-8"))
    lines = [
        "| `robocle paper` | data | backbones | cache, GB | hours | the first study alone |",
        "|---|---|---|---|---|---|",
    ]
    for which, name in EXPERIMENTS.items():
        experiment = load_experiment(name)
        data = dict.fromkeys(NAMES[study.dataset_name] for study in experiment.studies)
        backbones = dict.fromkeys(b for study in experiment.studies for b in study.backbones)
        models = sum(_known(name).megabytes for name in backbones) / 1e3
        first = Experiment(experiment.title, experiment.studies[:1], experiment.methods)
        lines.append(
            f"| `{which}` | {', '.join(data)} | {len(backbones)}, {models:.1f} GB | "
            f"{_rounded(gigabytes(experiment))} | {_rounded(hours(experiment, costs))} | "
            f"{_rounded(hours(first, costs))} |"
        )
    return "\n".join(lines)


def _rounded(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def hours(experiment: Experiment, costs: Costs) -> float:
    """Return the hours that an experiment takes on a machine with two cores."""
    seconds: float = sum(
        views * costs["embedding"][name.removesuffix("_224")] / 1e3
        for (name, _, _, looks), (pictures, _) in _embeddings(experiment).items()
        for views in [pictures * _views(looks)]
    )
    for study in experiment.studies:
        seconds += len(study.backbones) * _learning_seconds(study, experiment.methods, costs)
    return seconds / CORES / 3600


def gigabytes(experiment: Experiment) -> float:
    """Return the size of the cached embeddings, in float32."""
    return sum(
        pictures * sum(map(_width, poolings)) * _known(name).channels * 4 / 1e9
        for (name, _, _, _), (pictures, poolings) in _embeddings(experiment).items()
    )


def _known(name: str) -> Architecture:
    return ARCHITECTURES[name.removesuffix("_224")]


def _sizes(study: Study) -> tuple[int, int]:
    """Return how many pictures are taught and tested in all orderings together."""
    if study.dataset_name == "fsiol":
        return FSIOL, FSIOL
    return (TRAIN if study.scenario == "instance" else SMALL * len(study.seeds)), TEST


Setup = tuple[str, str, str, str]
"""A backbone, the pictures, their corruption and their views: each is embedded once."""


def _embeddings(experiment: Experiment) -> dict[Setup, tuple[int, set[str]]]:
    """Return how many pictures are embedded in each way, and by which poolings."""
    found: dict[Setup, tuple[int, set[str]]] = {}
    methods = experiment.methods or MOMENTS
    for study, method in product(experiment.studies, methods):
        taught, tested = _sizes(study)
        one = study.dataset_name == "fsiol"  # all pictures are taught in some ordering
        parts = [
            ("fsiol" if one else study.scenario, taught, study.taught, method.views),
            ("fsiol" if one else study.dataset, tested, study.tested, method.prediction_views),
        ]
        if method in MOMENTS:
            parts = [("moments", 400, study.tested, "plain")]
        for name, (pictures, count, corruptions, views) in product(study.backbones, parts):
            for corruption in corruptions:
                key = (name, pictures, corruption, views)
                found.setdefault(key, (count, set()))[1].add(method.pooling)
    return found


def _learning_seconds(study: Study, methods: tuple[Method, ...], costs: Costs) -> float:
    taught, tested = _sizes(study)
    orderings = len(study.seeds)
    each_step = FSIOL_CLASSES if study.dataset_name == "fsiol" else CLASSES
    evaluations = 1 if study.scenario == "instance" else each_step / 2
    shots = taught if study.scenario == "instance" else taught / orderings
    seconds = 0.0
    for method in methods:
        learn, predict = costs["classifying"][f"{method.pooling} {method.classifier}"]
        lessons = shots * len(study.taught) * orderings
        predictions = tested * len(study.tested) * len(study.taught) * orderings * evaluations
        seconds += (lessons * learn + predictions * predict) / 1e3
    return seconds


@cache
def _views(spec: str) -> int:
    return len(VIEWS.build(spec)(np.zeros((224, 224, 3), np.uint8)))


def _maps(pictures: int) -> FeatureMaps:
    rng = np.random.default_rng(0)
    grid = rng.random((pictures, POSITIONS, CHANNELS), np.float32)
    token = rng.random((pictures, CHANNELS), np.float32)
    return FeatureMaps(grid, token, rng.random((pictures, *EARLIER), np.float32))


@cache
def _width(pooling: str) -> float:
    """Return how many times as wide as the channels an embedding is."""
    return float(POOLINGS.build(pooling)(_maps(1)).shape[1] / CHANNELS)


def measure() -> None:
    """Time the classifiers of all tables, and the backbones that were added to this machine."""
    costs = json.loads(MEASURED.read_text("utf-8")) if MEASURED.exists() else {}
    costs.setdefault("embedding", {})
    costs.setdefault("classifying", {})
    for name in set(added_names()) & ARCHITECTURES.keys():
        network = backbone(f"{name}:threads=1")
        side = network.input_size
        pixels = np.random.default_rng(0).integers(0, 255, (8, side, side, 3), np.uint8)
        network.features(pixels[:1])
        times = [_seconds(partial(network.features, pixels)) for _ in range(3)]
        costs["embedding"][name] = round(1e3 * min(times) / 8, 1)
    methods = [each for name in EXPERIMENTS.values() for each in load_experiment(name).methods]
    for method in methods:
        name = f"{method.pooling} {method.classifier}"
        if name not in costs["classifying"]:
            blocks = block_layout(POOLINGS.build(method.pooling), EARLIER[1])
            width = round(_width(method.pooling) * CHANNELS)
            costs["classifying"][name] = _timed(method.classifier, width, blocks)
            MEASURED.write_text(json.dumps(costs, indent=1) + "\n", "utf-8")


@cache
def _timed(spec: str, width: int, blocks: Layout) -> list[float]:
    """Return the milliseconds to learn one sample and to predict one, as a trial does it."""
    clf = classifier(spec, blocks=blocks, classes=CLASSES)
    rng = np.random.default_rng(0)
    start, taught, learning = time.process_time(), 0, 0.0
    while taught < SAMPLES and time.process_time() - start < SECONDS:
        samples = rng.standard_normal((CHUNK, width), np.float32)
        labels = [f"label {number % CLASSES}" for number in range(CHUNK)]
        pairs = zip(samples, labels, strict=True)
        learning = _seconds(partial(teach_classifier, clf, pairs)) / CHUNK
        taught += CHUNK
    tests = rng.standard_normal((100, width), np.float32)
    clf.scores(tests)
    predicting = _seconds(partial(clf.scores, tests)) / len(tests)
    return [round(1e3 * learning, 3), round(1e3 * predicting, 3)]


def _seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


if __name__ == "__main__":
    main()
