"""The WebSocket: one frame in flight, everyone sees every change, and nobody delays another."""

from contextlib import suppress
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from robocle.backbones import Backbone
from robocle.web import live, requests, shared_learner
from waiting import wait_for
from web_client import Api, PictureOf, is_cut_off, listening, served, stalled


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
        api.post("/api/v1/teach?label=mug", picture_of(), **headers)
        for client in (one, other):
            taught = client.event("taught")
            assert (taught["by"], taught["label"]) == (number, "mug")
            assert client.event("state")["labels"][0]["pictures"] == 1
        api.post("/api/v1/undo")
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
    assert taught.get("/api/v1/health").status == 200


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
        with stalled(api, picture_of("mug", 5)) as (raw, send), listening(api) as client:
            for number in range(150):
                send()
                client.send({"id": number}, picture_of("clock", 5))
                assert client.event("prediction")["id"] == number
            wait_for(lambda: _clients(api) == 1, "the client to be disconnected")
            wait_for(lambda: is_cut_off(raw), "its connection to be cut off")
            client.send({"id": 999}, picture_of("clock", 5))
            assert client.event("prediction")["id"] == 999


def _clients(api: Api) -> int:
    text = api.get("/metrics").content.decode()
    return int(float(text.split("\nrobocle_clients ")[1].split()[0]))


def test_there_is_a_limit_of_clients(taught: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_for(lambda: not _clients(taught), "the clients of other tests to leave")
    monkeypatch.setattr("robocle.web.queues.MAX_CLIENTS", 1)
    with listening(taught) as client:
        client.event("hello")
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://127.0.0.1:{taught.port}/api/v1/live")
