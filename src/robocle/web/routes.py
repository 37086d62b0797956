"""The HTTP API: one function per address. What it returns after a change is on disk.

The description of the API is generated from the types of these functions. Bodies are not read by
FastAPI: they are limited in size and time while they arrive.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from fastapi import APIRouter
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from robocle.errors import CameraError
from robocle.images import Picture
from robocle.recognition.explanation import Explanation
from robocle.types import Prediction
from robocle.web import answers
from robocle.web.requests import (
    MAX_JSON_BYTES,
    MAX_PICTURE_BYTES,
    MAX_STATE_BYTES,
    BoxInQuery,
    Draws,
    Explain,
    Forget,
    Label,
    LessonName,
    LessonNumber,
    Model,
    PoorPicture,
    RateInQuery,
    Rename,
    RequestError,
    Source,
    StepId,
    Top,
    body_of,
    from_json,
    require_picture,
)
from robocle.web.security import cookie_name, cookie_of
from robocle.web.service import Service
from robocle.web.shared_learner import Lesson

CLIENT_HEADER = "x-robocle-client"
COOKIE_SECONDS = 30 * 24 * 3600
STREAM = "multipart/x-mixed-replace"
BYTES = "application/octet-stream"
FILE = {"type": "string", "format": "binary"}
PICTURE_KINDS = ("image/jpeg", "image/png", "image/webp")
MEANINGS = {
    400: "A value is missing or malformed.",
    401: "The token is missing or wrong.",
    403: "The request comes from a page of another site.",
    404: "The label was never taught, or the server has no camera.",
    405: "The method is another one.",
    408: "The body took too long.",
    409: "Nothing was taught, or nothing can be undone, or the next step is not the expected one.",
    413: "The body is too large.",
    421: "The Host is no name of this server.",
    422: "The picture, the label or the file cannot be used; the error says why.",
    429: "Too many requests.",
    503: "The server is busy, or the camera or the disk fails.",
}


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {
        status: {"model": answers.Refusal, "description": MEANINGS[status]} for status in statuses
    }


def _file(kind: str, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of an answer that is a file."""
    return {200: {"content": {kind: {"schema": FILE}}}, **_refusals(*statuses)}


def _body(description: str, schema: dict[str, Any], *kinds: str, required: bool) -> dict[str, Any]:
    content = {kind: {"schema": schema} for kind in kinds}
    return {"requestBody": {"description": description, "content": content, "required": required}}


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return _body(model.__doc__ or "", model.model_json_schema(), "application/json", required=True)


def _picture(*, required: bool) -> dict[str, Any]:
    what = f"The bytes of a picture, at most {MAX_PICTURE_BYTES}."
    return _body(what, FILE, *PICTURE_KINDS, required=required)


UPLOAD = _refusals(404, 408, 409, 413)
STATE_FILE = _body(
    f"A state file that was exported, at most {MAX_STATE_BYTES} bytes.", FILE, BYTES, required=True
)
api = APIRouter(responses=_refusals(400, 401, 403, 405, 421, 422, 429, 503))


def service_of(request: Request) -> Service:
    """Return the service behind a request."""
    service: Service = request.app.state.service
    return service


@api.get("/api/health")
async def health() -> answers.Health:
    """Tell that the server answers."""
    return answers.Health()


@api.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    service = service_of(request)
    text = await service.workers.predict(partial(generate_latest, service.metrics.registry))
    return Response(text, media_type=CONTENT_TYPE_LATEST)


