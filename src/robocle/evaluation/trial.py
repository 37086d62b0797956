"""Trials: one method learns one ordering of one data set and is tested.

A trial is plain text and numbers, so it can be sent to another process or machine and written into
a result. Its key identifies it, so that an interrupted run can be continued.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

from robocle.errors import DataError
from robocle.evaluation.datasets import dataset
from robocle.evaluation.embedding import DECIDING as DECIDING_EMBEDDINGS
from robocle.evaluation.embedding import EmbeddingSetup, backbone_facts
from robocle.evaluation.embedding_cache import code_revision
from robocle.evaluation.scenarios import Stream, scenario
from robocle.types import Example

# The code that decides a result. When it changes, trials are run again.
DECIDING = (
    *DECIDING_EMBEDDINGS,
    *("_internal/blas.py", "backbones/world.py", "classifiers"),
    *("evaluation/embedding.py", "evaluation/evaluation_set.py", "evaluation/metrics"),
    *("evaluation/run_trial.py", "evaluation/scenarios", "evaluation/teach_and_test.py"),
)
DECIDING_OPEN_SET = ("recognition",)


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
        """A short hash of the data set's listing: with other pictures it is another trial."""
        return _listing_hash(self.dataset, self.root)

    @property
    def classes(self) -> int:
        """The number of classes of the data set, taught or not."""
        return len({example.label for example in _examples(self.dataset, self.root)})

    @property
    def key(self) -> str:
        """The identity of this trial: parts, pictures and code, wherever the data are stored."""
        plan = {name: value for name, value in asdict(self).items() if name != "root"}
        deciding = (*DECIDING, *(DECIDING_OPEN_SET if self.open_set else ()))
        plan |= {
            "data": self.data,
            "fingerprint": backbone_facts(self.backbone).fingerprint,
            "code": code_revision(*deciding),
        }
        return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()[:16]

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

    def pictures(self) -> Iterator[tuple[EmbeddingSetup, Iterable[Path]]]:
        """Yield the pictures that must be embedded, by how they are embedded."""
        stream = self.stream()
        yield self.teaching_setup, [example.path for example in stream.taught]
        tested = list(dict.fromkeys(example.path for example in stream.tested))
        yield from ((self.test_setup(corruption), tested) for corruption in self.tested)


@lru_cache(maxsize=64)
def _stream(dataset: str, root: str, plan: str, seed: int) -> Stream:
    return scenario(plan).stream(_examples(dataset, root), seed)


@lru_cache(maxsize=2)
def _examples(spec: str, root: str) -> Sequence[Example]:
    return dataset(spec).examples(_folder(spec, root))


def _folder(spec: str, root: str) -> Path:
    folder = Path(root) if root else dataset(spec).default_root
    if folder is None:
        raise DataError(f"the data set {spec} needs the folder that holds it: give a root")
    return folder


@lru_cache(maxsize=64)
def _listing_hash(dataset: str, root: str) -> str:
    folder = _folder(dataset, root)
    lines = [
        f"{e.label} {e.path.relative_to(folder).as_posix()} {e.path.stat().st_size}"
        for e in _examples(dataset, root)
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
