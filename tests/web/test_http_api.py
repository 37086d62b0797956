"""The HTTP API: every change is on disk before its answer, and every refusal says why."""

import io
import re
import socket
import struct
import zlib
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from PIL import Image

from robocle.backbones import Backbone
from robocle.web import requests, service, shared_learner
from web_client import Api, PictureOf, served


def test_a_taught_object_is_recognised(taught: Api, picture_of: PictureOf) -> None:
    answer = taught.post("/api/predict", picture_of("mug", 5))
    assert answer.status == 200
    assert answer.json["label"] == "mug"
    assert (answer.json["verdict"], answer.json["nothing"]) == ("known", "")
    assert next(iter(answer.json["confidences"])) == "mug"
    total = sum(answer.json["confidences"].values()) + answer.json["unknown_probability"]
    assert abs(total - 1) < 1e-9


def test_a_prediction_can_be_explained(taught: Api, picture_of: PictureOf) -> None:
    known = taught.post("/api/predict?explain=true", picture_of("mug", 5)).json
    assert (known["label"], known["reason"]) == ("mug", "")
    heat = known["heat"]
    assert len(heat["values"]) == heat["rows"] * heat["columns"] > 1
    assert 0 <= min(heat["values"]) <= max(heat["values"]) <= 100
    other = taught.post("/api/predict?explain=true", picture_of("keyboard")).json
    assert (other["label"], other["verdict"]) == (None, "unknown")
    assert other["reason"]
    black = taught.post("/api/predict", _jpeg(np.zeros((240, 320, 3), np.uint8))).json
    assert (black["verdict"], black["nothing"]) == ("nothing", "the picture is black")


