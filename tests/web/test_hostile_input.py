"""Hostile input: no damaged request and no hostile state stops the server or writes a file.

Requests that the description of the API allows, and others, get an answer that it names.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import schemathesis
from fastapi.openapi.utils import get_openapi
from hypothesis import HealthCheck, settings, strategies
from schemathesis.checks import CHECKS
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from hostile_states import FILES, ROWS, TABLES, Attack
from hostile_states import taught as make_state
from robocle import Learner
from robocle.backbones import Backbone
from robocle.web import requests
from robocle.web.routes import api as routes
from state_files import files_in
from video_sources import home_picture
from web_client import Api, PictureOf, served

UPLOADS, MESSAGES = 2500, 2500
EXAMPLES = 20
"""Requests per address."""
CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
PATHS = ("teach", "predict", "check", "import", "forget", "rename", "undo", "session")
LABELS = ("mug", "../../etc/passwd", "\0", "%s%n", "<script>", "🦆", "x" * 500, "unknown", "")
HEADERS: tuple[Any, ...] = (
    {"id": 1}, {"id": 1, "box": [0, 0, 9, 9]}, {"id": 1, "box": [1e308, -1, 0, 2]}, {"id": "1"},
    {"id": 2**60}, {"id": 1, "camera": True}, {"id": 1, "heat": True}, {"id": None}, [], "id", 7,
    {"id": 1, "box": {"x": 1}}, {"id": 1, "__proto__": {}},
)  # fmt: skip
Rng = np.random.Generator
Damage = Callable[[bytes, Rng], bytes]
Attacks = dict[str, tuple[Attack, str]]


def flipped(content: bytes, rng: Rng) -> bytes:
    values = np.frombuffer(content, np.uint8).copy()
    places = rng.integers(0, len(values), int(rng.integers(1, 30)))
    values[places] = rng.integers(0, 256, len(places))
    return values.tobytes()


def cut(content: bytes, rng: Rng) -> bytes:
    return content[: int(rng.integers(0, len(content)))]


def noise(content: bytes, rng: Rng) -> bytes:
    return rng.bytes(int(rng.integers(0, 3000)))


DAMAGES: tuple[Damage, ...] = (flipped, cut, noise)


@pytest.fixture
def no_rate_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about what is sent, not about how often."""
    monkeypatch.setattr("robocle.web.security.REQUESTS_PER_SECOND", 1e9)
    monkeypatch.setattr("robocle.web.security.BURST", 1e9)
    monkeypatch.setattr("robocle.web.live.BURST", 1e9)


@pytest.mark.slow
@pytest.mark.usefixtures("no_rate_limit")
def test_no_damaged_upload_or_message_stops_the_server_or_writes_a_file(
    tmp_path: Path, lite0: Backbone, picture_of: PictureOf
) -> None:
    folder = tmp_path / "states"
    folder.mkdir()
    rng = np.random.default_rng(18)
    with served(folder / "home.robocle", lite0) as api:
        api.teach("clock", picture_of("clock"))
        sources = [picture_of(), api.get("/api/v1/export/state").content, b'{"label": "mug"}']
        statuses = {_upload(api, sources, rng) for _ in range(UPLOADS)}
        assert statuses <= {200, 400, 404, 409, 413, 422}, statuses
        assert {200, 400, 422} <= statuses, "the fuzzing reaches nothing"
        _send_messages(api, picture_of(), rng)
        assert api.teach("mug", picture_of()).status == 200
        assert [each.name for each in folder.iterdir()] == ["home.robocle"]
    assert [each.name for each in tmp_path.iterdir()] == ["states"]
    assert Learner.load(folder / "home.robocle", lite0).counts["mug"]


