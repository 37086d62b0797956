"""Trials: one method learns one ordering of one data set and is tested.

A trial is plain text and numbers, so it can be sent to another process or machine and written into
a result. Its key identifies it, so that an interrupted run can be continued.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle._internal.randomness import keyed_rng
from robocle.backbones.world import World, used_world, world_of
from robocle.classifiers import StreamingClassifier, classifier
from robocle.errors import DataError
from robocle.evaluation.corruptions import corruption
from robocle.evaluation.datasets import dataset
from robocle.evaluation.embedding import EmbeddingSetup, backbone_facts
from robocle.evaluation.keys import code_of, content_hashes, key, versions
from robocle.evaluation.scenarios import Stream, scenario
from robocle.images.views import VIEWS
from robocle.poolings import POOLINGS, block_layout
from robocle.types import Example

DECIDING = ("robocle.evaluation.run_trial",)
LIBRARIES = ("numpy", "onnxruntime", "pillow", "scipy")


@dataclass(frozen=True)
class Trial:
    """Everything that decides a result, and nothing else. Parts are given by their specs."""

    dataset: str
    root: str
    """The folder of the data set; "" for pictures that come with robocle."""
    scenario: str
    seed: int
    """Decides the ordering: which pictures are taught, and when."""
    backbone: str
    pooling: str
    classifier: str
    taught: str = "clean"
    """The corruption of the taught pictures."""
    tested: tuple[str, ...] = ("clean",)
    """The corruptions of the test pictures."""
    corruption_seed: int = 0
    evaluate_each_step: bool = True
    """Whether to evaluate after each step or only at the end."""
    views: str = "plain"
    """The views of a taught picture."""
    prediction_views: str = "plain"
    """The views of a test picture."""
    open_set: bool = False
    """Whether to evaluate confidence and the rejection of unknown objects."""

    @property
    def data(self) -> str:
        """The key of the data set: of all that is recorded of each picture, and its content."""
        return _data(self.dataset, self.root)

    @property
    def facts(self) -> dict[str, Any]:
        """The trial as it is recorded, wherever the data are stored."""
        return asdict(self) | {"root": "", "data": self.data}

    @property
    def revision(self) -> dict[str, Any]:
        """What decides the result besides the specs and the data."""
        world = self.world(self.new_classifier()) if self.classifier else None
        return {
            "code": self._code(),
            "fingerprint": backbone_facts(self.backbone).fingerprint,
            "world": _identity(world) if world else "",
            "libraries": versions(*LIBRARIES),
        }

    @property
    def key(self) -> str:
        """The identity of this trial: parts, pictures and code, wherever the data are stored."""
        return key(self.facts, self.revision)[:16]

    def new_classifier(self) -> StreamingClassifier:
        """Return the classifier, which has learned nothing yet.

        Options that the spec leaves open follow from the trial: the blocks of the pooling, the
        number of classes of the data set, and a seed of its own for each ordering.
        """
        channels = backbone_facts(self.backbone).earlier_channels
        return classifier(
            self.classifier,
            blocks=block_layout(POOLINGS.build(self.pooling), channels),
            classes=len({e.label for e in _examples(self.dataset, self.root).values()}),
            seed=int(keyed_rng(self.seed, "classifier").integers(2**63)),
        )

    def world(self, clf: StreamingClassifier) -> World | None:
        """Return the world of the backbone and the pooling, if the classifier uses it."""
        described = POOLINGS.describe(POOLINGS.build(self.pooling))
        views = VIEWS.describe(VIEWS.build(self.prediction_views))
        network = backbone_facts(self.backbone)
        return used_world(clf, network.name, network.fingerprint, described, views)

    def _code(self) -> str:
        parts: list[object] = [
            dataset(self.dataset),
            scenario(self.scenario),
            POOLINGS.build(self.pooling),
            *(VIEWS.build(spec) for spec in (self.views, self.prediction_views)),
            *(corruption(spec) for spec in (self.taught, *self.tested)),
            *([classifier(self.classifier)] if self.classifier else []),
        ]
        kinds = (type(part) for part in parts)
        return code_of(backbone_facts(self.backbone).kind, *kinds, also=DECIDING)

    def test_setup(self, corruption: str) -> EmbeddingSetup:
        """Return how test pictures are embedded under a corruption."""
        return EmbeddingSetup(
            self.backbone, corruption, self.corruption_seed, self.prediction_views
        )

    @property
    def teaching_setup(self) -> EmbeddingSetup:
        """How taught pictures are embedded."""
        return replace(self.test_setup(self.taught), views=self.views)

    def stream(self) -> Stream:
        """Return the pictures to teach, in order, and those to test.

        Raises:
            DataError: The data set is missing or too small for the scenario.
        """
        return _stream(self.dataset, self.root, self.scenario, self.seed)

    def places(self, examples: Iterable[Example]) -> NDArray[np.int64]:
        """Return the place of each picture in the listing of the data set."""
        listed = _examples(self.dataset, self.root)
        places = {path: place for place, path in enumerate(listed)}
        return np.array([places[example.path] for example in examples], np.int64)

    def pictures(self) -> Iterator[tuple[EmbeddingSetup, Iterable[Path]]]:
        """Yield the pictures that must be embedded, by how they are embedded."""
        stream = self.stream()
        yield self.teaching_setup, [example.path for example in stream.taught]
        tested = list(dict.fromkeys(example.path for example in stream.tested))
        yield from ((self.test_setup(corruption), tested) for corruption in self.tested)


@lru_cache(maxsize=64)
def _stream(dataset: str, root: str, plan: str, seed: int) -> Stream:
    return scenario(plan).stream(_examples(dataset, root).values(), seed)


@lru_cache(maxsize=2)
def _examples(spec: str, root: str) -> dict[Path, Example]:
    return {each.path: each for each in dataset(spec).examples(_folder(spec, root))}


def _folder(spec: str, root: str) -> Path:
    folder = Path(root) if root else dataset(spec).default_root
    if folder is None:
        raise DataError(f"the data set {spec} needs the folder that holds it: give a root")
    return folder


@lru_cache(maxsize=64)
def _data(dataset: str, root: str) -> str:
    folder = _folder(dataset, root)
    examples = _examples(dataset, root)
    hashes = content_hashes(folder, examples)
    listed = (
        (e.path.relative_to(folder).as_posix(), e.label, e.split, e.instance, e.domain, e.video)
        for e in examples.values()
    )
    return key(*zip(listed, hashes, strict=True))[:12]


@lru_cache(maxsize=8)
def _identity(world: World) -> str:
    return world.identity[:16]


def forget_data() -> None:
    """Drop what this process remembers of data sets and worlds: they may have changed."""
    for remembered in (_stream, _examples, _data, world_of):
        remembered.cache_clear()
