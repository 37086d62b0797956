"""Worker threads: bounded queues, and nothing begun is left undone."""

import asyncio
import threading
from pathlib import Path

import pytest

from robocle import Learner
from robocle.web import queues
from robocle.web.queues import Workers
from robocle.web.requests import RequestError
from robocle.web.service import Service
from robocle.web.shared_learner import SharedLearner
from stub_backbone import STUB


def test_a_full_queue_refuses_and_recovers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "MOST_WAITING", 3)
    go = threading.Event()

    async def request() -> int:
        threads = Workers(1, "test")
        waiting = [threads.do(go.wait) for _ in range(3)]
        with pytest.raises(RequestError, match="busy"):
            await threads.do(lambda: 1)
        go.set()
        await asyncio.gather(*waiting)
        found = await threads.do(lambda: 3)
        threads.close()
        return found

    assert asyncio.run(request()) == 3


def test_a_client_that_goes_away_does_not_stop_a_change(tmp_path: Path) -> None:
    begun, go, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait()
        done.set()

    async def request() -> None:
        served = Service(SharedLearner(Learner(STUB, pooling="avg"), tmp_path / "home", 0.05))
        task = asyncio.create_task(served.change(work))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        served.close()

    asyncio.run(request())
    assert done.is_set()