def test_no_picture_is_written_to_disk_or_to_the_log(
    api: Api, tmp_path: Path, picture_of: PictureOf, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    for poor in ("warn", "refuse", "accept"):
        api.teach("mug", picture_of(), poor=poor)
    api.post("/api/predict", picture_of())
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
    step = api.get("/api/state").json["steps"][0]
    assert (step["id"], step["description"]) == ("lesson a1", "teaching 3 pictures of 'mug'")
    assert api.post("/api/undo").json["undone"] == "teaching 3 pictures of 'mug'"
    assert api.get("/api/labels").json["labels"][0]["pictures"] == 1


def test_a_picture_that_is_sent_again_is_taught_once(api: Api, picture_of: PictureOf) -> None:
    first = api.teach("mug", picture_of(), lesson="a1", number=7).json
    again = api.teach("mug", picture_of(), lesson="a1", number=7).json
    assert again == {**first, "repeated": True}
    assert api.get("/api/labels").json["labels"][0]["pictures"] == 1


def test_a_lesson_goes_on_after_a_restart(
    tmp_path: Path, lite0: Backbone, picture_of: PictureOf
) -> None:
    for number in (0, 1):
        with served(tmp_path / "home.robocle", lite0) as api:
            api.teach("mug", picture_of("mug", number), lesson="a1", number=number)
    with served(tmp_path / "home.robocle", lite0) as api:
        again = api.teach("mug", picture_of("mug", 1), lesson="a1", number=1, poor="refuse")
        assert again.json["complaints"][0]["kind"] == "duplicate"
        assert api.post("/api/undo").json["undone"] == "teaching 2 pictures of 'mug'"


def test_labels_can_be_renamed_forgotten_and_brought_back(api: Api, picture_of: PictureOf) -> None:
    api.teach("mug", picture_of("mug"))
    api.teach("clock", picture_of("clock"))
    assert api.post_json("/api/rename", label="mug", new_label="mug").json["step"] == ""
    assert api.post_json("/api/rename", label="mug", new_label="cup").status == 200
    assert api.post_json("/api/forget", label="clock").status == 200
    assert [each["label"] for each in api.get("/api/labels").json["labels"]] == ["cup"]
    assert api.post("/api/undo").json["undone"] == "forgetting 'clock'"
    assert [each["label"] for each in api.get("/api/labels").json["labels"]] == ["cup", "clock"]
    assert api.post_json("/api/rename", label="clock", new_label="cup").status == 200  # joins them
    assert [each["pictures"] for each in api.get("/api/labels").json["labels"]] == [2]


def test_a_poor_picture_is_refused_with_its_faults_if_that_is_wanted(
    api: Api, picture_of: PictureOf
) -> None:
    black = _jpeg(np.zeros((240, 320, 3), np.uint8))
    refused = api.teach("mug", black, poor="refuse")
    assert refused.status == 422
    assert refused.json["complaints"][0]["kind"] == "dark"
    assert api.get("/api/labels").json["labels"] == []
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
        assert api.post(f"/api/predict?box={box}", content).json["nearest"] == label


@pytest.mark.slow
def test_an_exported_state_teaches_another_server(
    api: Api, taught: Api, picture_of: PictureOf
) -> None:
    state = taught.get("/api/export/state")
    assert 'filename="home.robocle"' in state.headers["content-disposition"]
    merged = api.post("/api/import", state.content)
    assert merged.json["merged"] == "3 labels, 9 pictures"
    assert api.post("/api/predict", picture_of("clock", 6)).json["label"] == "clock"
    again = api.post("/api/import", state.content).json
    assert (again["step"], again["version"]) == ("", merged.json["version"])  # nothing is new
    undone = api.post(f"/api/undo?step={merged.json['step']}").json["undone"]
    assert undone == "merging 3 labels, 9 pictures"
    assert api.get("/api/labels").json["labels"] == []


@pytest.mark.slow
def test_the_onnx_model_recognises_what_was_taught(taught: Api, picture_of: PictureOf) -> None:
    model = onnxruntime.InferenceSession(taught.get("/api/export/onnx").content)
    pixels = np.asarray(Image.open(io.BytesIO(picture_of("teapot", 5))))[None]
    (label,) = model.run(["label"], {model.get_inputs()[0].name: pixels})[0]
    assert label == "teapot"


def test_a_check_tests_a_picture_in_all_conditions(taught: Api, picture_of: PictureOf) -> None:
    known = taught.post("/api/check?label=mug&draws=1", picture_of("mug", 6)).json
    assert known["taught"]
    assert next(each["name"] for each in known["conditions"]) == "clean"
    assert known["conditions"][0]["right"] == 1
    tallies = [[each[key] for key in ("right", "unknown", "wrong")] for each in known["conditions"]]
    assert [sum(tally) for tally in tallies] == [1] * len(tallies)
    other = taught.post("/api/check?label=keyboard&draws=1", picture_of("keyboard")).json
    assert not other["taught"]
    assert sum(each["unknown"] for each in other["conditions"]) == 0  # "unknown" is right


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/api/teach", b"x", 400, "label is missing"),
        ("/api/teach?label=mug", b"", 422, "picture is empty"),
        ("/api/teach?label=mug", b"GIF89a" + bytes(100), 422, "not JPEG, PNG or WEBP"),
        ("/api/teach?label=mug", b"\xff\xd8\xff" + bytes(100), 422, "robocle can read"),
        ("/api/predict?false_accept=0.7", b"PICTURE", 400, "give 0.001 to 0.5"),
        ("/api/predict?false_accept=much", b"PICTURE", 400, "strict, normal or lenient"),
        ("/api/teach?label=%00", b"PICTURE", 422, "control or invisible"),
        ("/api/teach?label=" + "m" * 201, b"PICTURE", 422, "at most 200"),
        ("/api/teach?label=mug&poor=wide", b"PICTURE", 400, "or 'accept', not 'wide'"),
        ("/api/teach?label=mug&lesson=a/b", b"PICTURE", 400, "lesson must match"),
        ("/api/teach?label=mug&number=-1", b"PICTURE", 400, "number must be"),
        ("/api/teach?label=mug&box=1,2,3", b"PICTURE", 400, "box must be"),
        ("/api/teach?label=mug&box=a,b,c,d", b"PICTURE", 400, "number, not 'a'"),
        ("/api/teach?label=mug&box=nan,0,9,9", b"PICTURE", 400, "must be a finite number"),
        ("/api/teach?label=mug&number=" + 5000 * "9", b"PICTURE", 400, "number"),
        ("/api/teach?label=mug&box=900,0,9,9", b"PICTURE", 422, "covers 0x9 pixels"),
        ("/api/teach?label=mug&source=camera", b"", 404, "no camera"),
        ("/api/predict", b"PICTURE", 409, "nothing has been taught"),
        ("/api/predict?top=0", b"PICTURE", 400, "top must be"),
        ("/api/undo", b"", 409, "nothing to undo"),
        ("/api/redo", b"", 409, "nothing to redo"),
        ("/api/forget", b" " * 30_000, 413, "send at most 20000 bytes"),
        ("/api/forget", b"{", 400, "not JSON"),
        ("/api/forget", b"[" * 10_000, 400, "not JSON"),
        ("/api/forget", b'{"label": 7}', 400, "label must be a valid string"),
        ("/api/forget", b'{"label": "mug"}', 404, "never taught"),
        ("/api/rename", b'{"label": "mug"}', 400, "new_label is missing"),
        ("/api/import", b"no state", 422, "the file is not a robocle state"),
        ("/api/check?label=mug&draws=99", b"PICTURE", 400, "draws must be"),
        ("/api/check?label=mug", b"PICTURE", 409, "nothing has been taught"),
        ("/api/nothing", b"", 404, "Not Found"),
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
    assert empty.get("/api/state").json["labels"] == []


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
            b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nslow"
        )
        assert client.recv(1000).startswith(b"HTTP/1.1 408")


def test_a_client_that_leaves_in_the_middle_of_a_request_does_no_harm(empty: Api) -> None:
    with socket.create_connection(("127.0.0.1", empty.port), timeout=30) as client:
        client.sendall(
            b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nsome"
        )
    assert empty.get("/api/health").status == 200


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
    assert empty.post("/api/predict", picture_of()).status == 503
    monkeypatch.undo()
    assert empty.post("/api/predict", picture_of()).status == 409


def test_the_metrics_are_in_the_format_of_prometheus(taught: Api, picture_of: PictureOf) -> None:
    text = taught.get("/metrics").content.decode()
    assert "robocle_pictures 9.0\n" in text
    assert "robocle_taught_pictures_total 9.0\n" in text
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) .+|[a-z_]+(\{[a-z]+="[^"]+"\})? [0-9.e+-]+', line), line


def test_the_state_names_its_file_and_its_parts(taught: Api) -> None:
    state = taught.get("/api/state").json
    assert state["file"] == "home.robocle"
    assert state["bytes"] > 100_000
    assert state["parts"]["backbone"] == "efficientnet_lite0"
    assert state["undoable"] == 9
    assert state["labels"][0] == {
        "label": "mug", "pictures": 3, "ready": False, "advice": "show 2 more"
    }  # fmt: skip


def _jpeg(pixels: NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=95)
    return buffer.getvalue()
