"""Computing the world of a backbone: from a folder of pictures, or from the shipped home.

The pictures are embedded as pictures to recognise are: the world stands for what a camera sees when
none of the taught objects is in front of it. How objects score that are seen again is measured on
the shipped home, with objects taught in clean pictures and seen in other light, pose and blur.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from robocle.backbones import Backbone
from robocle.backbones.world import FEWEST, SeenAgain, World
from robocle.classifiers import CLASSIFIERS
from robocle.classifiers.slda import StreamingLDA
from robocle.embedding import Embedder
from robocle.errors import DataError, ImageError
from robocle.evaluation.datasets.home import Home
from robocle.images import Picture
from robocle.images.folders import pictures_under
from robocle.images.nothing import pictures_of_nothing
from robocle.pipeline import Pipeline
from robocle.pooling import POOLINGS
from robocle.profiles import DEFAULT
from robocle.randomness import keyed_rng
from robocle.recognition.temperature import best_temperature
from robocle.types import Embeddings, Example
from robocle.wording import plural

THINGS, NOTHING = 256, 63
"""The number of pictures of objects and of nothing in a world: it takes 3.3 MB for the default."""
SEVERAL = 5
"""Pictures taught per object, to measure how objects score that are seen again."""
PER_LABEL = 6
"""Pictures of each label of the home under other conditions: they are seen again, and they are the
objects of a world without a folder."""

Progress = Callable[[Iterable[Picture], str], Iterable[Picture]]


def build_world(
    network: Backbone,
    folder: Path | None = None,
    pooling: str = "",
    progress: Progress | None = None,
) -> World:
    """Compute the world of a backbone.

    Args:
        network: The backbone.
        folder: A folder of pictures of anything, with its subfolders. Without one, the shipped home
            is used, which is rendered: photographs are better.
        pooling: The spec of the pooling; empty for that of the default learner.
        progress: Shows the progress while pictures are embedded.

    Raises:
        DataError: The folder has too few pictures, or one that cannot be read.
        SpecError: The pooling is unknown.
    """
    pipeline = Pipeline.build(network, pooling or DEFAULT.pooling, DEFAULT.views)
    shown = progress or (lambda pictures, _: pictures)
    given = _embedded(pipeline, things_in(folder), shown, "world") if folder else None
    taught, again = _home()
    seen = _embedded(pipeline, [each.path for each in again], shown, "home")
    objects = seen if given is None else given
    side = network.input_size
    nothing = _embedded(pipeline, list(pictures_of_nothing(NOTHING, side)), shown, "nothing")
    rows = as_kept(np.vstack([objects, nothing]))
    return World(
        backbone=network.name,
        fingerprint=network.fingerprint,
        pooling=POOLINGS.describe(pipeline.pooling),
        pictures=rows,
        objects=len(objects),
        seen_again=_measured(pipeline, rows, taught, again, seen, shown),
        source=f"{len(objects)} pictures of {folder.name if folder else 'the rendered home'}",
    )


def as_kept(rows: Embeddings) -> Embeddings:
    """Return embeddings as the file of a world keeps them: rounded, unless they are too large."""
    rounded = rows.astype(np.float16).astype(np.float32)
    return rounded if np.isfinite(rounded).all() else rows


def things_in(folder: Path) -> list[Path]:
    """Return at most THINGS pictures of a folder and its subfolders, evenly spaced by name.

    Raises:
        DataError: There are fewer than FEWEST pictures.
    """
    found = pictures_under(folder)
    if len(found) < FEWEST:
        raise DataError(
            f"{folder} has {plural(len(found), 'picture')}, but a world needs {FEWEST}: give a "
            "folder with a few hundred pictures of anything"
        )
    wanted = min(len(found), THINGS)
    return [found[index * len(found) // wanted] for index in range(wanted)]


def _home() -> tuple[list[Example], list[Example]]:
    """Return pictures of the shipped home: those to teach, and the same labels seen again."""
    train: dict[str, list[Example]] = {}
    test: dict[str, list[Example]] = {}
    for each in Home().examples():
        (train if each.split == "train" else test).setdefault(each.label, []).append(each)
    taught = [each for label in train for each in train[label][:SEVERAL]]
    again = [
        test[label][place]
        for label in train
        for place in keyed_rng(0, "met again", label).permutation(len(test[label]))[:PER_LABEL]
    ]
    return taught, again


def _embedded(
    pipeline: Pipeline, pictures: Sequence[Picture], shown: Progress, what: str
) -> Embeddings:
    embedder = Embedder(pipeline, "prediction")
    rows = []
    for picture in shown(pictures, what):
        try:
            rows.append(embedder.embed(picture).values)
        except ImageError as error:
            raise DataError(f"{error}: take it out of the folder") from error
    return np.stack(rows)


def _measured(
    pipeline: Pipeline,
    world: Embeddings,
    taught: list[Example],
    again: list[Example],
    seen: Embeddings,
    shown: Progress,
) -> SeenAgain:
    """Return how objects of the home score that are seen again."""
    embedder = Embedder(pipeline, "teaching")
    rows = [embedder.embed(path).values for path in shown([e.path for e in taught], "home")]
    labels = [each.label for each in again]
    first = {each.label: row for each, row in reversed(list(zip(taught, rows, strict=True)))}
    once = _scored(pipeline, world, list(first), list(first.values()))
    several = _scored(pipeline, world, [each.label for each in taught], rows)
    right = np.array([several.labels.index(label) for label in labels])
    distance = _distance(several)
    return SeenAgain(
        once=_relative_familiarity(once, seen),
        several=_relative_familiarity(several, seen),
        temperature=best_temperature(several.scores(seen), right, distance) / distance,
    )


def _scored(
    pipeline: Pipeline, world: Embeddings, labels: list[str], rows: list[Embeddings]
) -> StreamingLDA:
    classifier = CLASSIFIERS.build(DEFAULT.classifier, blocks=pipeline.blocks)
    assert isinstance(classifier, StreamingLDA)
    classifier.use_world(world)
    for row, label in zip(rows, labels, strict=True):
        classifier.learn(row, label)
    return classifier


def _relative_familiarity(classifier: StreamingLDA, seen: Embeddings) -> float:
    """Return the median familiarity of pictures, relative to the distance of the class means."""
    found = classifier.answer().scores_and_familiarity(np.asarray(seen, np.float64))[1]
    return float(np.median(found) / _distance(classifier))


def _distance(classifier: StreamingLDA) -> float:
    """Return the mean distance of the class means from the origin of the familiarity."""
    return float(classifier.answer().familiarity_lengths.mean())
