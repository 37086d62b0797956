"""The content of a folder of data, its missing parts, and the experiments that it suffices for.

No picture is opened: a file that is empty is reported, one that is damaged is not.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable

from robocle.errors import DataError
from robocle.evaluation.datasets import dataset
from robocle.evaluation.datasets.openloris import level_of
from robocle.evaluation.experiment_file import load_experiment
from robocle.evaluation.paper import PAPER_TABLES, other_data
from robocle.evaluation.scenarios import Stream, scenario
from robocle.spec import parse_spec
from robocle.types import Example

FEW_SHOTS = ("class_iid:shots=5", "class_iid:shots=10", "class_iid:shots=1")
OF_VIDEOS = ("new_classes", "instance", "low_shot_instance")
Counts = dict[str, tuple[int, int, int]]
"""The numbers of pictures, of objects (0 if they are not known) and of classes by a name."""


@runtime_checkable
class Complete(Protocol):
    """A data set that knows what a complete copy holds."""

    def missing(self, examples: list[Example]) -> list[str]:
        """Return what a copy lacks."""


@dataclass(frozen=True)
class Runnable:
    """Whether a study of an experiment can be run with some data."""

    experiment: str
    study: str
    reason: str = ""
    """Why not."""
    caution: str = ""
    """How the data differ from those of the paper."""
    taught: int = 0
    """The pictures of the first ordering."""
    tested: int = 0


@dataclass(frozen=True)
class DataCheck:
    """The content of a folder of data.

    Attributes:
        spec: The data set.
        root: Its folder.

    Raises:
        DataError: The folder is missing or has another layout.
    """

    spec: str
    root: Path

    @cached_property
    def examples(self) -> list[Example]:
        """All pictures."""
        return dataset(self.spec).examples(self.root)

    @property
    def missing(self) -> list[str]:
        """What a complete copy has and this one lacks, where that is known."""
        checked = dataset(self.spec)
        return checked.missing(self.examples) if isinstance(checked, Complete) else []

    @property
    def empty(self) -> list[Path]:
        """The files without content, which an interrupted copy leaves behind."""
        return [each.path for each in self.examples if not os.path.getsize(each.path)]

    @property
    def counts(self) -> dict[str, Counts]:
        """The counts by split, domain, level, class and object, where there are several."""
        kinds = {
            "split": [each.split for each in self.examples],
            "domain": [each.domain for each in self.examples],
            "level": [_level(self.spec, each) for each in self.examples],
            "class": [each.label for each in self.examples],
            "object": [each.instance for each in self.examples],
        }
        return {kind: self._counted(names) for kind, names in kinds.items() if len(set(names)) > 1}

    def _counted(self, names: Sequence[str]) -> Counts:
        groups: dict[str, list[Example]] = {}
        for name, example in zip(names, self.examples, strict=True):
            groups.setdefault(name, []).append(example)
        return {name: _sizes(groups[name]) for name in sorted(groups)}

    @property
    def runnable(self) -> list[Runnable]:
        """The studies of the paper's tables that use these data, or what can be run with any."""
        name = parse_spec(self.spec).name
        of_paper = [
            self._tried(table, study.name, study.dataset, study.scenario, study.paper["dataset"])
            for table in PAPER_TABLES
            for study in load_experiment(table).studies
            if study.dataset_name == name
        ]
        return of_paper or [
            self._tried("comparison", plan, self.spec, plan, "") for plan in self._plans
        ]

    @property
    def _plans(self) -> list[str]:
        """The scenarios for data that are not the paper's, the most fitting ones first."""
        domains = sorted({each.domain for each in self.examples if each.domain})
        of_domains = [f"cross_domain:shots=5,domain={domains[0]}"] if len(domains) > 1 else []
        of_videos = OF_VIDEOS if all(each.video for each in self.examples) else ()
        return [*of_videos, *FEW_SHOTS, *of_domains]

    def _tried(self, experiment: str, study: str, spec: str, plan: str, in_paper: str) -> Runnable:
        try:
            stream = self._stream(spec, plan)
        except DataError as error:
            return Runnable(experiment, study, str(error))
        classes = len({example.label for example in stream.taught})
        caution = other_data(in_paper, classes, len(stream.tested))
        return Runnable(experiment, study, "", caution, len(stream.taught), len(stream.tested))

    def _stream(self, spec: str, plan: str) -> Stream:
        is_same = parse_spec(spec) == parse_spec(self.spec)
        examples = self.examples if is_same else dataset(spec).examples(self.root)
        return scenario(plan).stream(examples, 0)


def _sizes(examples: Sequence[Example]) -> tuple[int, int, int]:
    objects = {(each.label, each.instance) for each in examples if each.instance}
    return len(examples), len(objects), len({each.label for each in examples})


def _level(spec: str, example: Example) -> str:
    if parse_spec(spec).name != "openloris":
        return ""
    return f"{example.domain}, level {level_of(example)}"
