"""The HTTP API: every change is on disk before its answer, and every refusal says why."""

import asyncio
import io
import re
import shutil
import socket
import struct
import sys
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from PIL import Image
from starlette.requests import Request

from bright_detector import bright_detector
from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import StateAccessError
from robocle.web import requests, service, shared_learner
from stub_backbone import STUB
from web_client import Api, PictureOf, listening, served


def test_a_taught_object_is_recognised(taught: Api, picture_of: PictureOf) -> None:
    answer = taught.post("/api/v1/predict", picture_of("mug", 5))
    assert answer.status == 200
    assert answer.json["label"] == "mug"
    assert (answer.json["verdict"], answer.json["nothing"]) == ("known", "")
    assert next(iter(answer.json["confidences"])) == "mug"
    total = sum(answer.json["confidences"].values()) + answer.json["unknown_probability"]
    assert abs(total - 1) < 1e-9


def test_a_prediction_can_be_explained(taught: Api, picture_of: PictureOf) -> None:
    known = taught.post("/api/v1/predict?explain=true", picture_of("mug", 5)).json
    assert (known["label"], known["reason"]) == ("mug", "")
    heat = known["heat"]
    assert len(heat["values"]) == heat["rows"] * heat["columns"] > 1
    assert 0 <= min(heat["values"]) <= max(heat["values"]) <= 100
    other = taught.post("/api/v1/predict?explain=true", picture_of("keyboard")).json
    assert (other["label"], other["verdict"]) == (None, "unknown")
    assert other["reason"]
    black = taught.post("/api/v1/predict", _jpeg(np.zeros((240, 320, 3), np.uint8))).json
    assert (black["verdict"], black["nothing"]) == ("nothing", "the picture is black")


