"""The HTTP API: one function per address. What it returns after a change is on disk."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

import robocle
from robocle.errors import CameraError
from robocle.images import Picture
from robocle.types import Prediction
from robocle.web.limits import MAX_PICTURE_BYTES, MAX_STATE_BYTES, RequestError
from robocle.web.openapi import description
from robocle.web.pictures import require_picture
from robocle.web.security import COOKIE, cookie_of
from robocle.web.service import Service
from robocle.web.values import (
    body_of,
    box_in_query,
    explanation_values,
    json_of,
    label_of,
    lesson_of,
    rate_in_query,
    whole_number,
)

CLIENT_HEADER = "x-robocle-client"
MOST_DRAWS = 10
COOKIE_SECONDS = 30 * 24 * 3600


def service_of(request: Request) -> Service:
    """Return the service behind a request."""
    service: Service = request.app.state.service
    return service


async def health(request: Request) -> Response:
    """Tell that the server answers."""
    return JSONResponse({"status": "ok", "robocle": robocle.__version__})


async def metrics(request: Request) -> Response:
    """Return the metrics in the text format of Prometheus."""
    service = service_of(request)
    gauges = await service.workers.predict(service.gauges)
    text = service.metrics.text(gauges)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


async def openapi(request: Request) -> Response:
    """Return the description of this API."""
    return JSONResponse(description())


async def session(request: Request) -> Response:
    """Give a browser that has sent the token a cookie, so that it can open the WebSocket."""
    response = JSONResponse({"status": "ok"})
    token: str = request.app.state.token
    if token:
        response.set_cookie(
            COOKIE,
            cookie_of(token),
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
    return response


async def labels(request: Request) -> Response:
    """Return the labels, each with its number of pictures and its readiness."""
    knowledge = await service_of(request).knowledge()
    return JSONResponse({"labels": knowledge["labels"]})


async def state(request: Request) -> Response:
    """Return what the learner knows, and where that is stored."""
    service = service_of(request)
    about = await service.workers.predict(service.shared.about)
    return JSONResponse({**await service.knowledge(), **about})


async def teach(request: Request) -> Response:
    """Teach one picture."""
    lesson = lesson_of(request)
    picture = await _picture(request)
    given = request.headers.get(CLIENT_HEADER, "")
    by = int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0
    return JSONResponse(await service_of(request).teach(picture, lesson, by))


async def predict(request: Request) -> Response:
    """Recognise one picture."""
    service = service_of(request)
    box, top = box_in_query(request), whole_number(request, "top", 5, 1, 1000)
    rate = rate_in_query(request)
    picture = await _picture(request)
    if request.query_params.get("explain") == "true":
        work = partial(service.shared.explain, picture, box, rate)
        explained = await service.workers.predict(work)
        values = explanation_values(explained)
        return JSONResponse({**_values(explained.prediction, top), **values})
    found = await service.workers.predict(partial(service.shared.predict, picture, box, rate))
    return JSONResponse(_values(found, top))


async def undo(request: Request) -> Response:
    """Undo the last step."""
    service = service_of(request)
    step = request.query_params.get("step")
    return JSONResponse(await service.change(partial(service.shared.undo, step)))


async def redo(request: Request) -> Response:
    """Redo the step that was undone last."""
    service = service_of(request)
    step = request.query_params.get("step")
    return JSONResponse(await service.change(partial(service.shared.redo, step)))


async def forget(request: Request) -> Response:
    """Forget a label."""
    service = service_of(request)
    (label,) = await json_of(request, "label")
    return JSONResponse(await service.change(partial(service.shared.forget, label)))


async def rename(request: Request) -> Response:
    """Rename a label."""
    service = service_of(request)
    label, new_label = await json_of(request, "label", "new_label")
    return JSONResponse(await service.change(partial(service.shared.rename, label, new_label)))


async def check(request: Request) -> Response:
    """Test one picture clean and under corruptions."""
    service = service_of(request)
    label, draws = label_of(request), whole_number(request, "draws", 3, 1, MOST_DRAWS)
    picture = require_picture(await body_of(request, MAX_PICTURE_BYTES))
    work = partial(service.shared.check, picture, label, draws)
    return JSONResponse(await service.workers.predict(work))


async def export_state(request: Request) -> Response:
    """Return the state as a file to send to another device."""
    service = service_of(request)
    content = await service.workers.change(service.shared.state_to_send)
    return _download(content, service.shared.path.name)


async def export_onnx(request: Request) -> Response:
    """Return the learner as an ONNX model."""
    service = service_of(request)
    content = await service.workers.predict(service.shared.onnx_model)
    return _download(content, f"{service.shared.path.stem}.onnx")


async def import_state(request: Request) -> Response:
    """Merge a state that was exported elsewhere. This can be undone."""
    service = service_of(request)
    content = await body_of(request, MAX_STATE_BYTES)
    return JSONResponse(await service.change(partial(service.shared.merge, content)))


async def camera_stream(request: Request) -> Response:
    """Return the frames of the robot's camera, as a stream of JPEGs that browsers show."""
    service = service_of(request)
    if service.camera is None:
        raise RequestError(404, "this server has no camera: start it with --camera")
    kind = "multipart/x-mixed-replace; boundary=frame"
    return StreamingResponse(_frames(service), media_type=kind)


async def _frames(service: Service) -> AsyncIterator[bytes]:
    number = -1
    while not service.stopping and service.camera is not None:
        try:
            found = await asyncio.to_thread(service.camera.newest_jpeg, number, 0.5)
        except CameraError:
            await asyncio.sleep(0.5)
            continue
        if found is not None:
            number, content = found
            head = f"--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {len(content)}\r\n\r\n"
            yield head.encode() + content + b"\r\n"


async def _picture(request: Request) -> Picture:
    """Return the picture of a request: its body, or the newest frame of the robot's camera."""
    if request.query_params.get("source") == "camera":
        _, pixels = await service_of(request).picture_of_camera()
        return pixels
    return require_picture(await body_of(request, MAX_PICTURE_BYTES))


def _values(found: Prediction, top: int) -> dict[str, Any]:
    return {
        "label": found.label,
        "sure": found.sure,
        "nothing": found.nothing,
        "confidence": found.confidence,
        "nearest": found.nearest,
        "known_probability": found.known_probability,
        "unknown_probability": found.unknown_probability,
        "familiarity": found.familiarity,
        "confidences": dict(found.top(top)),
    }


def _download(content: bytes, name: str) -> Response:
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    headers = {"Content-Disposition": f'attachment; filename="{plain}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)
