"""Running an experiment: each picture is looked at once, each result written at once."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from robocle.backbones import require_backbone
from robocle.classifiers import classifier
from robocle.errors import BackboneError, DataError, ImageError, SpecError
from robocle.evaluation.corruptions import corruption
from robocle.evaluation.embedding import View, backbone_facts, embed
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.experiment import Experiment, Method, Study
from robocle.evaluation.illustrations import example_pictures, measure_moments, moment_trials
from robocle.evaluation.parallel import Workers
from robocle.evaluation.results import Place, append_result, read_results
from robocle.evaluation.run import run_trial
from robocle.evaluation.trial import Trial, needed_by
from robocle.images.views import views
from robocle.pooling import POOLINGS
from robocle.pooling.token import ClassToken
from robocle.spec import parse_spec

log = logging.getLogger("robocle")

EMBEDDED_AT_ONCE = 32
NEEDS_NO_ROOT = ("home",)

Progress = Callable[[Iterable[Any], str, int], Iterable[Any]]


@dataclass(frozen=True)
class Benchmark:
    """How and where an experiment is run."""

    results: Path
    roots: dict[str, str] = field(default_factory=dict)
    workers: Workers = field(default_factory=Workers)
    skip_unreadable: bool = False
    cache: Path | None = None

    def run(self, experiment: Experiment, progress: Progress) -> tuple[int, int]:
        """Run all trials that are not done; gives how many were run and how many there are."""
        planned = self._planned(experiment)
        done = {record["key"] for record in read_results(self.results)}
        left = {trial: place for trial, place in planned.items() if trial.key not in done}
        unreadable = self._embed(list(left), progress)
        work = partial(_run, cache=self.cache, unreadable=unreadable)
        finished = self.workers.run(work, list(left))
        for trial, result in progress(finished, "running", len(left)):
            append_result(self.results, left[trial], trial, result)
        self._illustrate(experiment, planned, done, unreadable)
        return len(left), len(planned)

    def _illustrate(
        self,
        experiment: Experiment,
        planned: dict[Trial, Place],
        done: set[str],
        unreadable: frozenset[str],
    ) -> None:
        """Add what the report shows besides figures."""
        for trial, place in list(planned.items())[:1]:
            if f"examples {trial.key}" not in done:
                shown = example_pictures(trial, unreadable)
                append_result(self.results, place, trial, shown, "examples")
        for trial, place in self._moment_trials(experiment).items():
            if f"moments {trial.key}" not in done:
                measured = measure_moments(trial, EmbeddingCache(self.cache))
                append_result(self.results, place, trial, measured, "moments")

    def _moment_trials(self, experiment: Experiment) -> dict[Trial, Place]:
        if "moments" not in experiment.shows:
            return {}
        return {
            trial: Place(experiment.title, study.name, "moments", shows=experiment.shows)
            for study in experiment.studies
            if (root := self._root(study)) is not None
            for trial in moment_trials(study, root, _here(study.backbones))
        }

    def _planned(self, experiment: Experiment) -> dict[Trial, Place]:
        """Every trial and its place; what cannot be run here is said and left out."""
        planned: dict[Trial, Place] = {}
        for study in experiment.studies:
            root = self._root(study)
            if root is None:
                continue
            for backbone in study.backbones:
                if reason := _absence(backbone):
                    log.warning("left out: %s", reason)
            for method in experiment.methods:
                place = _place(experiment, study, method, len(planned))
                for trial in _runnable(study, method, root):
                    trial = replace(
                        trial,
                        each_step=experiment.asks_each_step,
                        examined=experiment.examines,
                    )
                    planned.setdefault(trial, place)
        if not planned and not self._moment_trials(experiment):
            raise DataError(
                "nothing can be run: give the data with --data DIR, or try --dataset home "
                "--scenario class_iid:shots=5 --backbone efficientnet_lite0"
            )
        return planned

    def _root(self, study: Study) -> str | None:
        name = parse_spec(study.dataset).name
        root = self.roots.get(name, self.roots.get(""))
        if root is None and name not in NEEDS_NO_ROOT:
            log.warning("left out: %s (no --data %s=DIR given)", study.name, name)
            return None
        return root or ""

    def _embed(self, trials: Sequence[Trial], progress: Progress) -> frozenset[str]:
        """Look at all pictures that the trials need; gives those that cannot be read."""
        jobs = _embedding_jobs(trials)
        unreadable: dict[str, str] = {}
        finished = self.workers.run(partial(_embed, cache=self.cache), jobs)
        for _, complaints in progress(finished, "looking", len(jobs)):
            unreadable |= complaints
            if complaints and not self.skip_unreadable:
                raise ImageError(
                    f"{next(iter(complaints.values()))} (or leave such pictures out with "
                    "--unreadable skip)"
                )
        for complaint in unreadable.values():
            log.warning("left out: %s", complaint)
        return frozenset(unreadable)


@dataclass(frozen=True)
class _EmbeddingJob:
    view: View
    poolings: tuple[str, ...]
    paths: tuple[Path, ...]


def _place(experiment: Experiment, study: Study, method: Method, order: int) -> Place:
    named = experiment.paper and study.paper and method.paper
    paper = {"table": experiment.paper, **study.paper, **method.paper} if named else {}
    return Place(
        experiment.title, study.name, method.name, method.over, order, experiment.shows, paper
    )


def _runnable(study: Study, method: Method, root: str) -> Iterable[Trial]:
    """Those of a method's trials that can be run here; a misspelt part is found now."""
    classifier(method.classifier)
    views(method.views)
    needs_token = isinstance(POOLINGS.build(method.pooling), ClassToken)
    for corrupted in {*study.taught, *study.tested}:
        corruption(corrupted)
    usable = _here(study.backbones)
    for backbone in list(usable) if needs_token else []:
        if not backbone_facts(backbone).has_token:
            log.warning("left out: %s with %s has no class token", method.name, backbone)
            usable.remove(backbone)
    yield from (trial for trial in study.trials(method, root) if trial.backbone in usable)