def test_no_picture_is_written_to_disk_or_to_the_log(
    api: Api, tmp_path: Path, picture_of: PictureOf, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    for poor in ("warn", "refuse", "accept"):
        api.teach("mug", picture_of(), poor=poor)
    api.post("/api/v1/predict", picture_of())
    for place in range(300, 2300, 500):
        part = picture_of()[place : place + 24]
        assert all(part not in path.read_bytes() for path in tmp_path.iterdir())
        assert repr(part)[2:-1] not in caplog.text


def test_a_lesson_is_one_step_even_if_its_pictures_come_one_by_one(
    api: Api, picture_of: PictureOf
) -> None:
    api.teach("mug", picture_of("mug", 0))
    for number in (1, 2, 3):
        api.teach("mug", picture_of("mug", number), lesson="a1", number=number)
    step = api.get("/api/v1/state").json["steps"][0]
    assert (step["id"], step["description"]) == ("lesson a1", "teaching 3 pictures of 'mug'")
    assert api.post("/api/v1/undo").json["undone"] == "teaching 3 pictures of 'mug'"
    assert api.get("/api/v1/labels").json["labels"][0]["pictures"] == 1


def test_a_picture_that_is_sent_again_is_taught_once(api: Api, picture_of: PictureOf) -> None:
    first = api.teach("mug", picture_of(), lesson="a1", number=7).json
    again = api.teach("mug", picture_of(), lesson="a1", number=7).json
    assert again == {**first, "repeated": True}
    assert api.get("/api/v1/labels").json["labels"][0]["pictures"] == 1


def test_a_lesson_goes_on_after_a_restart(
    tmp_path: Path, lite0: Backbone, picture_of: PictureOf
) -> None:
    for number in (0, 1):
        with served(tmp_path / "home.robocle", lite0) as api:
            api.teach("mug", picture_of("mug", number), lesson="a1", number=number)
    with served(tmp_path / "home.robocle", lite0) as api:
        again = api.teach("mug", picture_of("mug", 1), lesson="a1", number=1, poor="refuse")
        assert again.json["complaints"][0]["kind"] == "duplicate"
        assert api.post("/api/v1/undo").json["undone"] == "teaching 2 pictures of 'mug'"


def test_labels_can_be_renamed_forgotten_and_brought_back(api: Api, picture_of: PictureOf) -> None:
    api.teach("mug", picture_of("mug"))
    api.teach("clock", picture_of("clock"))
    assert api.post_json("/api/v1/rename", label="mug", new_label="mug").json["step"] == ""
    assert api.post_json("/api/v1/rename", label="mug", new_label="cup").status == 200
    assert api.post_json("/api/v1/forget", label="clock").status == 200
    assert [each["label"] for each in api.get("/api/v1/labels").json["labels"]] == ["cup"]
    assert api.post("/api/v1/undo").json["undone"] == "forgetting 'clock'"
    assert [each["label"] for each in api.get("/api/v1/labels").json["labels"]] == ["cup", "clock"]
    assert (
        api.post_json("/api/v1/rename", label="clock", new_label="cup").status == 200
    )  # joins them
    assert [each["pictures"] for each in api.get("/api/v1/labels").json["labels"]] == [2]


def test_a_request_may_have_a_rate_of_its_own(api: Api, picture_of: PictureOf) -> None:
    api.teach("mug", picture_of())
    answers = [
        api.post(f"/api/v1/predict{rate}", picture_of("clock")).json
        for rate in ("", "?false_accept=1")
    ]
    assert [each["label"] for each in answers] == [None, "mug"]


def test_a_new_label_that_differs_in_case_only_is_named(api: Api, picture_of: PictureOf) -> None:
    names = ["mug", "Mug", "Mug", "clock"]
    answers = [api.teach(each, picture_of(number=n)).json for n, each in enumerate(names)]
    assert [each["similar"] for each in answers] == ["", "mug", "", ""]


def test_a_poor_picture_is_refused_with_its_faults_if_that_is_wanted(
    api: Api, picture_of: PictureOf
) -> None:
    black = _jpeg(np.zeros((240, 320, 3), np.uint8))
    refused = api.teach("mug", black, poor="refuse")
    assert refused.status == 422
    assert refused.json["complaints"][0]["kind"] == "dark"
    assert api.get("/api/v1/labels").json["labels"] == []
    api.teach("mug", picture_of())
    repeated = api.teach("mug", picture_of(), poor="refuse").json
    assert repeated["complaints"][0]["kind"] == "duplicate"


def test_a_box_teaches_and_asks_about_a_part_of_the_picture(
    api: Api, picture_of: PictureOf
) -> None:
    both = Image.new("RGB", (448, 224))
    for place, label in enumerate(("mug", "clock")):
        both.paste(Image.open(io.BytesIO(picture_of(label))), (224 * place, 0))
    content = _jpeg(np.asarray(both))
    api.teach("mug", content, box="0,0,224,224")
    api.teach("clock", content, box="224,0,224,224")
    for box, label in (("0,0,224,224", "mug"), ("224,0,224,224", "clock")):
        assert api.post(f"/api/v1/predict?box={box}", content).json["nearest"] == label


@pytest.mark.slow
def test_an_exported_state_teaches_another_server(
    api: Api, taught: Api, picture_of: PictureOf
) -> None:
    state = taught.get("/api/v1/export/state")
    assert 'filename="home.robocle"' in state.headers["content-disposition"]
    merged = api.post("/api/v1/import", state.content)
    assert merged.json["merged"] == "3 labels, 9 pictures"
    assert api.post("/api/v1/predict", picture_of("clock", 6)).json["label"] == "clock"
    again = api.post("/api/v1/import", state.content).json
    assert (again["step"], again["version"]) == ("", merged.json["version"])  # nothing is new
    undone = api.post(f"/api/v1/undo?step={merged.json['step']}").json["undone"]
    assert undone == "merging 3 labels, 9 pictures"
    assert api.get("/api/v1/labels").json["labels"] == []


@pytest.mark.slow
def test_the_onnx_model_recognises_what_was_taught(taught: Api, picture_of: PictureOf) -> None:
    model = onnxruntime.InferenceSession(taught.get("/api/v1/export/onnx").content)
    pixels = np.asarray(Image.open(io.BytesIO(picture_of("teapot", 5))))[None]
    (label,) = model.run(["label"], {model.get_inputs()[0].name: pixels})[0]
    assert label == "teapot"


def test_a_check_tests_a_picture_in_all_conditions(taught: Api, picture_of: PictureOf) -> None:
    known = taught.post("/api/v1/check?label=mug&draws=1", picture_of("mug", 6)).json
    assert known["taught"]
    assert next(each["name"] for each in known["conditions"]) == "clean"
    assert known["conditions"][0]["right"] == 1
    tallies = [[each[key] for key in ("right", "unknown", "wrong")] for each in known["conditions"]]
    assert [sum(tally) for tally in tallies] == [1] * len(tallies)
    other = taught.post("/api/v1/check?label=keyboard&draws=1", picture_of("keyboard")).json
    assert not other["taught"]
    assert sum(each["unknown"] for each in other["conditions"]) == 0  # "unknown" is right


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/api/v1/teach", b"x", 400, "label is missing"),
        ("/api/v1/teach?label=mug", b"", 422, "picture is empty"),
        ("/api/v1/teach?label=mug", b"GIF89a" + bytes(100), 422, "not JPEG, PNG or WEBP"),
        ("/api/v1/teach?label=mug", b"\xff\xd8\xff" + bytes(100), 422, "robocle can read"),
        ("/api/v1/predict?false_accept=0.7", b"PICTURE", 400, "give 0.001 to 0.5"),
        ("/api/v1/predict?false_accept=much", b"PICTURE", 400, "strict, normal or lenient"),
        ("/api/v1/teach?label=%00", b"PICTURE", 422, "control or invisible"),
        ("/api/v1/teach?label=caf%E9", b"PICTURE", 422, "is not valid UTF-8"),
        ("/api/v1/teach?label=" + "m" * 201, b"PICTURE", 422, "at most 200"),
        ("/api/v1/teach?label=mug&poor=wide", b"PICTURE", 400, "or 'accept', not 'wide'"),
        ("/api/v1/teach?label=mug&lesson=a/b", b"PICTURE", 400, "lesson must match"),
        ("/api/v1/teach?label=mug&number=-1", b"PICTURE", 400, "number must be"),
        ("/api/v1/teach?label=mug&box=1,2,3", b"PICTURE", 400, "box must be"),
        ("/api/v1/teach?label=mug&box=a,b,c,d", b"PICTURE", 400, "number, not 'a'"),
        ("/api/v1/teach?label=mug&box=nan,0,9,9", b"PICTURE", 400, "must be a finite number"),
        ("/api/v1/teach?label=mug&number=" + 5000 * "9", b"PICTURE", 400, "number"),
        ("/api/v1/teach?label=mug&box=900,0,9,9", b"PICTURE", 422, "covers 0x9 pixels"),
        ("/api/v1/teach?label=mug&source=camera", b"", 404, "no camera"),
        ("/api/v1/predict", b"PICTURE", 409, "nothing has been taught"),
        ("/api/v1/predict?false_acept=1", b"PICTURE", 400, "did you mean 'false_accept'?"),
        ("/api/v1/check?label=mug&drawn=1", b"PICTURE", 400, "there is no 'drawn': did you mean"),
        ("/api/v1/predict?top=0", b"PICTURE", 400, "top must be"),
        ("/api/v1/undo", b"", 409, "nothing to undo"),
        ("/api/v1/redo", b"", 409, "nothing to redo"),
        ("/api/v1/undo?stpe=a1", b"", 400, "there is no 'stpe': did you mean 'step'?"),
        ("/api/v1/revert?step=a1", b"", 409, "there is no step 'a1' to undo"),
        ("/api/v1/forget", b" " * 30_000, 413, "send at most 20000 bytes"),
        ("/api/v1/forget", b"{", 400, "not JSON"),
        ("/api/v1/forget", b"[" * 10_000, 400, "not JSON"),
        ("/api/v1/forget", b'{"label": 7}', 400, "label must be a valid string"),
        ("/api/v1/forget", b'{"label": "mug"}', 404, "never taught"),
        ("/api/v1/rename", b'{"label": "mug"}', 400, "new_label is missing"),
        ("/api/v1/forget", b'{"label": "mug", "all": true}', 400, "no 'all': known: label"),
        ("/api/v1/remove", b'{"ids": "x"}', 400, 'send {"ids": ["..."]}'),
        ("/api/v1/remove", b'{"ids": []}', 400, "ids must have at least 1 item: send"),
        ("/api/v1/remove", b'{"ids": ["x"]}', 404, "there is no sample 'x'"),
        ("/api/v1/import", b"no state", 422, "the file is not a state, or was written"),
        ("/api/v1/check?label=mug&draws=99", b"PICTURE", 400, "draws must be"),
        ("/api/v1/check?label=mug", b"PICTURE", 409, "nothing has been taught"),
        ("/api/v1/nothing", b"", 404, "no address '/api/v1/nothing': /api/v1/openapi.json"),
        ("/api/v1/labels", b"", 405, "does not take POST: send GET"),
    ],
)  # fmt: skip
def test_bad_requests_get_one_line_and_change_nothing(
    path: str, body: bytes, status: int, words: str, empty: Api, picture_of: PictureOf
) -> None:
    answer = empty.post(path, picture_of() if body == b"PICTURE" else body)
    assert answer.status == status, answer.json
    assert words in answer.json["error"]
    assert answer.json["error"].splitlines() == [answer.json["error"]]
    assert len(answer.json["error"]) < 300
    assert empty.get("/api/v1/state").json["labels"] == []


def test_a_form_with_a_picture_in_it_is_refused(empty: Api, picture_of: PictureOf) -> None:
    body = b"--x\r\nContent-Type: image/jpeg\r\n\r\n" + picture_of() + b"\r\n--x--\r\n"
    answer = empty.post("/api/v1/predict", body, Content_Type="multipart/form-data; boundary=x")
    assert (answer.status, "send the file alone" in answer.json["error"]) == (422, True)


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "JPEG"])
def test_these_formats_are_accepted(kind: str, api: Api, picture_of: PictureOf) -> None:
    buffer = io.BytesIO()
    Image.open(io.BytesIO(picture_of())).save(buffer, kind)
    assert api.teach("mug", buffer.getvalue()).status == 200


def test_a_picture_with_too_many_pixels_is_refused_before_it_is_decoded(empty: Api) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (20, 20)).save(buffer, "PNG")
    content = bytearray(buffer.getvalue())
    content[16:24] = struct.pack(">II", 20_000, 20_000)  # the size in its header
    content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
    answer = empty.teach("mug", bytes(content))
    assert answer.status == 422
    assert "million pixels" in answer.json["error"]


def test_a_body_that_never_ends_is_given_up(empty: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "BODY_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", empty.port), timeout=30) as client:
        client.sendall(
            b"POST /api/v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nslow"
        )
        assert client.recv(1000).startswith(b"HTTP/1.1 408")


