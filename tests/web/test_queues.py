"""Worker threads: bounded queues, and nothing begun is left undone."""

import asyncio
import threading

import pytest

from robocle.web import queues
from robocle.web.queues import Workers
from robocle.web.requests import RequestError


def test_a_full_queue_refuses_and_recovers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "MOST_WAITING", 3)
    go = threading.Event()

    async def request() -> int:
        threads = Workers(1)
        waiting = [asyncio.create_task(threads.predict(go.wait)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(RequestError, match="busy"):
            await threads.predict(lambda: 1)
        assert await threads.change(lambda: 2) == 2  # a queue of its own
        go.set()
        await asyncio.gather(*waiting)
        found = await threads.predict(lambda: 3)
        threads.close()
        return found

    assert asyncio.run(request()) == 3


def test_a_client_that_goes_away_does_not_stop_a_change() -> None:
    begun, go, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait()
        done.set()

    async def request() -> None:
        threads = Workers()
        task = asyncio.create_task(threads.change(work))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        threads.close()

    asyncio.run(request())
    assert done.is_set()
