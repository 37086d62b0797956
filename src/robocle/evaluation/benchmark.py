"""Running an experiment: each picture is embedded once, and each result is written at once."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from robocle.errors import ImageError
from robocle.evaluation.embedding import EmbeddingSetup, embed_into
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.experiment import Experiment
from robocle.evaluation.illustrations import example_pictures, measure_moments
from robocle.evaluation.parallel import Workers
from robocle.evaluation.plan import planned_moment_trials, planned_trials
from robocle.evaluation.results import Place, append_result, read_results
from robocle.evaluation.run import run_trial
from robocle.evaluation.trial import Trial, needed_embeddings

log = logging.getLogger("robocle")

EMBEDDED_AT_ONCE = 32

Progress = Callable[[Iterable[Any], str, int], Iterable[Any]]
"""Wraps items to show progress: called with the items, what is done with them, and their number."""


@dataclass(frozen=True)
class Benchmark:
    """How and where an experiment is run."""

    results: Path
    """The results file. Trials that are in it already are not run again."""
    roots: dict[str, str] = field(default_factory=dict)
    """The folder of each data set by name; "" stands for all others."""
    workers: Workers = field(default_factory=Workers)
    skip_unreadable: bool = False
    """Whether to leave out pictures that cannot be read, instead of stopping."""
    cache: Path | None = None
    """The file of the embedding cache. The default is in the cache folder."""

    def run(self, experiment: Experiment, progress: Progress) -> tuple[int, int]:
        """Run all trials that have no result yet.

        Args:
            experiment: What to run.
            progress: Shows progress.

        Returns:
            How many trials were run and how many the experiment has.

        Raises:
            ImageError: A picture cannot be read, unless such pictures are skipped.
            DataError: Nothing can be run.
            SpecError: The experiment names an unknown part.
        """
        planned = planned_trials(experiment, self.roots)
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
        """Add example pictures and the data of the moment figure."""
        for trial, place in list(planned.items())[:1]:
            if f"examples {trial.key}" not in done:
                examples = example_pictures(trial, unreadable)
                append_result(self.results, place, trial, examples, "examples")
        for trial, place in planned_moment_trials(experiment, self.roots).items():
            if f"moments {trial.key}" not in done:
                measured = measure_moments(trial, EmbeddingCache(self.cache))
                append_result(self.results, place, trial, measured, "moments")

    def _embed(self, trials: Sequence[Trial], progress: Progress) -> frozenset[str]:
        """Embed all pictures that the trials need; return those that cannot be read."""
        jobs = _embedding_jobs(trials)
        unreadable: dict[str, str] = {}
        finished = self.workers.run(partial(_embed, cache=self.cache), jobs)
        for _, errors in progress(finished, "embedding", len(jobs)):
            unreadable |= errors
            if errors and not self.skip_unreadable:
                raise ImageError(
                    f"{next(iter(errors.values()))} (or skip such pictures with --unreadable skip)"
                )
        for error in unreadable.values():
            log.warning("skipped: %s", error)
        return frozenset(unreadable)


@dataclass(frozen=True)
class _EmbeddingJob:
    setup: EmbeddingSetup
    poolings: tuple[str, ...]
    paths: tuple[Path, ...]


def _embedding_jobs(trials: Sequence[Trial]) -> list[_EmbeddingJob]:
    """Return the pictures of all trials by setup, each once with all its poolings, in chunks."""
    wanted: dict[EmbeddingSetup, dict[Path, set[str]]] = {}
    for trial in trials:
        for need in needed_embeddings(trial):
            by_path = wanted.setdefault(need.setup, {})
            for path in need.paths:
                by_path.setdefault(path, set()).add(need.pooling)
    return [job for setup, by_path in wanted.items() for job in _jobs_of(setup, by_path)]


def _jobs_of(setup: EmbeddingSetup, by_path: dict[Path, set[str]]) -> list[_EmbeddingJob]:
    by_poolings: dict[tuple[str, ...], list[Path]] = {}
    for path, poolings in by_path.items():
        by_poolings.setdefault(tuple(sorted(poolings)), []).append(path)
    return [
        _EmbeddingJob(setup, specs, tuple(paths[start : start + EMBEDDED_AT_ONCE]))
        for specs, paths in by_poolings.items()
        for start in range(0, len(paths), EMBEDDED_AT_ONCE)
    ]


def _embed(job: _EmbeddingJob, cache: Path | None) -> dict[str, str]:
    return embed_into(EmbeddingCache(cache), job.setup, job.poolings, job.paths)


def _run(trial: Trial, cache: Path | None, unreadable: frozenset[str]) -> dict[str, Any]:
    # Another machine may have another cache: what is missing there is embedded there.
    for job in _embedding_jobs([trial]):
        _embed(job, cache)
    return run_trial(trial, EmbeddingCache(cache), unreadable)
