"""Requests: their types and limits. All of a request is checked before it is used.

The types of this file check the values in queries, bodies and messages, and the description of the
API is generated from them. A picture is raw bytes: they are counted while they arrive, and its
format and size are read from its header.
"""

import asyncio
import io
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import IO, Annotated, Any, Literal, TypeVar

from fastapi import Query
from PIL import Image
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from starlette.requests import ClientDisconnect, Request

from robocle import recognition
from robocle.classifiers.labels import MAX_LABEL_LENGTH
from robocle.errors import ImageError, RobocleError
from robocle.images.opening import opened
from robocle.learner.finding import MOST_BOXES
from robocle.spec import suggestion

MAX_FRAME_BYTES = 2_000_000
"""The largest message over the WebSocket. A frame of the page has about 20 kB."""
MAX_FRAME_ID = 2**53
MAX_HEADER_BYTES = 1000
"""The longest first line of a message over the WebSocket."""
MAX_PICTURE_BYTES = 25_000_000
"""The largest picture that can be uploaded."""
MAX_PICTURE_PIXELS = {"JPEG": 64_000_000, "MPO": 64_000_000, "PNG": 16_000_000, "WEBP": 16_000_000}
"""How many pixels a picture may have, by format: a JPEG is reduced while it is decoded."""
MAX_STATE_BYTES = 200_000_000
"""The largest state that can be imported."""
MAX_JSON_BYTES = 20_000
MAX_BYTES_IN_FLIGHT = 500_000_000
"""What all requests together may hold in memory."""
MAX_CLIENTS = 64
"""How many WebSockets may be open."""
MAX_LABELS = 2000
MAX_FAULT_LENGTH = 200
"""The longest description of a value that cannot be used."""
BODY_SECONDS = 60
"""How long a client may take to send a request."""
STARTS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF")

Model = TypeVar("Model", bound=BaseModel)


class RequestError(RobocleError, ValueError):
    """A request that the server refuses.

    Attributes:
        status: The HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def _four(value: Any) -> Any:
    """Return the four values of a box, which is a list in JSON and a text in a query."""
    if isinstance(value, list) and value and isinstance(value[-1], str):
        value = value[-1].split(",")
    if isinstance(value, list) and len(value) != 4:
        raise ValueError("must be x,y,width,height in pixels")
    return tuple(value) if isinstance(value, list) else value


def _rate(value: Any) -> Any:
    try:
        rate = recognition.rate_named(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("must be a number, strict, normal or lenient") from None
    if rate is not None:
        recognition.require_rate(rate)
    return rate


COORDINATE = r"-?[0-9]{1,9}(\.[0-9]{1,9})?"
RATES = [
    {"type": "number", "minimum": recognition.SMALLEST_RATE, "maximum": recognition.LARGEST_RATE},
    {"const": int(recognition.NEVER_UNKNOWN)},
    {"enum": list(recognition.NAMED_RATES)},
]
Coordinate = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
Box = Annotated[
    tuple[Coordinate, Coordinate, Coordinate, Coordinate] | None, BeforeValidator(_four)
]
BoxInQuery = Annotated[
    Box, WithJsonSchema({"type": "string", "pattern": "^" + ",".join([COORDINATE] * 4) + "$"})
]
Rate = Annotated[float | None, BeforeValidator(_rate), WithJsonSchema({"anyOf": RATES})]
Source = Annotated[Literal["camera"] | None, WithJsonSchema({"enum": ["camera"]})]
Label = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": MAX_LABEL_LENGTH})]
EarlierStep = Annotated[
    str, Field(json_schema_extra={"minLength": 1, "maxLength": 1000}), Query(description="Its id.")
]


class Parameters(BaseModel):
    """The values in the address of a request. A misspelt one must not count as left out."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class Expected(Parameters):
    """Which step is to be undone or redone."""

    step: Annotated[str | None, WithJsonSchema({"type": "string", "maxLength": 1000})] = None
    """The id of the step that is expected, as in the answer to a change, in `steps` or in `undone`.
    If it is not the next one, because another program changed the state, nothing is changed."""


class _OfPicture(Parameters):
    source: Source = None
    """`camera` for the newest frame of the robot's camera; no body then."""


class Lesson(_OfPicture):
    """How one picture is to be taught."""

    label: Label
    """What the picture shows."""
    poor: Literal["warn", "refuse", "accept"] = "warn"
    """What to do about a dark, blurred or repeated picture: teach it and list its faults, refuse
    it, or teach it unchecked."""
    box: BoxInQuery = None
    """Use only this region: x,y,width,height in pixels of the upright picture."""
    lesson: str = Field("", pattern="^[A-Za-z0-9_-]{0,64}$")
    """Pictures of the same lesson are undone together, and each number is taught only once, so a
    request whose answer was lost can be repeated."""
    number: int = Field(0, ge=0, le=1_000_000)
    """The number of the picture in its lesson."""


class Question(_OfPicture):
    """How one picture is to be recognised."""

    box: BoxInQuery = None
    """Use only this region: x,y,width,height in pixels of the upright picture."""
    top: int = Field(5, ge=1, le=1000)
    """How many labels to list."""
    false_accept: Rate = None
    """The fraction of unrelated objects that may be mistaken for a taught one: 0.001 to 0.5, or 1
    to call nothing unknown. Without it, the rate that the server was started with counts."""
    explain: bool = False
    """Add a reason and a heat map."""


class Search(_OfPicture):
    """How objects are to be found in a picture."""

    most: int = Field(8, ge=1, le=MOST_BOXES)
    """How many boxes to look at."""
    top: int = Field(5, ge=1, le=1000)
    """How many labels to list of each."""
    false_accept: Rate = None
    """As in `predict`."""


