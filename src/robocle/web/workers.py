"""Worker threads: the event loop never waits for the learner.

Changes are made by one thread, in the order in which they were requested. Predictions have threads
of their own and are made first come, first served. Each client has at most one frame in the queue,
so clients take turns.
"""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")
MOST_THREADS = 4


class Workers:
    """The threads that do the learner's work.

    Args:
        threads: How many pictures are recognised at the same time; None for one per core, at most
            MOST_THREADS.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or min(os.cpu_count() or 1, MOST_THREADS)
        self._changes = ThreadPoolExecutor(1, "robocle-changes")
        self._predictions = ThreadPoolExecutor(self.threads, "robocle-predictions")

    async def change(self, work: Callable[[], Result]) -> Result:
        """Do work that changes the learner, after all changes that were requested before.

        A client that goes away does not stop it: what was begun is finished.
        """
        future = asyncio.get_running_loop().run_in_executor(self._changes, work)
        return await asyncio.shield(future)

    async def predict(self, work: Callable[[], Result]) -> Result:
        """Do work that only reads the learner."""
        return await asyncio.get_running_loop().run_in_executor(self._predictions, work)

    def close(self) -> None:
        """Finish what was begun."""
        self._changes.shutdown(wait=True, cancel_futures=True)
        self._predictions.shutdown(wait=True, cancel_futures=True)
