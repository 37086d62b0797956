"""Parallel work: in processes on this machine with joblib, or on a Dask cluster.

Outcomes are returned as they are finished, so each can be written at once. No result is lost when a
worker dies: a cluster repeats its work elsewhere, and on one machine new processes run what is
missing. joblib has a backend for Dask, which is not used: it runs the work in this process if the
cluster has one slot, and waits for ever if all workers are gone.
"""

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from robocle.errors import MissingExtraError, RobocleError

log = logging.getLogger("robocle")

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")
ATTEMPTS = 3
PATIENCE = 20.0
"""How many seconds a cluster may be without workers: one that is restarted needs a few."""


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
            RobocleError: Workers died repeatedly, or the cluster does not answer or has no workers.
            MissingExtraError: dask.distributed is not installed.
        """
        if self.jobs == 1 and not self.dask:
            yield from ((job, work(job)) for job in jobs)
            return
        if self.dask:
            yield from _on_dask(self.dask, work, jobs) if jobs else ()
            return
        import joblib
        from joblib.externals.loky.process_executor import BrokenProcessPool

        left = dict(enumerate(jobs))
        for attempt in range(1, ATTEMPTS + 1):
            runner = joblib.Parallel(n_jobs=self.jobs, return_as="generator_unordered")
            items = list(left.items())  # jobs leave the dictionary while others are handed out
            try:
                with _ignored_in_new_processes(signal.SIGINT):
                    outcomes = runner(joblib.delayed(_numbered)(work, *each) for each in items)
                for number, outcome in outcomes:
                    yield left.pop(number), outcome
            except BrokenProcessPool as error:
                log.warning("a worker died (%s); running %d jobs again", error, len(left))
                if attempt == ATTEMPTS:
                    raise RobocleError(
                        f"workers died {ATTEMPTS} times with {len(left)} jobs left: start again to "
                        "continue, with fewer --jobs if memory is short"
                    ) from error
            if not left:
                return


ONE_PROCESS = Workers()


def _numbered(work: Callable[[Job], Outcome], number: int, job: Job) -> tuple[int, Outcome]:
    return number, work(job)


@contextmanager
def _ignored_in_new_processes(number: int) -> Iterator[None]:
    """Ignore a signal while processes are started, which inherit that: it is for this one alone."""
    is_main = threading.current_thread() is threading.main_thread()  # no other thread can do this
    before = signal.signal(number, signal.SIG_IGN) if is_main else None
    try:
        yield
    finally:
        if is_main:
            signal.signal(number, before)


def _on_dask(
    address: str, work: Callable[[Job], Outcome], jobs: Sequence[Job]
) -> Iterator[tuple[Job, Outcome]]:
    with _dask_client(address) as client:
        slots = _wait_for_slots(client, address, len(jobs))
        if slots == 1:
            log.warning("the cluster at %s has one slot: jobs run one after another", address)
        running = {client.submit(work, job, pure=False): job for job in jobs}
        while running:
            finished = _finished(list(running))
            for future in finished:
                try:
                    outcome = _outcome(future, len(running))
                except TimeoutError:
                    if future.status == "error":  # that of the job itself
                        raise
                    continue  # the worker died before it sent the outcome: the job runs again
                yield running.pop(future), outcome
            if not finished:
                _wait_for_slots(client, address, len(running))


def _finished(running: Sequence[Any]) -> list[Any]:
    """Return the jobs that are done; none if that takes longer than a second."""
    import distributed

    wait: Any = distributed.wait
    try:
        return list(wait(running, 1, "FIRST_COMPLETED").done)
    except TimeoutError:
        return []


def _outcome(future: Any, left: int) -> Any:
    from distributed import KilledWorker

    try:
        return future.result(PATIENCE)
    except KilledWorker as error:
        raise RobocleError(
            f"a job killed several workers of the cluster, with {left} jobs left: start again to "
            "continue, with fewer threads per worker if memory is short"
        ) from error


def _wait_for_slots(client: Any, address: str, left: int) -> int:
    """Return how many jobs the cluster can run at once, when it has a worker.

    Raises:
        RobocleError: It has had none for a while.
    """
    end = time.monotonic() + PATIENCE
    while not (slots := sum(client.ncores().values())):
        if time.monotonic() > end:
            raise RobocleError(
                f"the cluster at {address} has no workers, and {left} jobs left: start some with "
                f"`dask worker {address}`, then start again to continue"
            )
        time.sleep(0.1)
    return int(slots)


@contextmanager
def _dask_client(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("dask", "a Dask cluster needs dask.distributed") from error
    connect: Any = Client
    try:
        client = connect(address, timeout="5s")
    except OSError as error:
        raise RobocleError(f"no Dask scheduler answers at {address}: start one there") from error
    try:
        yield client
    finally:
        client.close()
