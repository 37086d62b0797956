"""The description of the HTTP API, after OpenAPI 3.1."""

from typing import Any

import robocle
from robocle.classifiers.labels import MAX_LABEL_LENGTH
from robocle.images.quality import KINDS
from robocle.recognition import NAMED_RATES
from robocle.web.limits import MAX_PICTURE_BYTES, MAX_STATE_BYTES

Json = dict[str, Any]
TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "number"}
COUNT: Json = {"type": "integer", "minimum": 0}
FLAG: Json = {"type": "boolean"}
FILE: Json = {"type": "string", "format": "binary"}
PICTURE_KINDS = ("image/jpeg", "image/png", "image/webp")


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _prediction(**properties: Json) -> Json:
    """Return the schema of a prediction, which may have an explanation."""
    found = _object(**properties)
    reason = {"type": "string", "description": "why it was called unknown; with `explain`"}
    found["properties"] |= {"reason": reason, "heat": {"anyOf": [_ref("Heat"), {"type": "null"}]}}
    return found


STEP_ID: Json = {
    "type": "string",
    "description": "the id of the step, for `undo`; empty if nothing was changed",
}
CHANGED = {"step": STEP_ID, "version": COUNT}
SCHEMAS: Json = {
    "Error": {
        "type": "object",
        "properties": {"error": TEXT, "complaints": _list(_ref("Complaint"))},
        "required": ["error"],
    },
    "Complaint": _object(kind={"enum": list(KINDS)}, advice=TEXT),
    "Label": _object(label=TEXT, pictures=COUNT, ready=FLAG, advice=TEXT),
    "Step": _object(id=TEXT, description=TEXT, time=NUMBER, number=COUNT),
    "Pair": _object(label=TEXT, other=TEXT, likelihood=NUMBER),
    "Heat": {
        **_object(rows=COUNT, columns=COUNT, values=_list(COUNT)),
        "description": "Where the evidence for the nearest label is, in percent, row by row.",
    },
    "Prediction": _prediction(
        label={"type": ["string", "null"], "description": "null for an unknown object"},
        sure={"type": "boolean", "description": "whether the label can be relied on"},
        nothing={"type": "string", "description": "why there is nothing to see; empty otherwise"},
        confidence=NUMBER,
        nearest=TEXT,
        known_probability=NUMBER,
        unknown_probability=NUMBER,
        familiarity=NUMBER,
        confidences={"type": "object", "additionalProperties": NUMBER},
    ),
    "Taught": _object(
        label=TEXT,
        pictures=COUNT,
        complaints=_list(_ref("Complaint")),
        **CHANGED,
        repeated={"type": "boolean", "description": "whether it had been taught before"},
    ),
    "State": _object(
        version=COUNT,
        labels=_list(_ref("Label")),
        confusable=_list(_ref("Pair")),
        unknown={**COUNT, "description": "pictures taught as unknown"},
        advice={"type": "string", "description": "what would help as a whole; empty if nothing"},
        steps=_list(_ref("Step")),
        undoable=COUNT,
        undone=_list(_ref("Step")),
        file=TEXT,
        bytes=COUNT,
        robocle=TEXT,
        licence=TEXT,
        parts={"type": "object", "additionalProperties": TEXT},
    ),
    "Check": _object(
        label=TEXT,
        taught=FLAG,
        conditions=_list(
            _object(name=TEXT, in_words=TEXT, advice=TEXT, right=COUNT, unknown=COUNT, wrong=COUNT)
        ),
    ),
}


def _query(name: str, what: str, schema: Json, *, required: bool = False) -> Json:
    return {
        "name": name, "in": "query", "description": what, "schema": schema, "required": required
    }  # fmt: skip