class ToCheck(Parameters):
    """How one picture is to be tested."""

    label: Label
    """What the picture shows."""
    draws: int = Field(3, ge=1, le=10)
    """Variants per corruption."""


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class Forget(_Strict):
    """The label to forget."""

    label: str


class Rename(Forget):
    """The label to rename, and its new name."""

    new_label: str


class Badge(Forget):
    """How programs show a label: an emoji, a colour such as #2a6fdb, or nothing."""

    badge: str


class Remove(_Strict):
    """The ids of the pictures to remove."""

    ids: list[str] = Field(min_length=1, max_length=500)


class FrameHeader(_Strict):
    """The first line of a message over the WebSocket."""

    id: int = Field(ge=0, lt=MAX_FRAME_ID)
    box: Box = None
    heat: bool = False
    find: bool = False
    """Whether to look for several objects, if the server has a finder."""
    camera: bool = False
    """Whether the frame is the newest one of the robot's camera: no picture follows."""
    false_accept: Rate = None


def from_json(model: type[Model], content: bytes, advice: str) -> Model:
    """Return the values in a JSON object.

    Args:
        model: What it must contain.
        content: The JSON.
        advice: What to do if it is something else.

    Raises:
        RequestError: It does not contain that.
    """
    try:
        return model.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "extra_forbidden":
            advice = suggestion(str(first["loc"][-1]), model.model_fields)
        raise RequestError(400, f"{fault(first)}: {advice}") from error


def fault(error: Mapping[str, Any]) -> str:
    """Return in one line what is wrong with a value, from an error of pydantic.

    Example:
        >>> message = "Input should be 'warn' or 'refuse'"
        >>> fault({"loc": ("query", "poor"), "msg": message, "type": "", "input": "wide"})
        "poor must be 'warn' or 'refuse', not 'wide'"
    """
    names = [str(part) for part in error["loc"] if part != "query"]
    name, given = (names or ["the JSON"])[0], error["input"]
    if error["type"] == "missing":
        return f"{name} is missing"
    if error["type"] == "extra_forbidden":
        return f"there is no {name[:40]!r}"
    if error["type"] == "json_invalid":
        return "this is not JSON"
    said = str(error["msg"]).removeprefix("Value error, ")
    said = said.partition(", unable")[0].partition(" after validation")[0]
    said = re.sub("^(Input|String|List) should", "must", said)
    if said.startswith(name):  # an error of our own, which says all
        return said[:MAX_FAULT_LENGTH]
    if not said.startswith("must"):
        said = f"cannot be used ({said})"
    shown = f", not {given[:40]!r}" if isinstance(given, str) and names else ""
    return f"{name} {said}{shown}"[:MAX_FAULT_LENGTH]


@asynccontextmanager
async def body_of(
    request: Request, most: int, file: IO[bytes] | None = None
) -> AsyncIterator[IO[bytes]]:
    """Lend the body of a request. Its bytes count as held until the context ends.

    Args:
        request: The request.
        most: How many bytes it may have.
        file: What the body is written to; None for memory.

    Raises:
        RequestError: It is too large, takes too long, cannot be stored, or is a form with a file
            in it.
    """
    service = request.app.state.service
    if request.headers.get("content-type", "").startswith("multipart/"):
        raise RequestError(
            422, "the body is a form: send the file alone, as in curl --data-binary @mug.jpg"
        )
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and (len(announced) > 18 or int(announced) > most):
        raise _too_large(most)
    body = file or io.BytesIO()
    size = 0
    try:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for chunk in request.stream():
                    if size + len(chunk) > most:
                        raise _too_large(most)
                    service.hold(len(chunk))
                    size += len(chunk)
                    body.write(chunk)
            body.seek(0)
        except TimeoutError as error:
            raise RequestError(408, f"the request took over {BODY_SECONDS} seconds") from error
        except ClientDisconnect as error:
            raise RequestError(400, "the request was cut off") from error
        except OSError as error:
            with suppress(OSError):
                body.close()  # which would fail again where the file was opened
            raise RequestError(503, f"cannot store the request: {error.strerror}") from error
        yield body
    finally:
        service.release(size)


def _too_large(most: int) -> RequestError:
    return RequestError(413, f"the request is too large: send at most {most} bytes")


def require_picture(content: bytes) -> bytes:
    """Return the bytes of a picture that the server accepts.

    Only the header is read.

    Raises:
        ImageError: It is empty, no JPEG, PNG or WEBP picture, too large, too small or animated.

    >>> require_picture(b"GIF89a")
    Traceback (most recent call last):
    robocle.errors.ImageError: the picture is not JPEG, PNG or WEBP: convert it to one of these
    """
    if not content:
        raise ImageError("the picture is empty: send the bytes of a JPEG, PNG or WEBP file")
    if not content.startswith(STARTS):
        raise ImageError("the picture is not JPEG, PNG or WEBP: convert it to one of these")
    try:
        with opened(io.BytesIO(content), "the picture") as image:
            _require_size(image)
    except ImageError:
        raise
    except Exception as error:  # a damaged file can fail in any way
        raise ImageError(f"the picture is damaged ({error}): take it again") from error
    return content


def _require_size(image: Image.Image) -> None:
    most = MAX_PICTURE_PIXELS.get(image.format or "", 0)
    if not most:
        raise ImageError("the picture is not JPEG, PNG or WEBP: convert it to one of these")
    width, height = image.size
    if width * height > most:
        raise ImageError(
            f"the picture is {width}x{height}, over {most / 1e6:.0f} million pixels: make it "
            "smaller, or send a JPEG"
        )
