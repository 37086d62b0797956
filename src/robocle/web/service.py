"""The service that routes and WebSockets share.

After each change the knowledge is computed in a thread and sent to all clients. Changes that follow
quickly are sent together.
"""

import asyncio
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from robocle.errors import CameraError, RobocleError
from robocle.images import Picture
from robocle.web.answers import Taught
from robocle.web.queues import Client, Clients, Workers
from robocle.web.requests import MAX_BYTES_IN_FLIGHT, Lesson, RequestError
from robocle.web.robot_camera import RobotCamera
from robocle.web.shared_learner import SharedLearner

Result = TypeVar("Result")
MOST_THREADS = 4
"""How many pictures are recognised at the same time, at most."""
POLL = 1.0
"""Seconds after which a change by another program is noticed, at most."""
PAUSE = 0.1
"""Seconds between two messages about the state, at least."""
SHARE = 3.0
"""The pause is also this many times as long as it took to compute the message."""
BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""The upper bounds of the durations that are counted together, in seconds."""


class Metrics:
    """What the server counts, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.prediction_seconds = Histogram(
            "robocle_prediction_seconds",
            "From the arrival of a frame to its answer.",
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.taught = self._counter("taught_pictures", "Pictures taught.")
        self.dropped = self._counter("dropped_frames", "Frames replaced by newer.")
        self.responses = self._counter("responses", "HTTP responses by status.", "status")

    def add_gauge(self, name: str, what: str, value: Callable[[], float]) -> None:
        """Add a value that is read whenever the metrics are."""
        Gauge(f"robocle_{name}", what, registry=self.registry).set_function(value)

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(f"robocle_{name}", what, labels, registry=self.registry)


class Service:
    """The learner, its threads, the robot's camera and the clients.

    Args:
        shared: The learner.
        camera: The robot's camera, if there is one.
    """

    def __init__(self, shared: SharedLearner, camera: RobotCamera | None = None) -> None:
        self.shared = shared
        self.camera = camera
        self.changing = Workers(1, "changes")
        self.predicting = Workers(min(os.cpu_count() or 1, MOST_THREADS), "predictions")
        self.clients = Clients()
        self.metrics = Metrics()
        self.stopping = False
        self._bytes = 0
        self._stale = asyncio.Event()
        self._state_event: tuple[int, str] = 0, ""
        self._add_gauges()

    async def change(self, work: Callable[[], Result]) -> Result:
        """Change the learner, after all changes that were requested before, and notify clients.

        A client that goes away does not stop it: what was begun is finished.
        """
        try:
            return await asyncio.shield(self.changing.do(work))
        finally:
            self._stale.set()

    async def teach(self, picture: Picture, lesson: Lesson, by: int) -> Taught:
        """Teach one picture.

        Args:
            picture: The picture.
            lesson: How it is to be taught.
            by: The number of the client that teaches; 0 if it does not listen.
        """
        answer = await self.change(lambda: self.shared.teach(picture, lesson))
        if not answer.repeated:
            self.metrics.taught.inc()
        event = {"event": "taught", "by": by, **answer.model_dump()}
        self.clients.tell_all("taught", json.dumps(event))
        return answer

    async def tell_changes(self) -> None:
        """Send the knowledge to all clients after each change, for ever."""
        while True:
            try:
                await self._wait_for_change()
                self._stale.clear()
                start = time.perf_counter()
                self.clients.tell_all("state", await self._state_message())
                pause = max(PAUSE, SHARE * (time.perf_counter() - start))
            except RobocleError:  # the file cannot be read: requests are answered with that
                pause = POLL
            await asyncio.sleep(pause)

    async def _wait_for_change(self) -> None:
        """Wait until something was changed here, or by another program."""
        while not self._stale.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stale.wait(), POLL)
            if len(self.clients) and await self._version() != self._state_event[0]:
                return

    async def _version(self) -> int:
        """Return the version of what was taught. That may wait for a program that writes."""
        return await asyncio.to_thread(lambda: self.shared.learner.version)

    async def greet(self, client: Client) -> None:
        """Tell a new client who it is and what the learner knows."""
        hello = {"event": "hello", "client": client.number, "camera": self.camera is not None}
        hello["finder"] = self.shared.learner.finder is not None
        client.outbox.put("hello", json.dumps(hello))
        client.outbox.put("state", await self._state_message())

    async def _state_message(self) -> str:
        """Return the event with the knowledge, which is computed once after each change."""
        version, message = self._state_event
        if version != await self._version() or not message:
            known, complete = await self.predicting.do(self.shared.knowledge_in_lesson)
            event = {"event": "state", **known.model_dump(), "complete": complete}
            message = json.dumps(event)
            if complete:
                self._state_event = known.version, message
            else:
                self._stale.set()  # the readiness follows later
        return message

    async def picture_of_camera(self, after: int = -1) -> tuple[int, Picture]:
        """Return the newest frame of the robot's camera, and its number.

        Raises:
            RequestError: There is no camera.
            CameraError: It does not work.
        """
        camera = self.camera
        if camera is None:
            raise RequestError(404, "this server has no camera: start it with --camera")
        frame = await asyncio.to_thread(camera.newest, after)
        if frame is None:
            raise CameraError("the robot's camera sends no frames: check it")
        return frame.number, frame.pixels

    def hold(self, size: int) -> None:
        """Count bytes of a request that are held in memory.

        Raises:
            RequestError: All requests together hold too many.
        """
        if self._bytes + size > MAX_BYTES_IN_FLIGHT:
            raise RequestError(503, "the server is busy with other uploads: try again")
        self._bytes += size

    def release(self, size: int) -> None:
        """Count bytes that are no longer held."""
        self._bytes -= size

    def _add_gauges(self) -> None:
        add, learner = self.metrics.add_gauge, self.shared.learner
        add("clients", "Open WebSockets.", lambda: len(self.clients))
        add("labels", "Labels taught.", lambda: len(learner.counts))
        add("pictures", "Pictures taught, of all labels.", lambda: sum(learner.counts.values()))
        add("version", "The version of what was taught.", lambda: self.shared.learner.version)

    def stop(self) -> None:
        """End what would never end by itself: streams of the camera."""
        self.stopping = True

    def close(self) -> None:
        """Finish what was begun and close the state."""
        self.stop()
        self.changing.close()
        self.predicting.close()
        if self.camera is not None:
            self.camera.close()
        self.shared.learner.close()
