"""Values in requests: what a client sends, checked before it is used."""

import asyncio
import json
import math
import re
from typing import Any, get_args

from starlette.requests import ClientDisconnect, Request

from robocle.errors import SpecError
from robocle.images.boxes import Box
from robocle.images.quality import Poor
from robocle.recognition import rate_named, require_rate
from robocle.recognition.explanation import Explanation
from robocle.web.limits import BODY_SECONDS, MAX_JSON_BYTES, RequestError
from robocle.web.service import Service
from robocle.web.shared_learner import Lesson

POOR = get_args(Poor)
LESSON = re.compile(r"[A-Za-z0-9_-]{1,64}")


async def body_of(request: Request, most: int) -> bytes:
    """Return the body of a request.

    Args:
        request: The request.
        most: How many bytes it may have.

    Raises:
        RequestError: It is too large, or takes too long.
    """
    service: Service = request.app.state.service
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > most:
        raise _too_large(most)
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                service.hold(len(chunk))
                size += len(chunk)
                if size > most:
                    raise _too_large(most)
                chunks.append(chunk)
    except TimeoutError as error:
        raise RequestError(408, f"the request took over {BODY_SECONDS} seconds") from error
    except ClientDisconnect as error:
        raise RequestError(400, "the request was cut off") from error
    finally:
        service.release(size)
    return b"".join(chunks)


async def json_of(request: Request, *names: str) -> list[str]:
    """Return texts of a JSON object in the body.

    Raises:
        RequestError: The body is not such an object.
    """
    wanted = ", ".join(f'"{name}": "..."' for name in names)
    content = await body_of(request, MAX_JSON_BYTES)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"the body is not JSON: send {{{wanted}}}") from error
    if not isinstance(found, dict) or not all(isinstance(found.get(n), str) for n in names):
        raise RequestError(400, f"the body lacks a value: send {{{wanted}}}")
    return [str(found[name]) for name in names]


def lesson_of(request: Request) -> Lesson:
    """Return how a picture is to be taught, from the query.

    Raises:
        RequestError: A value is missing or cannot be used.
    """
    query = request.query_params
    poor, name = query.get("poor", "warn"), query.get("lesson", "")
    if poor not in POOR:
        raise RequestError(400, f"poor must be one of {', '.join(POOR)}, not {poor[:40]!r}")
    if name and not LESSON.fullmatch(name):
        raise RequestError(400, "lesson must be 1 to 64 letters, digits, - or _")
    number = whole_number(request, "number", 0, 0, 1_000_000)
    return Lesson(label_of(request), poor, box_in_query(request), name, number)  # type: ignore[arg-type]


def label_of(request: Request) -> str:
    """Return the label in the query.

    Raises:
        RequestError: There is none.
    """
    label = request.query_params.get("label")
    if label is None:
        raise RequestError(400, "the label is missing: add ?label=mug to the address")
    return label


def whole_number(request: Request, name: str, default: int, low: int, high: int) -> int:
    """Return a whole number in the query.

    Raises:
        RequestError: It is none, or out of range.
    """
    text = request.query_params.get(name)
    if text is None:
        return default
    if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
        raise RequestError(400, f"{name} must be a whole number from {low} to {high}")
    return int(text)


def box_in_query(request: Request) -> Box | None:
    """Return the box in the query, such as box=10,20,100,80.

    Raises:
        RequestError: It is not four numbers.
    """
    text = request.query_params.get("box")
    if text is None:
        return None
    try:
        return box_of([float(part) for part in text.split(",")])
    except ValueError as error:
        raise RequestError(400, "box must be x,y,width,height in pixels") from error


def box_of(value: Any) -> Box | None:
    """Return a box from JSON; None for none.

    Raises:
        RequestError: It is not four numbers.

    Example:
        >>> box_of([10, 20, 100, 80])
        (10.0, 20.0, 100.0, 80.0)
    """
    if value is None:
        return None
    numbers = value if isinstance(value, list) and len(value) == 4 else []
    if not numbers or not all(_is_number(each) for each in numbers):
        raise RequestError(400, "box must be [x, y, width, height] in pixels")
    x, y, width, height = (float(each) for each in numbers)
    return x, y, width, height


def rate_in_query(request: Request) -> float | None:
    """Return the rate in the query, such as false_accept=0.01; None without one.

    Raises:
        RequestError: It is not a rate.
    """
    text = request.query_params.get("false_accept")
    if text is None:
        return None
    try:
        rate = rate_named(text)
    except ValueError as error:
        raise RequestError(
            400, f"false_accept must be a number, strict, normal or lenient, not {text[:40]!r}"
        ) from error
    return rate_of(rate)


def rate_of(value: Any) -> float | None:
    """Return a rate from JSON; None for none.

    Raises:
        RequestError: It is not a rate.

    Example:
        >>> rate_of(0.01)
        0.01
    """
    if value is None:
        return None
    try:
        require_rate(value)
    except SpecError as error:
        raise RequestError(400, str(error)[:200]) from error
    return float(value)


def explanation_values(found: Explanation) -> dict[str, Any]:
    """Return why a picture was called unknown, and where the evidence is, in percent, for JSON."""
    heat = None
    if found.heat is not None:
        rows, columns = found.heat.shape
        values = (100 * found.heat).round().astype(int).ravel().tolist()
        heat = {"rows": rows, "columns": columns, "values": values}
    return {"reason": found.reason, "heat": heat}


def _is_number(value: object) -> bool:
    if type(value) is int:
        return abs(value) < 1e9
    return type(value) is float and math.isfinite(value) and abs(value) < 1e9


def _too_large(most: int) -> RequestError:
    return RequestError(413, f"the request is too large: send at most {most} bytes")
