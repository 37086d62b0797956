"""The WebSocket: frames in, predictions and changes out.

A client sends a frame and waits for its answer. If it sends more, only the newest waits; the ones
before it are dropped. A message is a line of JSON, then the bytes of a picture:

    {"id": 7, "box": [10, 20, 100, 80]}\\n<JPEG>
    {"id": 8, "camera": true}\\n            the newest frame of the robot's camera instead

A client that does not read its answers is disconnected after a while.
"""

import asyncio
import json
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from robocle.errors import NothingTaughtError, RobocleError
from robocle.images import Picture
from robocle.images.boxes import Box
from robocle.types import Prediction
from robocle.web.clients import Client
from robocle.web.limits import (
    BURST,
    MAX_FRAME_BYTES,
    REQUESTS_PER_SECOND,
    RateLimit,
    RequestError,
)
from robocle.web.pictures import require_picture
from robocle.web.service import Service, timed
from robocle.web.values import box_of, explanation_values, rate_of

STALLED_SECONDS = 15.0
SHOWN = 4
"""How many labels have a bar. The others are summed up."""
MAX_HEADER = 1000
MAX_ID = 2**53


@dataclass(frozen=True)
class FrameRequest:
    """A frame to recognise."""

    id: int
    picture: bytes
    """Empty for a frame of the robot's camera."""
    box: Box | None
    wants_heat: bool
    false_accept: float | None
    """The rate; None for that of the server."""
    arrived: float


class Inbox:
    """The newest frame of a client."""

    def __init__(self) -> None:
        self._newest: FrameRequest | None = None
        self._filled = asyncio.Event()

    def put(self, request: FrameRequest) -> bool:
        """Keep a frame; return whether another one was dropped for it."""
        dropped = self._newest is not None
        self._newest = request
        self._filled.set()
        return dropped

    async def take(self) -> FrameRequest:
        """Return the newest frame, and wait if there is none."""
        await self._filled.wait()
        self._filled.clear()
        request, self._newest = self._newest, None
        assert request is not None
        return request


async def live(websocket: WebSocket) -> None:
    """Serve one client until it leaves."""
    service: Service = websocket.app.state.service
    try:
        client = service.clients.join()
    except RequestError as error:
        await websocket.close(1013, str(error))
        return
    inbox = Inbox()
    tasks: list[asyncio.Task[None]] = []
    try:
        await websocket.accept()
        await service.greet(client)
        tasks = [
            asyncio.create_task(_send(websocket, client)),
            asyncio.create_task(_recognise(service, client, inbox)),
            asyncio.create_task(_receive(websocket, service, client, inbox)),
        ]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    except (WebSocketDisconnect, TimeoutError):
        pass
    finally:
        service.clients.leave(client)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send(websocket: WebSocket, client: Client) -> None:
    while True:
        for message in await client.outbox.take():
            async with asyncio.timeout(STALLED_SECONDS):
                await websocket.send_text(message)


async def _receive(websocket: WebSocket, service: Service, client: Client, inbox: Inbox) -> None:
    limit = RateLimit(REQUESTS_PER_SECOND, BURST)
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        content = message.get("bytes")
        if content is None:
            content = (message.get("text") or "").encode("utf-8", "surrogatepass")
        if not limit.allows(""):
            await asyncio.sleep(1 / REQUESTS_PER_SECOND)
        try:
            dropped = inbox.put(parsed(content))
        except RobocleError as error:
            client.outbox.put("error", _error(None, error))
        else:
            service.metrics.dropped += dropped


async def _recognise(service: Service, client: Client, inbox: Inbox) -> None:
    seen = -1
    while True:
        request = await inbox.take()
        try:
            picture: Picture
            if request.picture:
                picture = request.picture
            else:
                seen, picture = await service.picture_of_camera(seen)
            answer = await _answer(service, client, request, picture)
            client.outbox.put("prediction", json.dumps(answer))
        except RobocleError as error:
            client.outbox.put("prediction", _error(request.id, error))
            if not request.picture:
                await asyncio.sleep(0.5)  # a camera that fails must not be asked in a loop


async def _answer(
    service: Service, client: Client, request: FrameRequest, picture: Picture
) -> dict[str, Any]:
    received = time.perf_counter()
    work = partial(_predicted, service, request, picture)
    found, begun, took = await service.workers.predict(partial(timed, work))
    answer: dict[str, Any] = {"event": "prediction", "id": request.id}
    if found is None:
        answer |= {"empty": True, "verdict": "unknown", "label": None, "sure": False}
        answer |= {"nothing": "", "confidences": [], "unknown_probability": 1}
    else:
        prediction, explained, is_judged = found
        answer |= _announced(client, prediction, is_judged) | explained
    now = time.perf_counter()
    answer["milliseconds"] = round(1e3 * (now - request.arrived), 1)
    service.metrics.prediction_seconds.add(now - request.arrived)
    waited = begun - received if begun > received else 0.0
    service.metrics.overhead_seconds.add(max(now - request.arrived - took - waited, 0.0))
    return answer


def _predicted(
    service: Service, request: FrameRequest, picture: Picture
) -> tuple[Prediction, dict[str, Any], bool] | None:
    """Return the prediction, its explanation, and whether known can be separated from unknown.

    It is None if nothing was taught yet.
    """
    if isinstance(picture, bytes):
        require_picture(picture)
    try:
        if not request.wants_heat:
            prediction = service.shared.predict(picture, request.box, request.false_accept)
            return prediction, {}, service.shared.is_judged
        found = service.shared.explain(picture, request.box, request.false_accept)
        return found.prediction, explanation_values(found), service.shared.is_judged
    except NothingTaughtError:
        return None


def _announced(client: Client, prediction: Prediction, is_judged: bool) -> dict[str, Any]:
    found = client.filter.update(prediction)
    shown = found.top(SHOWN)
    others = found.known_probability - sum(p for _, p in shown)
    return {
        "empty": False,
        "verdict": found.verdict,
        "label": found.label,
        "sure": found.sure,
        "likelihood": found.likelihood if is_judged else "",
        "nothing": found.nothing,
        "confidences": [[label, round(p, 4)] for label, p in shown],
        "others": round(max(0.0, others), 4),
        "unknown_probability": round(found.unknown_probability, 4),
    }


def parsed(content: bytes) -> FrameRequest:
    """Return the request that a message contains.

    Raises:
        RequestError: It is too large, or its first line is not the JSON of a request.

    Example:
        >>> parsed(b'{"id": 7}\\n...').picture
        b'...'
    """
    arrived = time.perf_counter()
    if len(content) > MAX_FRAME_BYTES:
        raise RequestError(413, f"a frame may have {MAX_FRAME_BYTES} bytes: send a smaller one")
    line, _, picture = content.partition(b"\n")
    header = _header(line)
    number, camera = header.get("id"), header.get("camera", False)
    if type(number) is not int or not 0 <= number < MAX_ID:
        raise RequestError(400, 'a message starts with a line such as {"id": 7}')
    if not picture and camera is not True:
        raise RequestError(400, "the message has no picture after its first line")
    box, rate = box_of(header.get("box")), rate_of(header.get("false_accept"))
    wanted = header.get("heat") is True
    return FrameRequest(number, b"" if camera else picture, box, wanted, rate, arrived)


def _header(line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line) if len(line) <= MAX_HEADER else None
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise RequestError(400, 'a message starts with a line such as {"id": 7}')
    return header


def _error(number: int | None, error: RobocleError) -> str:
    return json.dumps({"event": "error", "id": number, "error": str(error)})
