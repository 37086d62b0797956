"""Running the demo: several learners see the same pictures, each picture once.

The backbone runs once a picture; each learner's pooling and classifier work on the same maps.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from robocle.backbones import backbone
from robocle.classifiers import classifier
from robocle.demo.pictures import CONDITIONS, DemoPicture, home_pictures
from robocle.images import to_pixels
from robocle.images.views import views
from robocle.learner import (
    DEFAULT_BACKBONE,
    DEFAULT_CLASSIFIER,
    DEFAULT_POOLING,
    DEFAULT_VIEWS,
)
from robocle.pooling import pooling

PUBLISHED_SLDA = "slda:scatter=published,shrinkage=1e-4"

Progress = Callable[[Sequence[DemoPicture], str], Iterable[DemoPicture]]


@dataclass(frozen=True)
class Method:
    """A pooling and a classifier under the name people know them by."""

    name: str
    pooling: str
    classifier: str
    views: str = "plain"


METHODS = (
    Method("NCM", "avg", "ncm"),
    Method("SLDA", "avg", PUBLISHED_SLDA),
    Method("RobOCLe, as printed", "moments:r=3,form=standardised", PUBLISHED_SLDA),
    Method("RobOCLe, rooted", "moments:r=3,form=root", PUBLISHED_SLDA),
    Method("robocle default", DEFAULT_POOLING, DEFAULT_CLASSIFIER, DEFAULT_VIEWS),
)


@dataclass(frozen=True)
class Outcome:
    """What one method answered to every question, and what it cost."""

    method: Method
    answers: tuple[str, ...]
    milliseconds_to_teach: float
    milliseconds_to_answer: float
    state_bytes: int


@dataclass(frozen=True)
class DemoResult:
    """All that the report shows."""

    taught: tuple[DemoPicture, ...]
    asked: tuple[DemoPicture, ...]
    outcomes: tuple[Outcome, ...]
    milliseconds_to_see: float
    seconds: float

    def accuracy(self, outcome: Outcome, condition: str, *, other_thing: bool) -> float:
        """The share of right answers, in percent, under one condition."""
        return 100 * mean(
            answer == picture.category
            for answer, picture in zip(outcome.answers, self.asked, strict=True)
            if picture.condition == condition and picture.is_other_thing == other_thing
        )

    def changed_mean(self, outcome: Outcome, *, other_thing: bool) -> float:
        """The mean over all conditions but the one that was taught."""
        return mean(
            self.accuracy(outcome, condition, other_thing=other_thing)
            for condition in CONDITIONS[1:]
        )


def run_demo(progress: Progress) -> DemoResult:
    """Teach every method the taught pictures and ask it all others."""
    start = time.perf_counter()
    pictures = home_pictures()
    network = backbone(DEFAULT_BACKBONE)
    vectors: dict[Method, list[NDArray[np.float32]]] = {method: [] for method in METHODS}
    for picture in progress(pictures, "looking at the pictures"):
        pixels = to_pixels(picture.path, network.input_size)
        maps = {"plain": network.features(pixels[None])}
        if picture.is_taught:
            taught_views = {method.views for method in METHODS} - maps.keys()
            maps |= {spec: network.features(views(spec)(pixels)) for spec in taught_views}
        for method, found in vectors.items():
            seen = maps[method.views if picture.is_taught else "plain"]
            found.append(pooling(method.pooling)(seen).mean(axis=0))
    seeing = (time.perf_counter() - start) / len(pictures)
    outcomes = tuple(_outcome(method, pictures, found) for method, found in vectors.items())
    return DemoResult(
        tuple(picture for picture in pictures if picture.is_taught),
        tuple(picture for picture in pictures if not picture.is_taught),
        outcomes,
        milliseconds_to_see=1e3 * seeing,
        seconds=time.perf_counter() - start,
    )


def _outcome(
    method: Method,
    pictures: Sequence[DemoPicture],
    vectors: Sequence[NDArray[np.float32]],
) -> Outcome:
    clf = classifier(method.classifier, blocks=pooling(method.pooling).blocks)
    seen = list(zip(pictures, vectors, strict=True))
    lessons = [(vector, picture.category) for picture, vector in seen if picture.is_taught]
    questions = [vector for picture, vector in seen if not picture.is_taught]
    start = time.perf_counter()
    for vector, category in lessons:
        clf.learn(vector, category)
    taught = time.perf_counter()
    rows = [int(clf.scores(vector[None]).argmax()) for vector in questions]
    answered = time.perf_counter()
    return Outcome(
        method,
        tuple(clf.labels[row] for row in rows),
        milliseconds_to_teach=1e3 * (taught - start) / len(lessons),
        milliseconds_to_answer=1e3 * (answered - taught) / len(questions),
        state_bytes=sum(array.nbytes for array in clf.state().arrays.values()),
    )
