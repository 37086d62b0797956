"""Computing the world of a backbone: from a folder of pictures, or from the shipped home.

The pictures are embedded as pictures to recognise are: the world stands for what a camera sees when
none of the taught objects is in front of it. Two constants are measured on the shipped home, with
objects taught in clean pictures and seen again in other light, pose and blur.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from robocle._internal.randomness import keyed_rng
from robocle._internal.wording import plural
from robocle.backbones import Backbone
from robocle.backbones.world import FEWEST, World
from robocle.classifiers import CLASSIFIERS
from robocle.classifiers.slda import StreamingLDA
from robocle.errors import DataError, ImageError
from robocle.evaluation.datasets.home import Home
from robocle.evaluation.scenarios import evenly_spaced
from robocle.images import Picture
from robocle.images.folders import pictures_under
from robocle.images.nothing import pictures_of_nothing
from robocle.images.views import VIEWS
from robocle.learner.embedding import Embedder, Purpose
from robocle.learner.pipeline import Pipeline
from robocle.poolings import POOLINGS
from robocle.profiles import DEFAULT
from robocle.recognition.temperature import best_temperature
from robocle.types import Embeddings

OBJECTS, NOTHING = 256, 63
"""The number of pictures of objects and of nothing in a world: it takes 3.3 MB for the default."""
SEVERAL = 5
"""Pictures taught per object, to measure how objects score that are seen again."""
PURPOSES: tuple[Purpose, Purpose] = ("prediction", "teaching")
PER_LABEL = 6
"""Pictures of each label of the home under other conditions: they are seen again, and they are the
objects of a world without a folder."""

Progress = Callable[[Iterable[Picture], str], Iterable[Picture]]


def build_world(
    network: Backbone,
    folder: Path | None = None,
    pooling: str = "",
    views: str = DEFAULT.prediction_views,
    progress: Progress | None = None,
) -> World:
    """Compute the world of a backbone.

    Args:
        network: The backbone.
        folder: A folder of pictures of anything, with its subfolders. Without one, the shipped home
            is used, which is rendered: photographs are better.
        pooling: The spec of the pooling; empty for that of the default learner.
        views: The spec of the views of pictures to recognise.
        progress: Shows the progress while pictures are embedded.

    Raises:
        DataError: The folder has too few pictures, or one that cannot be read.
        SpecError: The pooling is unknown.
    """
    pipeline = Pipeline.build(network, pooling or DEFAULT.pooling, DEFAULT.views, views)
    shown = progress or (lambda pictures, _: pictures)
    given = _embedded(pipeline, objects_in(folder), shown, "world") if folder else None
    home = _Home.shipped()
    seen = _embedded(pipeline, home.elsewhere, shown, "home")
    objects = seen if given is None else given
    side = network.input_size
    nothing = _embedded(pipeline, list(pictures_of_nothing(NOTHING, side)), shown, "nothing")
    rows = as_kept(np.vstack([objects, nothing]))
    temperature, gain = _measured(pipeline, rows, home, seen, shown)
    return World(
        backbone=network.name,
        fingerprint=network.fingerprint,
        pooling=POOLINGS.describe(pipeline.pooling),
        views=VIEWS.describe(pipeline.prediction_views),
        pictures=rows,
        objects=len(objects),
        temperature=temperature,
        gain=gain,
        source=f"{len(objects)} pictures of {folder.name if folder else 'the rendered home'}",
    )


def as_kept(rows: Embeddings) -> Embeddings:
    """Return embeddings as the file of a world keeps them: rounded, unless they are too large."""
    rounded = rows.astype(np.float16).astype(np.float32)
    return rounded if np.isfinite(rounded).all() else rows


def objects_in(folder: Path) -> list[Path]:
    """Return at most OBJECTS pictures of a folder and its subfolders, evenly spaced by name.

    Raises:
        DataError: There are fewer than FEWEST pictures.
    """
    found = pictures_under(folder)
    if len(found) < FEWEST:
        raise DataError(
            f"{folder} has {plural(len(found), 'picture')}, but a world needs {FEWEST}: give a "
            "folder with a few hundred pictures of anything"
        )
    return evenly_spaced(found, OBJECTS)


@dataclass(frozen=True)
class _Home:
    """Pictures of the shipped home: the same number of each label, in the order of the labels."""

    taught: list[Picture]
    again: list[Picture]
    """Further pictures like those that are taught."""
    elsewhere: list[Picture]
    """Pictures of the same labels under other conditions."""
    labels: list[str]

    @classmethod
    def shipped(cls) -> "_Home":
        """Return the pictures of the home that comes with robocle."""
        train: dict[str, list[Picture]] = {}
        test: dict[str, list[Picture]] = {}
        for each in Home().examples():
            (train if each.split == "train" else test).setdefault(each.label, []).append(each.path)
        orders = {
            label: keyed_rng(0, "met again", label).permutation(len(test[label])) for label in train
        }
        return cls(
            [path for label in train for path in train[label][:SEVERAL]],
            [path for label in train for path in train[label][SEVERAL:]],
            [test[label][place] for label in train for place in orders[label][:PER_LABEL]],
            list(train),
        )


def _embedded(
    pipeline: Pipeline,
    pictures: Sequence[Picture],
    shown: Progress,
    what: str,
    purpose: Purpose = "prediction",
) -> Embeddings:
    embedder = Embedder(pipeline, purpose)
    rows = []
    for picture in shown(pictures, what):
        try:
            rows.append(embedder.embed(picture).values)
        except ImageError as error:
            raise DataError(f"{error}: take it out of the folder") from error
    return np.stack(rows)


def _measured(
    pipeline: Pipeline, world: Embeddings, home: _Home, elsewhere: Embeddings, shown: Progress
) -> tuple[float, float]:
    """Return the temperature and the gain of a world.

    Args:
        pipeline: The pipeline.
        world: The pictures of the world.
        home: The pictures of the home.
        elsewhere: The embeddings of those under other conditions.
        shown: Shows the progress.
    """
    classifier = CLASSIFIERS.build(DEFAULT.classifier, blocks=pipeline.blocks)
    assert isinstance(classifier, StreamingLDA)
    classifier.use_world(world)
    rows = _embedded(pipeline, home.taught, shown, "home", "teaching")
    for row, label in zip(rows, np.repeat(home.labels, SEVERAL).tolist(), strict=True):
        classifier.learn(row, label)
    distance = float(classifier.answer().familiarity_lengths.mean())
    right = np.repeat(np.arange(len(home.labels)), PER_LABEL)
    temperature = best_temperature(classifier.scores(elsewhere), right, distance) / distance
    seen, taught = (
        _familiarity(classifier, _embedded(pipeline, home.again, shown, "home", purpose))
        for purpose in PURPOSES
    )
    return temperature, seen / taught if min(seen, taught) > 0 else 1.0


def _familiarity(classifier: StreamingLDA, seen: Embeddings) -> float:
    """Return the median familiarity of pictures."""
    found = classifier.answer().scores_and_familiarity(np.asarray(seen, np.float64))[1]
    return float(np.median(found))