def _here(backbones: Sequence[str]) -> list[str]:
    """Those of the backbones that are on this machine."""
    return [spec for spec in backbones if not _absence(spec)]


def _absence(backbone: str) -> str:
    """Why a backbone is not on this machine and what to do about it, or nothing."""
    try:
        require_backbone(backbone)
    except (SpecError, BackboneError) as error:
        return str(error)
    return ""


def _embedding_jobs(trials: Sequence[Trial]) -> list[_EmbeddingJob]:
    """The pictures of all trials by view, each once with every pooling, in parts."""
    wanted: dict[View, dict[Path, set[str]]] = {}
    for trial in trials:
        for need in needed_by(trial):
            paths = wanted.setdefault(need.view, {})
            for path in need.paths:
                paths.setdefault(path, set()).add(need.pooling)
    jobs = []
    for view, by_path in wanted.items():
        alike: dict[tuple[str, ...], list[Path]] = {}
        for path, poolings in by_path.items():
            alike.setdefault(tuple(sorted(poolings)), []).append(path)
        for specs, paths_alike in alike.items():
            jobs += [
                _EmbeddingJob(view, specs, tuple(paths_alike[at : at + EMBEDDED_AT_ONCE]))
                for at in range(0, len(paths_alike), EMBEDDED_AT_ONCE)
            ]
    return jobs


def _embed(job: _EmbeddingJob, cache: Path | None) -> dict[str, str]:
    return embed(EmbeddingCache(cache), job.view, job.poolings, job.paths)


def _run(trial: Trial, cache: Path | None, unreadable: frozenset[str]) -> dict[str, Any]:
    # On another machine the cache may be another: what is missing there is looked at there.
    for job in _embedding_jobs([trial]):
        _embed(job, cache)
    return run_trial(trial, EmbeddingCache(cache), unreadable)
