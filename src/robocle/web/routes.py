"""The HTTP API: one function per address. What it returns after a change is on disk.

The description of the API is generated from the types of these functions. Bodies are not read by
FastAPI: they are limited in size and time while they arrive.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any, get_origin

from fastapi import APIRouter, Depends, Query
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from robocle.errors import CameraError
from robocle.images import Picture
from robocle.web import answers, requests
from robocle.web.requests import RequestError
from robocle.web.security import cookie_name, cookie_of
from robocle.web.service import Service

CLIENT_HEADER = "x-robocle-client"
COOKIE_SECONDS = 30 * 24 * 3600
BYTES, STREAM = "application/octet-stream", "multipart/x-mixed-replace"
FILE = {"type": "string", "format": "binary"}
PICTURE_KINDS = ("image/jpeg", "image/png", "image/webp")


def _answer(kind: str) -> dict[str, Any]:
    """Return the description of an answer that is not JSON. Refusals are."""
    return {"response_class": Response, "responses": {200: {"content": {kind: {"schema": FILE}}}}}


def _body(what: str, *kinds: str, schema: dict[str, Any] = FILE) -> dict[str, Any]:
    """Return the description of a body that FastAPI does not read."""
    content = {kind: {"schema": schema} for kind in kinds}
    return {"requestBody": {"description": what, "content": content, "required": True}}


def _json(model: type[BaseModel]) -> dict[str, Any]:
    """Return the description of a body that is a JSON object."""
    return _body(model.__doc__ or "", "application/json", schema=model.model_json_schema())


async def _service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Served = Annotated[Service, Depends(_service_of)]
PICTURE = _body(f"A picture, at most {requests.MAX_PICTURE_BYTES} bytes.", *PICTURE_KINDS)
PICTURE_OR_CAMERA = {"requestBody": {**PICTURE["requestBody"], "required": False}}
STATE = _body(f"A state, at most {requests.MAX_STATE_BYTES} bytes.", BYTES)
refusal = {"model": answers.Refusal, "description": "It was refused; the error says why."}
api = APIRouter(responses={"4XX": refusal, "503": refusal})


@api.get("/api/v1/health")
async def health() -> answers.Health:
    """Tell that the server answers."""
    return answers.Health()


@api.get("/metrics", **_answer("text/plain"))
async def metrics(service: Served) -> Response:
    """Metrics for Prometheus."""
    text = await service.predicting.do(partial(generate_latest, service.metrics.registry))
    return Response(text, media_type=CONTENT_TYPE_LATEST)


@api.post("/api/v1/session")
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


@api.get("/api/v1/labels")
async def labels(service: Served) -> answers.Labels:
    """List the labels with their readiness."""
    knowledge = await service.predicting.do(service.shared.knowledge)
    return answers.Labels(labels=knowledge.labels)


@api.get("/api/v1/state")
async def state(service: Served) -> answers.State:
    """Describe what was learned, and where it is."""
    return await service.predicting.do(service.shared.state)


@api.post("/api/v1/teach", openapi_extra=PICTURE_OR_CAMERA)
async def teach(
    request: Request, service: Served, lesson: Annotated[requests.Lesson, Query()]
) -> answers.Taught:
    """Teach one picture; it is on disk when the answer arrives."""
    given = request.headers.get(CLIENT_HEADER, "")
    by = int(given) if given.isascii() and given.isdigit() and len(given) < 10 else 0
    async with _picture_of(request, service, lesson.source) as picture:
        return await service.teach(picture, lesson, by)


@api.post("/api/v1/predict", openapi_extra=PICTURE_OR_CAMERA, response_model_exclude_unset=True)
async def predict(
    request: Request, service: Served, question: Annotated[requests.Question, Query()]
) -> answers.Prediction:
    """Recognise one picture."""
    async with _picture_of(request, service, question.source) as picture:
        return await service.predicting.do(partial(service.shared.answer, picture, question))


@api.post("/api/v1/find", openapi_extra=PICTURE_OR_CAMERA, response_model_exclude_unset=True)
async def find(
    request: Request, service: Served, search: Annotated[requests.Search, Query()]
) -> answers.Finds:
    """Find objects in one picture. Without a finder, the whole picture is looked at."""
    async with _picture_of(request, service, search.source) as picture:
        return await service.predicting.do(partial(service.shared.find, picture, search))


@api.get("/api/v1/samples")
async def samples(service: Served, label: requests.Label) -> answers.Samples:
    """List the taught pictures of a label, and how well each is recognised when left out."""
    return await service.predicting.do(partial(service.shared.samples, label))


@api.post("/api/v1/remove", openapi_extra=_json(requests.Remove))
async def remove(request: Request, service: Served) -> answers.Removed:
    """Remove taught pictures."""
    given = await _json_of(request, requests.Remove)
    return await service.change(partial(service.shared.remove, given.ids))


@api.post("/api/v1/badge", openapi_extra=_json(requests.Badge))
async def badge(request: Request, service: Served) -> answers.Badges:
    """Choose an emoji or a colour for a label."""
    given = await _json_of(request, requests.Badge)
    return await service.change(partial(service.shared.set_badge, given.label, given.badge))


@api.post("/api/v1/forget", openapi_extra=_json(requests.Forget))
async def forget(request: Request, service: Served) -> answers.Forgot:
    """Forget a label."""
    given = await _json_of(request, requests.Forget)
    return await service.change(partial(service.shared.forget, given.label))


@api.post("/api/v1/rename", openapi_extra=_json(requests.Rename))
async def rename(request: Request, service: Served) -> answers.Renamed:
    """Rename a label. If the new name is a label already, the two become one."""
    given = await _json_of(request, requests.Rename)
    return await service.change(partial(service.shared.rename, given.label, given.new_label))


@api.post("/api/v1/revert")
async def revert(service: Served, step: requests.EarlierStep) -> answers.Undone:
    """Undo a step that others may have followed; these stay."""
    return await service.change(partial(service.shared.revert, step))


@api.post("/api/v1/undo")
async def undo(service: Served, given: Annotated[requests.Expected, Query()]) -> answers.Undone:
    """Undo the last step."""
    return await service.change(partial(service.shared.undo, given.step))


@api.post("/api/v1/redo")
async def redo(service: Served, given: Annotated[requests.Expected, Query()]) -> answers.Redone:
    """Redo the step that was undone last."""
    return await service.change(partial(service.shared.redo, given.step))


@api.post("/api/v1/check", openapi_extra=PICTURE)
async def check(
    request: Request, service: Served, given: Annotated[requests.ToCheck, Query()]
) -> answers.Check:
    """Test one picture clean and under corruptions; nothing is taught."""
    async with _uploaded(request) as picture:
        work = partial(service.shared.check, picture, given.label, given.draws)
        return await service.predicting.do(work)


@api.get("/api/v1/export/state", **_answer(BYTES))
async def export_state(service: Served) -> Response:
    """Download the state, to send it to another device."""
    content = await service.changing.do(service.shared.state_to_send)
    return _download(content, service.shared.path.name)


@api.get("/api/v1/export/onnx", **_answer(BYTES))
async def export_onnx(service: Served) -> Response:
    """Download the learner as an ONNX model."""
    content = await service.predicting.do(service.shared.onnx_model)
    return _download(content, f"{service.shared.path.stem}.onnx")


@api.post("/api/v1/import", openapi_extra=STATE)
async def import_state(request: Request, service: Served) -> answers.Merged:
    """Merge a state that was exported elsewhere. This can be undone."""
    with service.shared.folder() as folder, open(folder / "sent", "wb") as file:
        async with requests.body_of(request, requests.MAX_STATE_BYTES, file):
            file.close()
            return await service.change(partial(service.shared.merge, folder / "sent"))


@api.get("/api/v1/camera", **_answer(STREAM))
async def camera(service: Served) -> Response:
    """The frames of the robot's camera, as a stream of JPEGs."""
    if service.camera is None:
        raise RequestError(404, "this server has no camera: start it with --camera")
    return StreamingResponse(_frames(service), media_type=f"{STREAM}; boundary=frame")


def _download(content: bytes, name: str) -> Response:
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    headers = {"Content-Disposition": f'attachment; filename="{plain}"'}
    return Response(content, media_type=BYTES, headers=headers)


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


@asynccontextmanager
async def _picture_of(
    request: Request, service: Service, source: str | None
) -> AsyncIterator[Picture]:
    """Lend the picture of a request: its body, or the newest frame of the robot's camera."""
    if source == "camera":
        _, pixels = await service.picture_of_camera()
        yield pixels
        return
    async with _uploaded(request) as content:
        yield content


@asynccontextmanager
async def _uploaded(request: Request) -> AsyncIterator[bytes]:
    async with requests.body_of(request, requests.MAX_PICTURE_BYTES) as body:
        yield requests.require_picture(body.read())


async def _json_of(request: Request, model: type[requests.Model]) -> requests.Model:
    wanted = ", ".join(
        f'"{name}": ["..."]' if get_origin(field.annotation) is list else f'"{name}": "..."'
        for name, field in model.model_fields.items()
    )
    async with requests.body_of(request, requests.MAX_JSON_BYTES) as body:
        return requests.from_json(model, body.read(), f"send {{{wanted}}}")
