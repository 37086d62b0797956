"""The application: which address leads to which function."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute

from robocle.errors import (
    CameraError,
    NothingTaughtError,
    NothingToUndoError,
    NotLastStepError,
    QualityError,
    RobocleError,
    StateAccessError,
    StateError,
    UnknownLabelError,
)
from robocle.web import routes
from robocle.web.limits import RequestError
from robocle.web.live import live
from robocle.web.security import AllowedHosts, Security
from robocle.web.service import Service

PAGE = Path(__file__).parent / "page"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
STATUSES: tuple[tuple[type[RobocleError], int], ...] = (
    (UnknownLabelError, 404),
    (NothingTaughtError, 409),
    (NothingToUndoError, 409),
    (NotLastStepError, 409),
    (StateAccessError, 503),
    (CameraError, 503),
    (RobocleError, 422),
)
"""The HTTP status of each kind of error; the first that fits counts."""
API: tuple[tuple[str, str, Callable[[Request], Any]], ...] = (
    ("GET", "/api/health", routes.health),
    ("GET", "/api/openapi.json", routes.openapi),
    ("POST", "/api/session", routes.session),
    ("GET", "/api/labels", routes.labels),
    ("GET", "/api/state", routes.state),
    ("POST", "/api/teach", routes.teach),
    ("POST", "/api/predict", routes.predict),
    ("POST", "/api/undo", routes.undo),
    ("POST", "/api/redo", routes.redo),
    ("POST", "/api/forget", routes.forget),
    ("POST", "/api/rename", routes.rename),
    ("POST", "/api/check", routes.check),
    ("GET", "/api/export/state", routes.export_state),
    ("GET", "/api/export/onnx", routes.export_onnx),
    ("POST", "/api/import", routes.import_state),
    ("GET", "/api/camera", routes.camera_stream),
    ("GET", "/metrics", routes.metrics),
)


def create_app(service: Service, hosts: AllowedHosts, token: str = "") -> Security:
    """Return the application.

    Args:
        service: The learner and all that belongs to it. It is closed when the server stops.
        hosts: The names of this server.
        token: What clients must know; empty for none.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        telling = asyncio.create_task(service.tell_changes())
        yield
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling
        await asyncio.to_thread(service.close)

    addresses = [Route(path, work, methods=[method]) for method, path, work in API]
    app = Starlette(
        routes=[*addresses, WebSocketRoute("/api/live", live), *_page_routes()],
        exception_handlers={RobocleError: _robocle_error, HTTPException: _http_error},
        lifespan=lifespan,
    )
    app.state.service = service
    app.state.token = token
    return Security(app, hosts, token, service.metrics)


def status_of(error: RobocleError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, RequestError):
        return error.status
    return next(status for kind, status in STATUSES if isinstance(error, kind))


async def _robocle_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RobocleError)
    status = status_of(error)
    if isinstance(error, StateError) and not request.app.state.service.shared.learner.is_saved:
        status = 503  # whatever the request is, the file of the state is gone
    content: dict[str, Any] = {"error": str(error)}
    if isinstance(error, QualityError):
        content["complaints"] = [
            {"kind": each.kind, "advice": each.advice} for each in error.complaints
        ]
    return JSONResponse(content, status)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


def _page_routes() -> list[Route]:
    """Return the addresses of the page's files, which are read once."""
    files = [path for path in sorted(PAGE.iterdir()) if path.suffix in KINDS]
    return [
        Route("/" if path.name == "index.html" else f"/{path.name}", _file(path)) for path in files
    ]


def _file(path: Path) -> Callable[[Request], Any]:
    content, kind = path.read_bytes(), KINDS[path.suffix]
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}

    async def send(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    return send
