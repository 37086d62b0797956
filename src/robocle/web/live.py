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
from robocle.types import Prediction
from robocle.web import requests
from robocle.web.answers import Heat
from robocle.web.queues import Client, Newest
from robocle.web.requests import FrameHeader, RequestError, from_json, require_picture
from robocle.web.security import BURST, REQUESTS_PER_SECOND, RateLimit
from robocle.web.service import Service

STALLED_SECONDS = 15.0
SHOWN = 4
"""How many labels have a bar. The others are summed up."""
ADVICE = 'a message starts with a line such as {"id": 7}'


@dataclass(frozen=True)
class FrameRequest:
    """A frame to recognise."""

    header: FrameHeader
    picture: bytes
    """Empty for a frame of the robot's camera."""
    arrived: float


Inbox = Newest[FrameRequest]


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
        service.clients.discard(client)
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
            dropped = inbox.put("frame", parsed(content))
        except RobocleError as error:
            client.outbox.put("error", _error(None, error))
        else:
            service.metrics.dropped.inc(dropped)


async def _recognise(service: Service, client: Client, inbox: Inbox) -> None:
    seen = -1
    while True:
        (request,) = await inbox.take()
        try:
            picture: Picture
            if request.picture:
                picture = request.picture
            else:
                seen, picture = await service.picture_of_camera(seen)
            answer = await _answer(service, client, request, picture)
            client.outbox.put("prediction", json.dumps(answer))
        except RobocleError as error:
            client.outbox.put("prediction", _error(request.header.id, error))
            if not request.picture:
                await asyncio.sleep(0.5)  # a camera that fails must not be asked in a loop


async def _answer(
    service: Service, client: Client, request: FrameRequest, picture: Picture
) -> dict[str, Any]:
    work = partial(_recognised, service, client, request.header, picture)
    found = await service.predicting.do(work)
    spent = time.perf_counter() - request.arrived
    service.metrics.prediction_seconds.observe(spent)
    given = {"event": "prediction", "id": request.header.id}
    return {**given, **found, "milliseconds": round(1e3 * spent, 1)}


def _recognised(
    service: Service, client: Client, header: FrameHeader, picture: Picture
) -> dict[str, Any]:
    """Return the answer to a frame. A thread does this, for one frame of a client at a time."""
    if isinstance(picture, bytes):
        require_picture(picture)
    learner, rate = service.shared.learner, service.shared.rate(header.false_accept)
    more: dict[str, Any] = {}
    try:
        if header.heat:
            found = learner.explain(picture, false_accept=rate, box=header.box)
            prediction, heat = found.prediction, Heat.of(found.heat)
            more = {"reason": found.reason, "heat": heat and heat.model_dump()}
            more["heat_of"] = prediction.nearest
        elif header.find and header.box is None and learner.finder is not None:
            finds = learner.find(picture, false_accept=rate)
            tracks = client.tracker.update(finds)
            prediction, more = finds[0].prediction, {"finds": [t.as_values() for t in tracks]}
        else:
            prediction = learner.predict(picture, false_accept=rate, box=header.box)
    except NothingTaughtError:
        nothing = {"empty": True, "label": None, "verdict": "unknown", "sure": False, "nothing": ""}
        return {**nothing, "confidences": [], "unknown_probability": 1}
    return {**_announced(client, prediction, service.shared.is_judged), **more}


def _announced(client: Client, prediction: Prediction, is_judged: bool) -> dict[str, Any]:
    found = client.filter.update(prediction)
    shown = found.top(SHOWN)
    others = found.known_probability - sum(p for _, p in shown)
    return {
        "empty": False,
        "verdict": found.verdict,
        "label": found.label,
        "nearest": found.nearest,
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
    if len(content) > requests.MAX_FRAME_BYTES:
        raise RequestError(
            413, f"a frame may have {requests.MAX_FRAME_BYTES} bytes: send a smaller one"
        )
    line, _, picture = content.partition(b"\n")
    if len(line) > requests.MAX_HEADER_BYTES:
        raise RequestError(400, f"the first line is too long: {ADVICE}")
    header = from_json(FrameHeader, line, ADVICE)
    if not picture and not header.camera:
        raise RequestError(400, f"the message has no picture after its first line: {ADVICE}")
    return FrameRequest(header, b"" if header.camera else picture, arrived)


def _error(number: int | None, error: RobocleError) -> str:
    return json.dumps({"event": "error", "id": number, "error": str(error)})
