"""Experiments on a tiny data set, into one results file."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robocle.evaluation.experiment import Experiment, Method, Show, Study
from robocle.evaluation.results import read_results
from robocle.evaluation.run_experiment import Progress, run_experiment

METHODS = (
    Method("NCM", "avg", "ncm"),
    Method("SLDA", "avg", "slda:scatter=published,shrinkage=1e-4", over="NCM"),
)


def quietly(items: Iterable[Any], what: str, total: int) -> Iterable[Any]:
    return items


def experiment(**changes: Any) -> Experiment:
    study = Study("tiny", "folder", "class_iid:shots=3", seeds=(0, 1))
    shows: tuple[Show, ...] = ("accuracy", "metrics", "per_step", "cost")
    return Experiment("Tiny", (study,), METHODS, shows=shows).changed(**changes)


@dataclass(frozen=True)
class Bench:
    """Runs experiments on the tiny data set into one results file."""

    pictures: Path
    results: Path
    cache: Path

    def run(
        self, plan: Experiment | None = None, progress: Progress = quietly, **options: Any
    ) -> tuple[int, int]:
        options = {"cache": self.cache, **options}
        roots = {"folder": str(self.pictures)}
        return run_experiment(plan or experiment(), roots, self.results, progress, **options)

    def records(self, kind: str = "trial") -> list[dict[str, Any]]:
        return [record for record in read_results(self.results) if record["kind"] == kind]

    def record(self, method: str) -> dict[str, Any]:
        return next(record for record in self.records() if record["method"] == method)
