"""Connections: what is half open, too large or never read harms nobody, and refusals arrive."""

import json
import logging
import socket
import ssl
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from robocle.backbones import Backbone
from robocle.web import connections, requests, service
from waiting import wait_for
from web_client import Api, PictureOf, ServeProcess, is_cut_off, served, stalled

HALF_OPEN = 1000
TOKEN = "correct-horse-battery-staple"
STARTS = (b"", b"GET /api/v1/labels HT", b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ")


@contextmanager
def half_open(port: int, number: int) -> Iterator[list[socket.socket]]:
    """Open connections over which no whole request comes, until the context ends."""
    with ExitStack() as stack:
        opened = []
        for each in range(number):
            connection = socket.create_connection(("127.0.0.1", port), timeout=30)
            opened.append(stack.enter_context(connection))
            connection.sendall(STARTS[each % len(STARTS)])
        yield opened


def trusting(port: int) -> int:
    """Return the status of a request over https, whatever the certificate."""
    context = ssl._create_unverified_context()
    with urllib.request.urlopen(f"https://127.0.0.1:{port}/api/v1/health", context=context) as it:
        return int(it.status)


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--https"]], ids=["http", "https"])
def test_any_number_of_half_open_connections_keeps_nobody_out(
    options: list[str], tmp_path: Path
) -> None:
    server = ServeProcess(tmp_path / "home.robocle", "--token", TOKEN, *options)
    if options:
        with half_open(server.port, HALF_OPEN) as opened:
            for _ in range(3):
                assert trusting(server.port) == 200
            wait_for(lambda: all(map(is_cut_off, opened)), "all of them to be closed")
        assert server.stop()[::2] == (0, "")
        return
    with half_open(server.port, HALF_OPEN) as opened:
        assert server.api.get("/api/v1/labels").status == 200
        wait_for(lambda: sum(map(is_cut_off, opened)) >= HALF_OPEN - 256, "the oldest to be closed")
        assert server.api.get("/api/v1/labels").status == 200
    assert server.stop()[::2] == (0, "")


def test_a_connection_without_a_request_is_closed_whatever_is_sent(
    tmp_path: Path, lite0: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 1.0)
    with served(tmp_path / "home.robocle", lite0, token=TOKEN) as api:
        with half_open(api.port, len(STARTS)) as opened:
            raw = socket.create_connection(("127.0.0.1", api.port), timeout=30)
            opened.append(raw)
            raw.sendall(b"POST /api/v1/undo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9")
            wait_for(lambda: all(map(is_cut_off, opened)), "all of them to be closed")
            raw.close()
        assert api.get("/api/v1/labels").status == 200


@contextmanager
def no_traceback(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.WARNING)
    yield
    assert not [each for each in caplog.records if each.exc_info or each.levelno >= logging.ERROR]


@pytest.mark.slow
def test_a_websocket_that_reads_nothing_is_cut_off_in_the_documented_time(
    tmp_path: Path, lite0: Backbone, picture_of: PictureOf, caplog: pytest.LogCaptureFixture
) -> None:
    with no_traceback(caplog), served(tmp_path / "home.robocle", lite0) as api:
        with stalled(api, picture_of()) as (raw, send):
            send()
            wait_for(lambda: is_cut_off(raw), "it to be cut off", 15 + 10)
        with stalled(api, picture_of()) as (_, send):  # leaves while it is written to
            for _ in range(20):
                send()
        assert api.teach("mug", picture_of()).status == 200


@pytest.mark.parametrize("connection", ["close", "keep-alive"])
def test_a_refused_upload_gets_a_readable_answer(
    connection: str, tmp_path: Path, lite0: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = bytes(requests.MAX_PICTURE_BYTES + 10_000_000)
    with served(tmp_path / "home.robocle", lite0, token=TOKEN) as api:
        refused = api.post("/api/v1/predict", large, Connection=connection)
        assert refused.status == 413
        assert "send at most" in refused.json["error"]
        stranger = Api(api.port).post("/api/v1/predict", large, Connection=connection)
        assert (stranger.status, "token" in stranger.json["error"]) == (401, True)
        monkeypatch.setattr(service, "MAX_BYTES_IN_FLIGHT", 1_000_000)
        busy = api.post("/api/v1/import", large, Connection=connection)
        assert (busy.status, "busy" in busy.json["error"]) == (503, True)
        monkeypatch.undo()
        assert api.post("/api/v1/import", b"no state").status == 422


@pytest.mark.exhaustive
def test_many_large_imports_at_once_take_no_more_memory_than_one(tmp_path: Path) -> None:
    server = ServeProcess(tmp_path / "home.robocle")
    content = bytes(190_000_000)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: server.api.post("/api/v1/import", content), range(8)))
    assert {each.status for each in found} <= {422, 503}
    assert all(json.loads(each.content)["error"] for each in found)
    status = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    assert int(peak) < 500_000, f"{peak} kB"
    assert server.stop()[::2] == (0, "")
    assert [each.name for each in tmp_path.iterdir()] == ["home.robocle"]
