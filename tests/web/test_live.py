"""The WebSocket: one frame in flight, everyone sees every change, and nobody delays another."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from robocle.backbones import Backbone
from robocle.web import live, requests, shared_learner
from web_client import Api, PictureOf, listening, served


def test_frames_are_recognised_and_bars_sum_to_one(taught: Api, picture_of: PictureOf) -> None:
    with listening(taught) as client:
        for number in range(4):
            client.send({"id": number}, picture_of("mug", 5))
            answer = client.event("prediction")
            assert answer["id"] == number
        assert (answer["label"], answer["verdict"]) == ("mug", "known")
        bars = [part for _, part in answer["confidences"]]
        assert abs(sum(bars) + answer["others"] + answer["unknown_probability"] - 1) < 0.01
        assert answer["milliseconds"] > 0


def test_the_heat_map_is_sent_on_demand(taught: Api, picture_of: PictureOf) -> None:
    with listening(taught) as client:
        client.send({"id": 1, "heat": True}, picture_of("mug", 5))
        assert client.event("prediction")["heat"]["rows"] > 1
        client.send({"id": 2}, picture_of("mug", 5))
        assert "heat" not in client.event("prediction")


def test_before_anything_is_taught_a_frame_gets_an_answer(
    empty: Api, picture_of: PictureOf
) -> None:
    with listening(empty) as client:
        client.send({"id": 1}, picture_of())
        assert client.event("prediction")["empty"] is True


def test_every_client_sees_a_change_and_who_made_it(api: Api, picture_of: PictureOf) -> None:
    with listening(api) as one, listening(api) as other:
        number = one.event("hello")["client"]
        for client in (one, other):
            assert client.event("state")["labels"] == []
        headers = {"X_Robocle_Client": str(number)}
        api.post("/api/teach?label=mug", picture_of(), **headers)
        for client in (one, other):
            taught = client.event("taught")
            assert (taught["by"], taught["label"]) == (number, "mug")
            assert client.event("state")["labels"][0]["pictures"] == 1
        api.post("/api/undo")
        assert other.event("state")["labels"] == []


@pytest.mark.slow
def test_a_slow_readiness_is_computed_after_the_lesson(
    api: Api, picture_of: PictureOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_learner, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr(shared_learner, "QUIET_SECONDS", 3.0)
    with listening(api) as client:
        client.event("state")
        api.teach("mug", picture_of())
        first = client.event("state")
        assert (first["labels"][0]["pictures"], first["complete"]) == (1, False)
        while not client.event("state")["complete"]:
            pass


@pytest.mark.parametrize(
    "message",
    [b"", b"\n", b"{}", b"[]\n", b"nonsense", b'{"id": -1}\nx', b'{"id": 1.5}\nx', b'{"id": 1}\n',
     b'{"id": true}\nx', b'{"id": 1, "box": [1]}\nx', b'{"id": 1, "box": "a"}\nx',
     b'{"id": 1, "box": [1, 2, 3, NaN]}\nx', b"[" * 100_000, b'{"id":' + b"9" * 900 + b"}\nx",
     b"\xff\xfe\n"],
)  # fmt: skip
def test_a_malformed_message_gets_an_error_and_the_client_goes_on(
    message: bytes, taught: Api, picture_of: PictureOf
) -> None:
    with listening(taught) as client:
        client.connection.send(message)
        assert client.event("error")["error"]
        client.send({"id": 5}, picture_of())
        assert client.event("prediction")["id"] == 5


def test_a_frame_that_is_no_picture_gets_an_error_with_its_id(taught: Api) -> None:
    with listening(taught) as client:
        client.send({"id": 3}, b"\xff\xd8\xff no picture")
        answer = client.event("error", "prediction")
        assert (answer["event"], answer["id"]) == ("error", 3)
        client.connection.send('{"id": 4}\ntext')
        assert client.event("error")["id"] == 4
        client.send({"id": 6, "camera": True})
        assert "no camera" in client.event("error")["error"]


def test_a_message_that_is_too_large_ends_the_connection(taught: Api) -> None:
    with listening(taught) as client:
        with suppress(ConnectionClosed):  # maybe before all of it was sent
            client.connection.send(bytes(requests.MAX_FRAME_BYTES + 1))
        with pytest.raises(ConnectionClosed):
            client.event("prediction")
    assert taught.get("/api/health").status == 200


def test_only_the_newest_of_many_frames_is_recognised(taught: Api, picture_of: PictureOf) -> None:
    frames = 60
    with listening(taught) as client:
        for number in range(frames):
            client.send({"id": number}, picture_of("mug", 5))
        seen = [client.event("prediction")["id"]]
        while seen[-1] != frames - 1:
            seen.append(client.event("prediction")["id"])
        assert seen == sorted(seen)
        assert len(seen) < frames
    dropped = taught.get("/metrics").content.decode().split("robocle_dropped_frames_total ")[-1]
    assert float(dropped.split()[0]) > 0


@pytest.mark.slow
def test_a_client_that_stops_reading_delays_no_other_and_is_disconnected(
    tmp_path: Path, lite0: Backbone, picture_of: PictureOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "STALLED_SECONDS", 1.0)
    with served(tmp_path / "home.robocle", lite0, send_buffer=4096) as api:
        for number, sign in enumerate("abcd"):  # long names make long answers
            api.teach(sign + 199 * "\N{WATER WAVE}", picture_of("mug", number), poor="accept")
        with stalled(api, picture_of("mug", 5)) as send, listening(api) as client:
            for number in range(150):
                send()
                client.send({"id": number}, picture_of("clock", 5))
                assert client.event("prediction")["id"] == number
            end = time.monotonic() + 20
            while _clients(api) > 1 and time.monotonic() < end:
                time.sleep(0.2)
            assert _clients(api) == 1
            client.send({"id": 999}, picture_of("clock", 5))
            assert client.event("prediction")["id"] == 999


def _clients(api: Api) -> int:
    text = api.get("/metrics").content.decode()
    return int(float(text.split("\nrobocle_clients ")[1].split()[0]))


@contextmanager
def stalled(api: Api, picture: bytes) -> Iterator[Callable[[], None]]:
    """A client that reads nothing, with a small buffer; the function sends another frame."""
    content = b'{"id": 1}\n' + picture
    frame = b"\x82\xfe" + len(content).to_bytes(2, "big") + bytes(4) + content  # with an empty mask
    assert len(content) < 65536
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", api.port))
        raw.sendall(
            f"GET /api/live HTTP/1.1\r\nHost: 127.0.0.1:{api.port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )

        def send() -> None:
            with suppress(OSError):  # the server had enough of it
                raw.sendall(frame)

        yield send


def test_there_is_a_limit_of_clients(taught: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    end = time.monotonic() + 20
    while _clients(taught) and time.monotonic() < end:  # those of other tests are leaving
        time.sleep(0.1)
    monkeypatch.setattr("robocle.web.queues.MAX_CLIENTS", 1)
    with listening(taught) as client:
        client.event("hello")
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://127.0.0.1:{taught.port}/api/live")