@api.post("/api/session")
async def session(request: Request, response: Response) -> answers.Session:
    """Exchange the token for a cookie, so that a browser can open the WebSocket."""
    token: str = request.app.state.token
    if token:
        response.set_cookie(
            cookie_name(request),
            cookie_of(token),
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
    return answers.Session()


@api.get("/api/labels")
async def labels(request: Request) -> answers.Labels:
    """List the labels with their readiness."""
    knowledge = await service_of(request).knowledge()
    return answers.Labels(labels=knowledge.labels)


@api.get("/api/state")
async def state(request: Request) -> answers.State:
    """Describe what was learned, and where it is."""
    service = service_of(request)
    return await service.workers.predict(service.shared.state)


@api.post("/api/teach", responses=UPLOAD, openapi_extra=_picture(required=False))
async def teach(
    request: Request,
    label: Label,
    poor: PoorPicture = "warn",
    box: BoxInQuery = None,
    lesson: LessonName = "",
    number: LessonNumber = 0,
    source: Source = None,
) -> answers.Taught:
    """Teach one picture; it is on disk when the answer arrives."""
    picture = await _picture_of(request, source)
    given = request.headers.get(CLIENT_HEADER, "")
    by = int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0
    return await service_of(request).teach(picture, Lesson(label, poor, box, lesson, number), by)


@api.post(
    "/api/predict",
    responses=UPLOAD,
    openapi_extra=_picture(required=False),
    response_model_exclude_unset=True,
)
async def predict(
    request: Request,
    box: BoxInQuery = None,
    top: Top = 5,
    false_accept: RateInQuery = None,
    explain: Explain = False,
    source: Source = None,
) -> answers.Prediction:
    """Recognise one picture."""
    service = service_of(request)
    picture = await _picture_of(request, source)
    shared = service.shared
    work: Callable[[], Prediction | Explanation]
    work = partial(shared.explain if explain else shared.predict, picture, box, false_accept)
    found = await service.workers.predict(work)
    return answers.Prediction.of(found, top)


@api.post("/api/undo", responses=_refusals(409))
async def undo(request: Request, step: StepId = None) -> answers.Undone:
    """Undo the last step."""
    service = service_of(request)
    return await service.change(partial(service.shared.undo, step))


@api.post("/api/redo", responses=_refusals(409))
async def redo(request: Request, step: StepId = None) -> answers.Redone:
    """Redo the step that was undone last."""
    service = service_of(request)
    return await service.change(partial(service.shared.redo, step))


@api.post("/api/forget", responses=UPLOAD, openapi_extra=_json(Forget))
async def forget(request: Request) -> answers.Forgot:
    """Forget a label."""
    service = service_of(request)
    given = await _json_of(request, Forget)
    return await service.change(partial(service.shared.forget, given.label))


@api.post("/api/rename", responses=UPLOAD, openapi_extra=_json(Rename))
async def rename(request: Request) -> answers.Renamed:
    """Rename a label."""
    service = service_of(request)
    given = await _json_of(request, Rename)
    return await service.change(partial(service.shared.rename, given.label, given.new_label))


@api.post("/api/check", responses=UPLOAD, openapi_extra=_picture(required=True))
async def check(request: Request, label: Label, draws: Draws = 3) -> answers.Check:
    """Test one picture clean and under corruptions; nothing is taught."""
    service = service_of(request)
    picture = require_picture(await body_of(request, MAX_PICTURE_BYTES))
    return await service.workers.predict(partial(service.shared.check, picture, label, draws))


@api.get("/api/export/state", responses=_file(BYTES), response_class=Response)
async def export_state(request: Request) -> Response:
    """Download the state, to send it to another device."""
    service = service_of(request)
    content = await service.workers.change(service.shared.state_to_send)
    return _download(content, service.shared.path.name)


@api.get("/api/export/onnx", responses=_file(BYTES, 409), response_class=Response)
async def export_onnx(request: Request) -> Response:
    """Download the learner as an ONNX model."""
    service = service_of(request)
    content = await service.workers.predict(service.shared.onnx_model)
    return _download(content, f"{service.shared.path.stem}.onnx")


@api.post("/api/import", responses=UPLOAD, openapi_extra=STATE_FILE)
async def import_state(request: Request) -> answers.Merged:
    """Merge a state that was exported elsewhere. This can be undone."""
    service = service_of(request)
    content = await body_of(request, MAX_STATE_BYTES)
    return await service.change(partial(service.shared.merge, content))


@api.get("/api/camera", responses=_file(STREAM, 404), response_class=Response)
async def camera(request: Request) -> Response:
    """The frames of the robot's camera, as a stream of JPEGs that browsers show."""
    service = service_of(request)
    if service.camera is None:
        raise RequestError(404, "this server has no camera: start it with --camera")
    return StreamingResponse(_frames(service), media_type=f"{STREAM}; boundary=frame")


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


async def _picture_of(request: Request, source: Source) -> Picture:
    """Return the picture of a request: its body, or the newest frame of the robot's camera."""
    if source == "camera":
        _, pixels = await service_of(request).picture_of_camera()
        return pixels
    return require_picture(await body_of(request, MAX_PICTURE_BYTES))


async def _json_of(request: Request, model: type[Model]) -> Model:
    wanted = ", ".join(f'"{name}": "..."' for name in model.model_fields)
    content = await body_of(request, MAX_JSON_BYTES)
    return from_json(model, content, f"send {{{wanted}}}")


def _download(content: bytes, name: str) -> Response:
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    headers = {"Content-Disposition": f'attachment; filename="{plain}"'}
    return Response(content, media_type=BYTES, headers=headers)
