"""One thread that does the slow work, always with the newest image.

The thread that talks to ROS only hands over work, so it stays responsive. An image that has not
been taken yet is replaced by the next one: nothing can queue up. Jobs, such as lessons, go first.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger("robocle")

Item = TypeVar("Item")


class Worker(Generic[Item]):
    """A thread that handles the newest item, and jobs before it.

    Args:
        handle: What to do with an item. An exception is logged, and the thread goes on.
    """

    def __init__(self, handle: Callable[[Item], None]) -> None:
        self._handle = handle
        self._changed = threading.Condition()
        self._newest: list[Item] = []
        self._jobs: deque[Callable[[], None]] = deque()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="robocle", daemon=True)
        self._thread.start()

    def show(self, item: Item) -> None:
        """Hand over an item. One that has not been taken yet is dropped."""
        with self._changed:
            self._newest = [item]
            self._changed.notify()

    def do(self, job: Callable[[], None]) -> None:
        """Hand over a job."""
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()

    def stop(self) -> None:
        """Finish the jobs, drop the item, and end the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while (work := self._next()) is not None:
            try:
                work()
            except Exception:
                log.exception("an unexpected error; going on with the next image")

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._newest or self._stopped)
            if self._jobs:
                return self._jobs.popleft()
            if self._stopped:
                return None
            item = self._newest.pop()
            return lambda: self._handle(item)
