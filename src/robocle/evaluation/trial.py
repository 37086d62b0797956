"""A trial: one method learns one stream and is asked; the benchmark is many of them.

A trial is plain text and numbers, so it can be sent to another process or machine and written into
a result; its key names it, so that a stopped run goes on where it was.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

from robocle.evaluation.datasets import dataset
from robocle.evaluation.embedding import View, backbone_facts, code_revision
from robocle.evaluation.scenarios import Scenario, scenario
from robocle.types import Example

# The code that decides a result; when it changes, trials are run again.
DECIDING = (
    *("classifiers", "pooling", "evaluation/corruptions", "images", "blas.py", "randomness.py"),
    *(
        "evaluation/scenarios.py",
        "evaluation/run.py",
        "evaluation/loop.py",
        "evaluation/evaluation_set.py",
        "evaluation/metrics.py",
    ),
)
# And what an examination says besides.
EXAMINING = ("recognition", "evaluation/open_set.py")


@dataclass(frozen=True)
class Trial:
    """All that decides a result, and nothing else."""

    dataset: str
    root: str
    scenario: str
    seed: int
    backbone: str
    pooling: str
    classifier: str
    taught: str = "clean"
    tested: tuple[str, ...] = ("clean",)
    corruption_seed: int = 0
    each_step: bool = True
    """Whether to ask after each step, or only at the end."""
    views: str = "plain"
    """What is made of a picture that is taught."""
    examined: bool = False
    """Whether to ask how sure it is, and about things that were not taught."""

    @property
    def data(self) -> str:
        """A short hash of the data set's listing: other pictures, another trial."""
        return _listing_hash(self.dataset, self.root)

    @property
    def key(self) -> str:
        """A name for this trial: the same plan, pictures and code, wherever the data lie."""
        plan = {name: value for name, value in asdict(self).items() if name != "root"}
        fingerprint = backbone_facts(self.backbone).fingerprint
        deciding = (*DECIDING, *(EXAMINING if self.examined else ()))
        plan |= {"data": self.data, "fingerprint": fingerprint, "code": code_revision(*deciding)}
        return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()[:16]

    def view(self, corruption: str) -> View:
        """How this trial looks at pictures under a corruption."""
        return View(self.backbone, corruption, self.corruption_seed)

    @property
    def lesson_view(self) -> View:
        """How this trial looks at the pictures that are taught."""
        return replace(self.view(self.taught), views=self.views)

    def stream(self) -> Scenario:
        """What is taught and asked, in order."""
        return _stream(self.dataset, self.root, self.scenario, self.seed)


@lru_cache(maxsize=64)
def _stream(dataset: str, root: str, plan: str, seed: int) -> Scenario:
    return scenario(plan).stream(_examples(dataset, root), seed)


@lru_cache(maxsize=2)
def _examples(spec: str, root: str) -> Sequence[Example]:
    return dataset(spec).examples(Path(root) if root else None)


@lru_cache(maxsize=64)
def _listing_hash(dataset: str, root: str) -> str:
    examples = _examples(dataset, root)
    base = Path(root) if root else examples[0].path.parents[2]
    lines = [
        f"{e.label} {e.path.relative_to(base).as_posix()} {e.path.stat().st_size}" for e in examples
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Needed:
    """Pictures that a trial needs to be embedded."""

    view: View
    pooling: str
    paths: tuple[Path, ...]


def needed_by(trial: Trial) -> list[Needed]:
    """Which pictures under which views a trial needs."""
    stream = trial.stream()
    taught = tuple(example.path for step in stream.steps for example in step)
    asked = tuple(dict.fromkeys(e.path for test in stream.tests.values() for e in test))
    wanted = [Needed(trial.lesson_view, trial.pooling, taught)]
    wanted += [Needed(trial.view(each), trial.pooling, asked) for each in trial.tested]
    return wanted