def _upload(api: Api, sources: list[bytes], rng: Rng) -> int:
    path, label = PATHS[rng.integers(len(PATHS))], LABELS[rng.integers(len(LABELS))]
    source = sources[rng.integers(len(sources))]
    body = DAMAGES[rng.integers(len(DAMAGES))](source, rng)
    box = "&box=" + quote(rng.bytes(4)) if rng.random() < 0.1 else ""
    answer = api.post(f"/api/v1/{path}?label={quote(label)}&poor=refuse&draws=1{box}", body)
    content = json.loads(answer.content)
    assert answer.status == 200 or content["error"]
    return answer.status


def _send_messages(api: Api, picture: bytes, rng: Rng) -> None:
    """Send damaged messages over as many connections as the server closes."""
    address = f"ws://127.0.0.1:{api.port}/api/v1/live"
    sent = 0
    while sent < MESSAGES:
        with connect(address, max_size=None) as live:
            try:
                while sent < MESSAGES:
                    sent += 1
                    live.send(_message(picture, rng))
                live.send(b'{"id": 123456}\n' + picture)
                while json.loads(live.recv(timeout=60)).get("id") != 123456:
                    pass
            except ConnectionClosed:
                continue


def _message(picture: bytes, rng: Rng) -> bytes | str:
    header = json.dumps(HEADERS[rng.integers(len(HEADERS))]).encode()
    kind = rng.integers(6)
    if kind == 0:
        return flipped(header + b"\n" + picture, rng)
    if kind == 1:
        return rng.bytes(int(rng.integers(0, 500)))
    if kind == 2:
        return header.decode() + "\n" + "\udcff".encode("utf-8", "replace").decode() + "text"
    if kind == 3 and rng.random() < 0.02:
        return bytes(requests.MAX_FRAME_BYTES + 1)
    damage = DAMAGES[rng.integers(len(DAMAGES))]
    return header + b"\n" + damage(picture, rng)


@pytest.mark.usefixtures("no_rate_limit")
@pytest.mark.parametrize("attacks", [FILES, TABLES, ROWS], ids=["files", "tables", "rows"])
def test_a_hostile_state_is_not_imported(attacks: Attacks, tmp_path: Path, lite0: Backbone) -> None:
    hostile = tmp_path / "hostile.robocle"
    make_state(hostile, lite0)
    intact = hostile.read_bytes()
    folder = tmp_path / "states"
    folder.mkdir()
    (folder / "home.robocle").write_bytes(intact)
    with served(folder / "home.robocle", lite0) as api:
        before = files_in(folder)
        for name, (attack, _) in attacks.items():
            hostile.write_bytes(intact)
            attack(hostile)
            answer = api.post("/api/v1/import", hostile.read_bytes())
            assert answer.status == 422, (name, answer)
            error = json.loads(answer.content)["error"]
            assert len(error.splitlines()) == 1
            assert str(tmp_path) not in error
            assert files_in(folder) == before
        assert api.post("/api/v1/import", intact).status == 200


@pytest.fixture(scope="module")
def described(
    tmp_path_factory: pytest.TempPathFactory, lite0: Backbone, picture_of: PictureOf
) -> Iterator[Api]:
    """A server that requests may change, with no limit of requests per second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("robocle.web.security.BURST", 1e9)
        with served(tmp_path_factory.mktemp("described") / "home.robocle", lite0) as api:
            api.teach("mug", picture_of("mug"))
            yield api


PICTURE = home_picture("clean/mug_01/0").read_bytes()
for kind in ("image/jpeg", "image/png", "image/webp"):
    schemathesis.openapi.media_type(kind, strategies.just(PICTURE))

schema = schemathesis.openapi.from_dict(
    get_openapi(title="robocle", version="1", routes=routes.routes)
)


@pytest.mark.slow
@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_one_that_the_description_names(
    case: schemathesis.Case[Any], described: Api
) -> None:
    response = case.call(base_url=described.address, timeout=60)
    checks: Any = [CHECKS.get_one(name) for name in CHECKED]
    case.validate_response(response, checks=checks)
    if case.meta is not None and case.meta.generation.mode.is_positive:
        # What the description allows is well formed; whether it can be used is another question.
        assert response.status_code not in (400, 413), response.text
    assert described.get("/api/v1/health").status == 200
