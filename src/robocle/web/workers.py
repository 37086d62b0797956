"""Worker threads: the event loop never waits for the learner.

Changes are made by one thread, in the order in which they were requested. Predictions have threads
of their own and are made first come, first served. Each client has at most one frame in the queue,
so clients take turns. Queues are bounded: what waits holds pictures in memory.
"""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from robocle.web.limits import MAX_CLIENTS, RequestError

Result = TypeVar("Result")
MOST_THREADS = 4
MOST_WAITING = MAX_CLIENTS + 64
"""How many pieces of work may wait or be worked on, for changes and for predictions each."""


class Workers:
    """The threads that do the learner's work.

    Args:
        threads: How many pictures are recognised at the same time; None for one per core, at most
            MOST_THREADS.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or min(os.cpu_count() or 1, MOST_THREADS)
        self._changes = _Queue(1, "robocle-changes")
        self._predictions = _Queue(self.threads, "robocle-predictions")

    async def change(self, work: Callable[[], Result]) -> Result:
        """Do work that changes the learner, after all changes that were requested before.

        A client that goes away does not stop it: what was begun is finished.

        Raises:
            RequestError: Too much is waiting.
        """
        return await asyncio.shield(self._changes.add(work))

    async def predict(self, work: Callable[[], Result]) -> Result:
        """Do work that only reads the learner.

        Raises:
            RequestError: Too much is waiting.
        """
        return await self._predictions.add(work)

    def close(self) -> None:
        """Finish what was begun."""
        self._changes.close()
        self._predictions.close()


class _Queue:
    """Threads, and the work that waits for them."""

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._waiting = 0

    def add(self, work: Callable[[], Result]) -> "asyncio.Future[Result]":
        if self._waiting >= MOST_WAITING:
            raise RequestError(503, "the server is busy: try again")
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        self._waiting += 1
        future.add_done_callback(self._done)
        return future

    def _done(self, _: object) -> None:
        self._waiting -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
