"""Running the demo: several methods are taught and tested on the same pictures.

The backbone runs once per picture and views; the pooling and the classifier of every method work on
the same feature maps.

The default learner is also tested on objects that it was not taught. The objects are divided into
three parts, and in each of three rounds one part is not taught. So every object is unknown in one
round and taught in the other two.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from robocle.backbones import Backbone, backbone, earlier_channels
from robocle.classifiers import classifier
from robocle.demo import CONDITIONS, DemoPicture, home_pictures
from robocle.evaluation.experiment import Method
from robocle.evaluation.metrics import accuracy, avg_other_domain
from robocle.evaluation.teach_and_test import evaluate, teach_classifier
from robocle.images import to_pixels
from robocle.images.views import views
from robocle.learner import Learner
from robocle.learner.pipeline import feature_maps, pooled
from robocle.poolings import block_layout, pooling
from robocle.profiles import DEFAULT
from robocle.types import Embeddings, Prediction

PUBLISHED_SLDA = "slda:scatter=published,shrinkage=1e-4"
METHODS = (
    Method("NCM", "avg", "ncm"),
    Method("SLDA", "avg", PUBLISHED_SLDA),
    Method("RobOCLe, as printed", "moments:r=3,form=standardised", PUBLISHED_SLDA),
    Method("RobOCLe, root", "moments:r=3,form=root", PUBLISHED_SLDA),
    Method(
        "robocle default",
        DEFAULT.pooling,
        DEFAULT.classifier,
        DEFAULT.views,
        DEFAULT.prediction_views,
    ),
)
ROUNDS = 3
Kind = Literal["not taught", "taught", "other object"]
Outcome = Literal["right", "unknown", "wrong"]
KINDS: dict[Kind, str] = {
    "not taught": "objects that were not taught",
    "taught": "the taught objects",
    "other object": "other objects of the taught categories",
}
"""Why each picture is known or unknown, in words."""
Progress = Callable[[Sequence[DemoPicture], str], Iterable[DemoPicture]]


@dataclass(frozen=True)
class MethodResult:
    """The predictions of one method and what they cost.

    Attributes:
        method: The method.
        predicted: One label per test picture.
        milliseconds_to_teach: Per taught picture, without the backbone and the pooling.
        milliseconds_to_predict: Per test picture, without the backbone and the pooling.
        state_bytes: The size of the classifier's state.
    """

    method: Method
    predicted: tuple[str, ...]
    milliseconds_to_teach: float
    milliseconds_to_predict: float
    state_bytes: int


@dataclass(frozen=True)
class OpenSetTest:
    """The prediction for one test picture in one round.

    Attributes:
        picture: The picture.
        kind: Whether its category was taught, and if so, whether it shows the taught object.
        prediction: The prediction, at the default rate.
    """

    picture: DemoPicture
    kind: Kind
    prediction: Prediction

    @property
    def outcome(self) -> Outcome:
        """Whether the object was called unknown and, if not, whether its label is right."""
        if self.prediction.label is None:
            return "unknown"
        return "right" if self.prediction.label == self.picture.category else "wrong"


@dataclass(frozen=True)
class DemoResult:
    """The result of the demo.

    Attributes:
        taught: The pictures that were taught.
        tested: The test pictures.
        methods: One result per method; the default parts come last.
        open_set: Tests of the default learner with some objects not taught.
        milliseconds_to_embed: The mean time per picture for the backbone and all poolings.
        seconds: How long the demo took.
    """

    taught: tuple[DemoPicture, ...]
    tested: tuple[DemoPicture, ...]
    methods: tuple[MethodResult, ...]
    open_set: tuple[OpenSetTest, ...]
    milliseconds_to_embed: float
    seconds: float

    def accuracies(self, result: MethodResult, *, other_instance: bool) -> dict[str, float]:
        """Return the accuracy of a method by condition, in percent.

        Args:
            result: The result of the method.
            other_instance: Whether to evaluate pictures of other instances of the taught
                categories, or pictures of the taught instances.
        """
        pairs: dict[str, list[tuple[str, str]]] = {condition: [] for condition in CONDITIONS}
        for picture, predicted in zip(self.tested, result.predicted, strict=True):
            if picture.is_other_instance == other_instance:
                pairs[picture.condition].append((picture.category, predicted))
        return {each: accuracy(*zip(*found, strict=True)) for each, found in pairs.items()}

    def mean_of_others(self, result: MethodResult, *, other_instance: bool) -> float:
        """Return the mean accuracy over the conditions that were not taught, in percent."""
        accuracies = self.accuracies(result, other_instance=other_instance)
        return avg_other_domain(list(accuracies.values()), trained_on=0)

    def share(self, outcome: Outcome, kind: Kind, condition: str = "") -> float:
        """Return how many pictures of a kind have an outcome in the open-set tests, in percent.

        Args:
            outcome: Right, unknown or wrong.
            kind: Objects that were not taught, the taught ones, or others of their categories.
            condition: The condition; all if it is empty.
        """
        found = [
            test.outcome == outcome
            for test in self.open_set
            if test.kind == kind and condition in ("", test.picture.condition)
        ]
        return 100 * sum(found) / len(found)

    def count(self, *, other_instance: bool) -> int:
        """Return the number of test pictures of the taught instances, or of other instances."""
        return sum(picture.is_other_instance == other_instance for picture in self.tested)


def run_demo(progress: Progress) -> DemoResult:
    """Teach every method the taught pictures and evaluate it on the test pictures.

    Args:
        progress: Called with the pictures and what is done to them; yields the same pictures.
    """
    start = time.perf_counter()
    network = backbone(DEFAULT.backbone)
    pictures = home_pictures()
    embeddings: dict[Method, list[Embeddings]] = {method: [] for method in METHODS}
    for picture in progress(pictures, "embedding the pictures"):
        for method, embedding in _embedded(picture, network).items():
            embeddings[method].append(embedding)
    embedding_seconds = time.perf_counter() - start
    channels = earlier_channels(network)
    methods = tuple(_evaluated(each, channels, pictures, embeddings[each]) for each in METHODS)
    return DemoResult(
        tuple(picture for picture in pictures if picture.is_taught),
        tuple(picture for picture in pictures if not picture.is_taught),
        methods,
        run_open_set(network, pictures, embeddings[METHODS[-1]]),
        milliseconds_to_embed=1e3 * embedding_seconds / len(pictures),
        seconds=time.perf_counter() - start,
    )


def _embedded(picture: DemoPicture, network: Backbone) -> dict[Method, Embeddings]:
    """The embedding (1, width) of a picture by each method."""
    pixels = to_pixels(picture.path, network.input_size)
    views_of = {m: m.views if picture.is_taught else m.prediction_views for m in METHODS}
    maps = {spec: feature_maps(network, views(spec), [pixels]) for spec in set(views_of.values())}
    return {m: pooled(pooling(m.pooling), maps[views_of[m]], 1) for m in METHODS}


def _evaluated(
    method: Method, channels: int, pictures: Sequence[DemoPicture], embeddings: Sequence[Embeddings]
) -> MethodResult:
    blocks = block_layout(pooling(method.pooling), channels)
    clf = classifier(method.classifier, blocks=blocks)
    pairs = list(zip(pictures, embeddings, strict=True))
    taught = [(rows[0], picture.category) for picture, rows in pairs if picture.is_taught]
    tests = [(rows, [picture.category]) for picture, rows in pairs if not picture.is_taught]
    seconds = teach_classifier(clf, taught)
    found = evaluate(clf.predict, tests)
    return MethodResult(
        method,
        found.predicted,
        milliseconds_to_teach=1e3 * seconds / len(taught),
        milliseconds_to_predict=1e3 * found.seconds / len(tests),
        state_bytes=clf.state().nbytes,
    )


def run_open_set(
    network: Backbone, pictures: Sequence[DemoPicture], embeddings: Sequence[Embeddings]
) -> tuple[OpenSetTest, ...]:
    """Teach and test the default learner in all rounds.

    Args:
        network: The backbone that computed the embeddings.
        pictures: All pictures of the demo.
        embeddings: The embedding (1, width) of each picture by the default learner.
    """
    categories = sorted({picture.category for picture in pictures})
    pairs = [(picture, rows[0]) for picture, rows in zip(pictures, embeddings, strict=True)]
    tests: list[OpenSetTest] = []
    for number in range(ROUNDS):
        held_out = frozenset(categories[number::ROUNDS])
        learner = Learner(network)
        for picture, embedding in pairs:
            if picture.is_taught and picture.category not in held_out:
                learner.teach_embedding(embedding, picture.category)
        tests += [
            OpenSetTest(picture, _kind(picture, held_out), learner.predict_embedding(embedding))
            for picture, embedding in pairs
            if not picture.is_taught
        ]
    return tuple(tests)


def _kind(picture: DemoPicture, held_out: frozenset[str]) -> Kind:
    if picture.category in held_out:
        return "not taught"
    return "other object" if picture.is_other_instance else "taught"