LABEL = _query(
    "label",
    "What the picture shows.",
    {"type": "string", "minLength": 1, "maxLength": MAX_LABEL_LENGTH},
    required=True,
)
STEP = _query(
    "step",
    "The id of the step that is expected, as in the answer to a change, in `steps` or in `undone`. "
    "If it is not the next one, because another client or program changed the state, nothing is "
    "changed.",
    {"type": "string", "maxLength": 1000},
)
BOX = _query(
    "box",
    "Use only this region: x,y,width,height in pixels of the upright picture.",
    {"type": "string", "pattern": r"^\d{1,5},\d{1,5},\d{1,5},\d{1,5}$"},
)
SOURCE = _query(
    "source", "`camera` for the newest frame of the robot's camera; no body then.",
    {"enum": ["camera"]},
)  # fmt: skip
POOR = _query(
    "poor",
    "What to do about a dark, blurred or repeated picture: warn and teach it, refuse it, or off.",
    {"enum": ["warn", "refuse", "accept"], "default": "warn"},
)
LESSON = _query(
    "lesson",
    "Pictures of the same lesson are undone together, and each number is taught only once, so a "
    "request whose answer was lost can be repeated.",
    {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
)
WHICH = _query("number", "The number of the picture in its lesson.", {**COUNT, "maximum": 1000000})
TOP = _query("top", "How many labels to list.", {"type": "integer", "minimum": 1, "maximum": 1000})
FALSE_ACCEPT = _query(
    "false_accept",
    "The fraction of unrelated objects that may be taken for a taught one: 0.001 to 0.5, or 1 to "
    "call nothing unknown. Without it, the rate that the server was started with counts.",
    {
        "anyOf": [
            {"type": "number", "minimum": 0.001, "maximum": 0.5},
            {"const": 1},
            {"enum": list(NAMED_RATES)},
        ]
    },
)
EXPLAIN = _query("explain", "Add a reason and a heat map.", {"enum": ["true", "false"]})
DRAWS = _query(
    "draws", "Variants per corruption.", {"type": "integer", "minimum": 1, "maximum": 10}
)
PICTURE: Json = {
    "description": f"The bytes of a picture, at most {MAX_PICTURE_BYTES}.",
    "content": {kind: {"schema": FILE} for kind in PICTURE_KINDS},
}
STATE_FILE: Json = {
    "description": f"A state file that was exported, at most {MAX_STATE_BYTES} bytes.",
    "required": True,
    "content": {"application/octet-stream": {"schema": FILE}},
}


def _json_body(**properties: Json) -> Json:
    content = {"application/json": {"schema": _object(**properties)}}
    return {"required": True, "content": content}


def _operation(
    summary: str,
    answer: Json,
    kind: str = "application/json",
    *,
    parameters: tuple[Json, ...] = (),
    body: Json | None = None,
    errors: tuple[int, ...] = (),
) -> Json:
    """Return the description of one address.

    Args:
        summary: What it does.
        answer: The schema of the answer.
        kind: The media type of the answer.
        parameters: The values in the query.
        body: The body of the request, if it has one.
        errors: The statuses of refusals, besides those that every address has.
    """
    refused = {"application/json": {"schema": _ref("Error")}}
    always = (400, 401, 403, 405, 421, 422, 429, 503)
    responses: Json = {
        str(status): {"description": MEANINGS[status], "content": refused}
        for status in sorted({*always, *errors})
    }
    responses["200"] = {"description": "Done.", "content": {kind: {"schema": answer}}}
    found: Json = {"summary": summary, "responses": responses}
    if parameters:
        found["parameters"] = list(parameters)
    if body:
        found["requestBody"] = body
    return found


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
UPLOAD = (404, 408, 409, 413)
PATHS: Json = {
    "/api/health": {"get": _operation("Tell that the server answers", _object(
        status=TEXT, robocle=TEXT))},
    "/api/openapi.json": {"get": _operation("Describe this API", {"type": "object"})},
    "/api/session": {"post": _operation(
        "Exchange the token for a cookie", _object(status=TEXT))},
    "/api/labels": {"get": _operation(
        "List the labels with their readiness", _object(labels=_list(_ref("Label"))))},
    "/api/state": {"get": _operation("Describe what was learned, and where it is", _ref("State"))},
    "/api/teach": {"post": _operation(
        "Teach one picture; it is on disk when the answer arrives", _ref("Taught"),
        parameters=(LABEL, POOR, BOX, LESSON, WHICH, SOURCE), body=PICTURE, errors=UPLOAD)},
    "/api/predict": {"post": _operation(
        "Recognise one picture", _ref("Prediction"),
        parameters=(BOX, TOP, FALSE_ACCEPT, EXPLAIN, SOURCE), body=PICTURE, errors=UPLOAD)},
    "/api/undo": {"post": _operation(
        "Undo the last step", _object(undone=TEXT, version=COUNT),
        parameters=(STEP,), errors=(409,))},
    "/api/redo": {"post": _operation(
        "Redo the step that was undone last", _object(redone=TEXT, version=COUNT),
        parameters=(STEP,), errors=(409,))},
    "/api/forget": {"post": _operation(
        "Forget a label", _object(forgot=TEXT, **CHANGED), body=_json_body(label=TEXT),
        errors=UPLOAD)},
    "/api/rename": {"post": _operation(
        "Rename a label", _object(renamed=TEXT, new_label=TEXT, **CHANGED),
        body=_json_body(label=TEXT, new_label=TEXT), errors=UPLOAD)},
    "/api/check": {"post": _operation(
        "Test one picture clean and under corruptions; nothing is taught", _ref("Check"),
        parameters=(LABEL, DRAWS), body={**PICTURE, "required": True}, errors=UPLOAD)},
    "/api/export/state": {"get": _operation(
        "Download the state, to send it to another device", FILE, "application/octet-stream")},
    "/api/export/onnx": {"get": _operation(
        "Download the learner as an ONNX model", FILE, "application/octet-stream",
        errors=(409,))},
    "/api/import": {"post": _operation(
        "Merge a state that was exported elsewhere", _object(merged=TEXT, **CHANGED),
        body=STATE_FILE, errors=UPLOAD)},
    "/api/camera": {"get": _operation(
        "The frames of the robot's camera, as a stream of JPEGs", FILE,
        "multipart/x-mixed-replace", errors=(404,))},
    "/metrics": {"get": _operation("Metrics for Prometheus", TEXT, "text/plain")},
}  # fmt: skip


def description() -> Json:
    """Return the description of the API."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "robocle",
            "version": robocle.__version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "description": "Teach a device new objects from a few pictures each, and recognise "
            "them later. The WebSocket /api/live takes frames and sends predictions and changes.",
        },
        "paths": PATHS,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }
