"""The robot's camera: the server reads it, teaches from it and streams it."""

import http.client
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from robocle.backbones import Backbone
from robocle.web.robot_camera import RobotCamera
from video_sources import home_picture, network_camera, write_video
from waiting import wait_for
from web_client import Api, PictureOf, listening, served

MUGS = [home_picture(f"clean/mug_01/{number}") for number in range(3)]


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_video(tmp_path_factory.mktemp("video") / "mug.avi", MUGS, repeat=5)


@pytest.fixture(scope="module")
def robot(video: Path, tmp_path_factory: pytest.TempPathFactory, lite0: Backbone) -> Iterator[Api]:
    path = tmp_path_factory.mktemp("robot") / "home.robocle"
    with served(path, lite0, camera=str(video)) as api:
        yield api


@pytest.mark.slow
def test_the_robots_camera_teaches_and_is_recognised(robot: Api, picture_of: PictureOf) -> None:
    assert robot.post("/api/v1/teach?label=mug&source=camera").json["pictures"] == 1
    robot.teach("clock", picture_of("clock"))
    assert robot.post("/api/v1/predict?source=camera").json["nearest"] == "mug"
    with listening(robot) as client:
        assert client.event("hello")["camera"] is True
        for number in range(5):
            client.send({"id": number, "camera": True})
            answer = client.event("prediction")
            assert answer["id"] == number
        assert answer["confidences"][0][0] == "mug"


def test_the_stream_shows_one_jpeg_after_another(robot: Api) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", robot.port, timeout=30)
    connection.request("GET", "/api/v1/camera")
    answer = connection.getresponse()
    assert answer.headers["content-type"].startswith("multipart/x-mixed-replace")
    for _ in range(3):
        head = b"".join(iter(answer.readline, b"\r\n"))
        content = answer.read(int(head.split(b"Content-Length: ")[1].split()[0]))
        assert Image.open(io.BytesIO(content)).size == (224, 224)
        assert answer.readline() == b"\r\n"
    connection.close()


@pytest.mark.slow
def test_large_frames_have_the_same_size_for_the_eye_and_for_the_learner(tmp_path: Path) -> None:
    large = tmp_path / "large.jpg"
    Image.open(MUGS[0]).resize((1600, 1200)).save(large)
    camera = RobotCamera(str(write_video(tmp_path / "large.avi", [large], repeat=3)))
    frame = camera.newest(timeout=10)
    shown = camera.newest_jpeg(timeout=10)
    camera.close()
    assert frame
    assert shown
    assert frame.pixels.shape == (720, 960, 3)
    assert Image.open(io.BytesIO(shown[1])).size == (960, 720)


def test_a_camera_that_fails_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robocle.cameras.RETRY", 0.1)
    with network_camera(MUGS, frames=5) as source:
        camera = RobotCamera(source.url)
        wait_for(lambda: camera.newest(after=6), "more frames than one connection sends")
        camera.close()
