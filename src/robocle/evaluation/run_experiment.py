"""Running an experiment: each picture is embedded once, and each result is written at once."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from robocle.errors import ImageError
from robocle.evaluation.embedding import EmbeddingSetup, embed_into
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.experiment import Experiment, Roots
from robocle.evaluation.illustrations import example_pictures, measure_moments
from robocle.evaluation.parallel import ONE_PROCESS, Workers
from robocle.evaluation.results import append_result, read_results
from robocle.evaluation.run_trial import run_trial
from robocle.evaluation.trial import Trial

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
        DataError: Nothing can be run.
        SpecError: The experiment names an unknown part.
    """
    trials = experiment.trials(roots)
    done = {record["key"] for record in read_results(results)}
    left = [trial for trial in trials if trial.key not in done]
    jobs = list(_embedding_jobs(left))
    embedded = workers.run(partial(_embed, cache=cache), jobs)
    skipped = _unreadable(progress(embedded, "embedding", len(jobs)), unreadable == "refuse")
    finished = workers.run(partial(_run, cache=cache, unreadable=skipped), left)
    for trial, result in progress(finished, "running", len(left)):
        append_result(results, trials[trial], trial, result)
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


def _embed(job: _EmbeddingJob, cache: Path | None) -> dict[str, str]:
    return embed_into(EmbeddingCache(cache), *job)


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


def _run(trial: Trial, cache: Path | None, unreadable: frozenset[str]) -> dict[str, Any]:
    # Another machine may have another cache: what is missing there is embedded there.
    for job in _embedding_jobs([trial]):
        _embed(job, cache)
    return run_trial(trial, EmbeddingCache(cache), unreadable)
