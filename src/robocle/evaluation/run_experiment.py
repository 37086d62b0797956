"""Running an experiment: each picture is embedded once, and each result is written at once."""

import logging
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple
from uuid import uuid4

from robocle.errors import ImageError, RobocleError
from robocle.evaluation.embedding import EmbeddingSetup, embed_into
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.experiment import Experiment, Roots
from robocle.evaluation.illustrations import example_pictures, measure_moments
from robocle.evaluation.keys import code_of
from robocle.evaluation.parallel import ONE_PROCESS, Workers
from robocle.evaluation.results import (
    Counts,
    append_result,
    copies_in_words,
    counts_of,
    read_results,
    require_results_file,
    show_again,
)
from robocle.evaluation.run_trial import run_trial
from robocle.evaluation.trial import Trial, forget_data

log = logging.getLogger("robocle")

EMBEDDED_AT_ONCE = 32

Progress = Callable[[Iterable[Any], str, int], Iterable[Any]]
"""Wraps items to show progress: called with the items, what is done with them, and their number."""


def run_experiment(
    experiment: Experiment,
    roots: Roots,
    results: Path,
    progress: Progress,
    *,
    workers: Workers = ONE_PROCESS,
    unreadable: Literal["refuse", "skip"] = "refuse",
    cache: Path | None = None,
) -> tuple[int, int]:
    """Run all trials of an experiment that have no result yet.

    Args:
        experiment: What to run.
        roots: Where the data are.
        results: The results file.
        progress: Shows progress.
        workers: The processes that do the work.
        unreadable: Whether a picture that cannot be read stops the run or is left out.
        cache: The file of the embedding cache. The default is in the cache folder.

    Returns:
        How many trials were run and how many the experiment has.

    Raises:
        ImageError: A picture cannot be read, unless such pictures are skipped.
        DataError: Nothing can be run, or the results file is another file.
        SpecError: The experiment names an unknown part.
    """
    require_results_file(results)
    run = _Run(uuid4().hex, code_of(also=[__name__]), cache)
    run.prepare()
    trials = experiment.trials(roots)
    done = {record["key"] for record in read_results(results)}
    left = [_TrialJob(each, each.facts | each.revision) for each in trials if each.key not in done]
    show_again(results, {each.key: place for each, place in trials.items()})
    jobs = list(_embedding_jobs(job.trial for job in left))
    embedded = workers.run(run.embed, jobs)
    skipped = _unreadable(progress(embedded, "embedding", len(jobs)), unreadable == "refuse")
    finished = workers.run(partial(run.run_trial, unreadable=skipped), left)
    ran: list[tuple[str, Counts]] = []
    for (trial, _), result in progress(finished, "running", len(left)):
        append_result(results, trials[trial], trial, result)
        ran.append((trials[trial].study, counts_of(result)))
    for line in copies_in_words(ran):
        log.warning("%s", line)
    for trial, place in list(trials.items())[:1]:
        if f"examples {trial.key}" not in done:
            append_result(results, place, trial, example_pictures(trial, skipped), "examples")
    moments = experiment.moment_trials(roots)
    for trial in progress(moments, "measuring moments", len(moments)) if moments else ():
        if f"moments {trial.key}" not in done:
            measured = measure_moments(trial, EmbeddingCache(cache))
            append_result(results, moments[trial], trial, measured, "moments")
    return len(left), len(trials)


class _EmbeddingJob(NamedTuple):
    setup: EmbeddingSetup
    poolings: tuple[str, ...]
    paths: Sequence[Path]


def _embedding_jobs(trials: Iterable[Trial]) -> Iterator[_EmbeddingJob]:
    """Yield the pictures of all trials by setup, each once with all its poolings, in chunks."""
    wanted: dict[EmbeddingSetup, dict[Path, set[str]]] = {}
    for trial in trials:
        for setup, paths in trial.pictures():
            by_path = wanted.setdefault(setup, {})
            for path in paths:
                by_path.setdefault(path, set()).add(trial.pooling)
    for setup, by_path in wanted.items():
        by_poolings: dict[tuple[str, ...], list[Path]] = {}
        for path, poolings in by_path.items():
            by_poolings.setdefault(tuple(sorted(poolings)), []).append(path)
        for specs, paths in by_poolings.items():
            for start in range(0, len(paths), EMBEDDED_AT_ONCE):
                yield _EmbeddingJob(setup, specs, paths[start : start + EMBEDDED_AT_ONCE])


def _unreadable(
    embedded: Iterable[tuple[_EmbeddingJob, dict[str, str]]], is_refused: bool
) -> frozenset[str]:
    """Return the pictures that cannot be read, or raise for the first one."""
    unreadable: dict[str, str] = {}
    for _, errors in embedded:
        unreadable |= errors
        if errors and is_refused:
            raise ImageError(
                f"{next(iter(errors.values()))} (or skip such pictures with --unreadable skip)"
            )
    for error in unreadable.values():
        log.warning("skipped: %s", error)
    return frozenset(unreadable)


class _TrialJob(NamedTuple):
    trial: Trial
    facts: dict[str, Any]
    """What decides its result, as the process that started the run found it."""


_current_run = ""
_preparing = Lock()


@dataclass(frozen=True)
class _Run:
    """What a worker does in one run. It is sent to the workers, which may have done others."""

    token: str
    """Tells this run from others."""
    code: str
    cache: Path | None

    def prepare(self) -> None:
        """Forget the data of earlier runs, once per run and process.

        Raises:
            RobocleError: This process has loaded other code than the one that started the run.
        """
        global _current_run
        with _preparing:
            if _current_run == self.token:
                return
            if (code := code_of(also=[__name__])) != self.code:
                raise RobocleError(
                    f"{_this_worker()} runs other code ({code}) than this process ({self.code}): "
                    "install the same version there and restart the worker"
                )
            forget_data()
            _current_run = self.token

    def embed(self, job: _EmbeddingJob) -> dict[str, str]:
        """Embed pictures; return an error message for each that cannot be read."""
        self.prepare()
        return embed_into(EmbeddingCache(self.cache), *job)

    def run_trial(self, job: _TrialJob, unreadable: frozenset[str]) -> dict[str, Any]:
        """Run one trial.

        Raises:
            RobocleError: Here, something that decides the result is different.
        """
        self.prepare()
        here = job.trial.facts | job.trial.revision
        if differing := [name for name in here if here[name] != job.facts.get(name)]:
            told = ", ".join(f"{name} ({here[name]}, not {job.facts[name]})" for name in differing)
            raise RobocleError(
                f"{_this_worker()} differs from this process in {told}: give it the same data and "
                "versions, then start again to continue"
            )
        # Another machine may have another cache: what is missing there is embedded there.
        for pictures in _embedding_jobs([job.trial]):
            self.embed(pictures)
        return run_trial(job.trial, EmbeddingCache(self.cache), unreadable)


def _this_worker() -> str:
    return f"the worker {platform.node()}, process {os.getpid()}"
