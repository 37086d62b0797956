"""The application: which address leads to which function."""

import asyncio
import gzip
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, get_type_hints

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute

import robocle
from robocle import errors
from robocle.errors import QualityError, RobocleError, StateError
from robocle.spec import suggestion
from robocle.web.answers import Complaint, Refusal
from robocle.web.live import live
from robocle.web.requests import Parameters, RequestError, fault
from robocle.web.routes import api
from robocle.web.security import AllowedHosts, Security
from robocle.web.service import Service

ABOUT = (
    "Teach a device new objects from a few pictures each, and recognise them later. The WebSocket "
    "/api/v1/live takes frames and sends predictions and changes."
)
PAGE = Path(__file__).parent / "page"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
STATUSES: tuple[tuple[type[RobocleError], int], ...] = (
    (errors.UnknownLabelError, 404),
    (errors.UnknownSampleError, 404),
    (errors.NothingTaughtError, 409),
    (errors.NothingToUndoError, 409),
    (errors.NotLastStepError, 409),
    (errors.StateAccessError, 503),
    (errors.CameraError, 503),
    (RobocleError, 422),
)
"""The HTTP status of each kind of error; the first that fits counts."""


class _Api(FastAPI):
    """Also describes the token, which is not checked by FastAPI."""

    def openapi(self) -> dict[str, Any]:
        """Return the description of the API."""
        described = super().openapi()
        scheme = {"type": "http", "scheme": "bearer"}
        described["components"]["securitySchemes"] = {"token": scheme}
        described["security"] = [{"token": []}, {}]
        return described


def create_app(service: Service, hosts: AllowedHosts, token: str = "") -> Security:
    """Return the application.

    Args:
        service: The learner and all that belongs to it. It is closed when the server stops.
        hosts: The names of this server.
        token: What clients must know; empty for none.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        telling = asyncio.create_task(service.tell_changes())
        yield
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling
        await asyncio.to_thread(service.close)

    app = _Api(
        title="robocle",
        version=robocle.__version__,
        description=ABOUT,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # the pages of FastAPI load scripts from other hosts
        redoc_url=None,
        routes=[WebSocketRoute("/api/v1/live", live), *_page_routes()],
        exception_handlers={
            RobocleError: _robocle_error,
            HTTPException: _http_error,
            RequestValidationError: _value_error,
        },
        lifespan=lifespan,
    )
    app.include_router(api)
    app.state.service = service
    app.state.token = token
    return Security(app, hosts, token, service.metrics)


async def _robocle_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RobocleError)
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    if isinstance(error, RequestError):
        status = error.status
    if isinstance(error, StateError) and not request.app.state.service.shared.learner.is_saved:
        status = 503  # whatever the request is, the file of the state is gone
    said = str(error).replace("save to another file", "download the state from the second page")
    values: dict[str, Any] = {"error": said}
    if isinstance(error, QualityError):
        values["complaints"] = [Complaint.model_validate(each) for each in error.complaints]
    return JSONResponse(Refusal(**values).model_dump(exclude_unset=True), status)


async def _value_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name, advice = str(first["loc"][-1]), ""
    if first["type"] == "missing":
        advice = f": add ?{name}=... to the address"
    elif first["type"] == "extra_forbidden":
        advice = f": {suggestion(name, _parameters(request.scope['endpoint']))}"
    return JSONResponse({"error": fault(first) + advice}, 400)


def _parameters(endpoint: Callable[..., Any]) -> list[str]:
    """Return the names that the address of a request may have."""
    kinds = [each for each in get_type_hints(endpoint).values() if isinstance(each, type)]
    return [name for each in kinds if issubclass(each, Parameters) for name in each.model_fields]


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = repr(request.scope["path"][:100])
    reasons = {
        404: f"there is no address {path}: /api/v1/openapi.json lists those that there are",
        405: f"{path} does not take {request.method}: send {(error.headers or {}).get('Allow')}",
    }
    reason = reasons.get(error.status_code, error.detail)
    return JSONResponse({"error": reason}, error.status_code, error.headers)


def _page_routes() -> list[Route]:
    """Return the addresses of the page's files, which are read once."""
    files = [path for path in sorted(PAGE.iterdir()) if path.suffix in KINDS]
    return [
        Route("/" if path.name == "index.html" else f"/{path.name}", _file(path)) for path in files
    ]


def _file(path: Path) -> Callable[[Request], Any]:
    content, kind = path.read_bytes(), KINDS[path.suffix]
    packed = gzip.compress(content, mtime=0)
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}

    async def send(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            zipped = {**headers, "Content-Encoding": "gzip"}
            return Response(packed, media_type=kind, headers=zipped)
        return Response(content, media_type=kind, headers=headers)

    return send
