"""Parallel work with joblib: in processes on this machine, or on a Dask cluster.

Outcomes are returned as they are finished, so each can be written at once. No result is lost when a
worker dies: a cluster repeats its work elsewhere, and on one machine new processes run what is
missing.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from robocle.errors import MissingExtraError, RobocleError

log = logging.getLogger("robocle")

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")
ATTEMPTS = 3


@dataclass(frozen=True)
class Workers:
    """The processes that do the work."""

    jobs: int = 1
    """How many processes on this machine."""
    dask: str = ""
    """The address of a Dask scheduler to use instead."""

    def run(
        self, work: Callable[[Job], Outcome], jobs: Sequence[Job]
    ) -> Iterator[tuple[Job, Outcome]]:
        """Yield each job with its outcome, in the order in which they are finished.

        Args:
            work: Does one job. It must be picklable.
            jobs: The jobs.

        Raises:
            RobocleError: Workers died repeatedly, or the cluster does not answer.
            MissingExtraError: dask.distributed is not installed.
        """
        if self.jobs == 1 and not self.dask:
            yield from ((job, work(job)) for job in jobs)
            return
        left = dict(enumerate(jobs))
        for attempt in range(1, ATTEMPTS + 1):
            try:
                for number, outcome in self._parallel(work, left):
                    yield left.pop(number), outcome
            except _worker_died() as error:
                log.warning("a worker died (%s); running %d jobs again", error, len(left))
                if attempt == ATTEMPTS:
                    raise RobocleError(
                        f"workers died {ATTEMPTS} times with {len(left)} jobs left: start again to "
                        "continue, with fewer --jobs if memory is short"
                    ) from error
            if not left:
                return

    def _parallel(
        self, work: Callable[[Job], Outcome], left: dict[int, Job]
    ) -> Iterator[tuple[int, Outcome]]:
        import joblib

        if self.dask:
            _connect_dask(self.dask)
        backend = joblib.parallel_config(backend="dask") if self.dask else nullcontext()
        with backend:
            runner = joblib.Parallel(
                n_jobs=-1 if self.dask else self.jobs, return_as="generator_unordered"
            )
            items = list(left.items())  # jobs leave the dictionary while others are handed out
            yield from runner(joblib.delayed(_numbered)(work, *item) for item in items)


ONE_PROCESS = Workers()


def _numbered(work: Callable[[Job], Outcome], number: int, job: Job) -> tuple[int, Outcome]:
    return number, work(job)


def _worker_died() -> type[BaseException]:
    from joblib.externals.loky.process_executor import BrokenProcessPool

    died: type[BaseException] = BrokenProcessPool
    return died


@cache
def _connect_dask(address: str) -> None:
    """Connect once per process; joblib finds the client by itself."""
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("dask", "a Dask cluster needs dask.distributed") from error
    connect: Any = Client
    try:
        connect(address, timeout="5s")
    except OSError as error:
        raise RobocleError(f"no Dask scheduler answers at {address}: start one there") from error
