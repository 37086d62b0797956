"""Parallel work by joblib: on this machine's processes, or on a Dask or Ray cluster by its address.

Results come back as they are finished, so each can be written at once. A worker that dies costs no
result: a cluster runs its work again elsewhere, and on one machine what is missing is run again in
new processes.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from robocle.errors import MissingExtraError, RobocleError

log = logging.getLogger("robocle")

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")
ATTEMPTS = 3
RAY_PART = 32


@dataclass(frozen=True)
class Workers:
    """Who does the work."""

    jobs: int = 1
    dask: str = ""
    ray: str = ""

    def run(
        self, work: Callable[[Job], Outcome], jobs: Sequence[Job]
    ) -> Iterator[tuple[Job, Outcome]]:
        """Each job with its outcome, in the order in which they are finished."""
        if self.jobs == 1 and not (self.dask or self.ray):
            yield from ((job, work(job)) for job in jobs)
            return
        left = dict(enumerate(jobs))
        for attempt in range(1, ATTEMPTS + 1):
            try:
                for number, outcome in self._parallel(work, left):
                    yield left.pop(number), outcome
            except _worker_died() as error:
                log.warning("a worker died (%s); %d jobs are run again", error, len(left))
                if attempt == ATTEMPTS:
                    raise RobocleError(
                        f"workers died {ATTEMPTS} times with {len(left)} jobs left: "
                        "start again to go on, with fewer --jobs if memory is short"
                    ) from error
            if not left:
                return

    def _parallel(
        self, work: Callable[[Job], Outcome], left: dict[int, Job]
    ) -> Iterator[tuple[int, Outcome]]:
        import joblib

        with self._backend():
            for part, manner in self._parts(list(left.items())):
                runner = joblib.Parallel(n_jobs=self._count(), return_as=manner)
                yield from runner(joblib.delayed(_numbered)(work, *item) for item in part)

    def _parts(self, items: list[tuple[int, Job]]) -> Iterator[tuple[list[tuple[int, Job]], str]]:
        """All at once, each outcome as it comes; Ray gives outcomes only when all of a part are."""
        if not self.ray:
            yield items, "generator_unordered"
            return
        for at in range(0, len(items), RAY_PART):
            yield items[at : at + RAY_PART], "list"

    def _count(self) -> int:
        return -1 if self.dask or self.ray else self.jobs

    def _backend(self) -> AbstractContextManager[Any]:
        import joblib

        if self.dask:
            _connect_dask(self.dask)
            return joblib.parallel_config(backend="dask")  # type: ignore[no-any-return]
        if self.ray:
            _connect_ray(self.ray)
            return joblib.parallel_config(backend="ray")  # type: ignore[no-any-return]
        return nullcontext()


def _numbered(work: Callable[[Job], Outcome], number: int, job: Job) -> tuple[int, Outcome]:
    return number, work(job)


def _worker_died() -> type[BaseException]:
    from joblib.externals.loky.process_executor import BrokenProcessPool

    died: type[BaseException] = BrokenProcessPool
    return died


@cache
def _connect_dask(address: str) -> None:
    """Once a process: joblib finds the client by itself."""
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("dask", "a Dask cluster needs dask.distributed") from error
    connect: Any = Client
    try:
        connect(address, timeout="5s")
    except OSError as error:
        raise RobocleError(f"no Dask scheduler answers at {address}: start one there") from error


@cache
def _connect_ray(address: str) -> None:
    """Once a process; "local" starts a Ray of one's own on this machine."""
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise MissingExtraError("ray", "a Ray cluster needs ray") from error
    try:
        ray.init(address=address)
    except (ConnectionError, ValueError) as error:
        raise RobocleError(f"no Ray cluster answers at {address}: start one there") from error
    register_ray()