def test_a_client_that_leaves_in_the_middle_of_a_request_does_no_harm(empty: Api) -> None:
    with socket.create_connection(("127.0.0.1", empty.port), timeout=30) as client:
        client.sendall(
            b"POST /api/v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nsome"
        )
    assert empty.get("/api/v1/health").status == 200


def test_there_is_a_limit_of_labels(
    api: Api, picture_of: PictureOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_learner, "MAX_LABELS", 1)
    assert api.teach("mug", picture_of()).status == 200
    refused = api.teach("clock", picture_of("clock"))
    assert refused.status == 409
    assert "forget one" in refused.json["error"]
    assert api.teach("mug", picture_of("mug", 1)).json["pictures"] == 2


def test_all_uploads_together_are_limited(
    empty: Api, picture_of: PictureOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_BYTES_IN_FLIGHT", 100)
    assert empty.post("/api/v1/predict", picture_of()).status == 503
    monkeypatch.undo()
    assert empty.post("/api/v1/predict", picture_of()).status == 409


def test_the_metrics_are_in_the_format_of_prometheus(taught: Api, picture_of: PictureOf) -> None:
    text = taught.get("/metrics").content.decode()
    assert "robocle_pictures 9.0\n" in text
    assert "robocle_taught_pictures_total 9.0\n" in text
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) .+|[a-z_]+(\{[a-z]+="[^"]+"\})? [0-9.e+-]+', line), line


def test_the_state_names_its_file_and_its_parts(taught: Api) -> None:
    state = taught.get("/api/v1/state").json
    assert state["file"] == "home.robocle"
    assert state["bytes"] > 100_000
    assert state["parts"]["backbone"] == "efficientnet_lite0"
    assert state["undoable"] == 9
    assert state["labels"][0] == {
        "label": "mug", "pictures": 3, "ready": False, "advice": "show 2 more", "badge": ""
    }  # fmt: skip


def _jpeg(pixels: NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=95)
    return buffer.getvalue()


def test_what_was_taught_can_be_seen_and_repaired(api: Api, picture_of: PictureOf) -> None:
    for label in ("mug", "clock"):
        for number in range(3):
            api.teach(label, picture_of(label, number))
    wrong = api.teach("mug", picture_of("clock", 3), poor="accept").json["step"]
    samples = api.get("/api/v1/samples?label=mug").json["samples"]
    assert [each["taken_for"] for each in samples] == ["clock", None, None, None]
    assert samples[0]["recognised"] < 0.5 < samples[1]["recognised"]
    removed = api.post_json("/api/v1/remove", ids=[samples[0]["id"]])
    assert (removed.status, removed.json["removed"]) == (200, 1)
    assert len(api.get("/api/v1/samples?label=mug").json["samples"]) == 3
    assert api.post("/api/v1/undo").json["undone"] == "removing 1 picture"
    api.post_json("/api/v1/badge", label="mug", badge="\N{HOT BEVERAGE}")
    assert api.get("/api/v1/labels").json["labels"][0]["badge"] == "\N{HOT BEVERAGE}"
    api.teach("pan", picture_of("pan"))
    reverted = api.post(f"/api/v1/revert?step={wrong}")
    assert reverted.json["undone"] == "teaching 'mug'"
    assert [each["pictures"] for each in api.get("/api/v1/labels").json["labels"]] == [3, 3, 1]


def test_objects_are_found_with_their_boxes(
    tmp_path: Path, lite0: Backbone, picture_of: PictureOf
) -> None:
    (tmp_path / "bright.onnx").write_bytes(bright_detector())
    finder = f"onnx:{tmp_path / 'bright.onnx'},pixels=unit"
    with served(tmp_path / "home.robocle", lite0, finder=finder) as api:
        for label in ("mug", "clock"):
            for number in range(3):
                api.teach(label, picture_of(label, number))
        (whole, *_) = api.post("/api/v1/find?most=2", picture_of("mug", 5)).json["finds"]
        assert whole["label"] == "mug"
        assert len(whole["box"]) == 4
        with listening(api) as client:
            assert client.event("hello")["finder"] is True
            client.send({"id": 1, "find": True}, picture_of("mug", 5))
            found = client.event("prediction")["finds"]
            assert (found[0]["label"], len(found[0]["box"])) == ("mug", 4)


@pytest.mark.skipif(sys.platform != "linux", reason="has no device that is always full")
def test_a_full_disk_and_a_missing_folder_are_one_line(tmp_path: Path, refusal: Refusal) -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield b"state" * 10

    held: list[int] = []
    service = SimpleNamespace(hold=held.append, release=lambda size: held.append(-size))
    state = SimpleNamespace(service=service)
    request = SimpleNamespace(headers={}, app=SimpleNamespace(state=state), stream=stream)

    async def send() -> None:
        with open("/dev/full", "wb") as file:
            async with requests.body_of(cast(Request, request), 1000, file):
                pass

    message = refusal(requests.RequestError, lambda: asyncio.run(send()))
    assert message == "cannot store the request: No space left on device"
    assert sum(held) == 0
    path = tmp_path / "home" / "home.robocle"
    path.parent.mkdir()
    with Learner.open(path, STUB, pooling="avg") as learner:
        shared = shared_learner.SharedLearner(learner, path, 0.05)
        shutil.rmtree(path.parent)
        message = refusal(StateAccessError, shared.state_to_send)
        assert message.endswith(f"{path}: there is no folder {path.parent}")
