"""Frames come from video files and network cameras, the newest first, and their end is an error."""

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from refusal import Refusal
from robocle.cameras import Camera, Frame, open_camera
from robocle.errors import CameraError, MissingExtraError
from video_sources import home_picture, network_camera, write_video
from waiting import wait_for

PICTURES = [home_picture(f"clean/{name}_01/0") for name in ("mug", "clock", "key", "banana")]


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four pictures, each for three frames, 50 frames per second."""
    path = tmp_path_factory.mktemp("video") / "home.avi"
    return write_video(path, PICTURES, rate=50, repeat=3)


def every_frame(camera: Camera) -> list[Frame]:
    """All frames until the source ends; `end_of` has the error."""
    frames: list[Frame] = []
    with suppress(CameraError):
        while True:
            frame = camera.newest(frames[-1].number if frames else -1, timeout=20)
            assert frame is not None
            assert not frames or frame.number > frames[-1].number
            frames.append(frame)
    return frames


def end_of(camera: Camera) -> CameraError:
    with pytest.raises(CameraError) as caught:
        camera.newest(after=10_000)
    return caught.value


def nearest_picture(frame: Frame) -> int:
    pictures = [np.asarray(Image.open(picture), np.float32) for picture in PICTURES]
    return int(np.argmin([np.abs(frame.pixels - picture).mean() for picture in pictures]))


def test_every_frame_of_a_video_comes_in_order_and_in_rgb(video: Path) -> None:
    with open_camera(video, realtime=False) as camera:
        frames = every_frame(camera)
        assert end_of(camera).ended
        assert "has ended" in str(end_of(camera))
    assert [frame.number for frame in frames] == list(range(12))
    assert [nearest_picture(frame) for frame in frames] == [n // 3 for n in range(12)]
    for frame in frames:
        true = np.asarray(Image.open(PICTURES[nearest_picture(frame)]), np.float32)
        assert frame.pixels.dtype == np.uint8
        assert np.abs(frame.pixels - true).mean() < 6  # what the codec loses; BGR would be over 20


def test_a_video_plays_at_its_own_rate_and_a_slow_reader_sees_the_newest_frame(
    tmp_path: Path,
) -> None:
    path = write_video(tmp_path / "slow.avi", PICTURES, rate=4)
    with open_camera(path) as camera:
        start = time.monotonic()
        first = camera.newest(timeout=20)
        time.sleep(0.6)  # frames 1 and 2 come in the meantime
        later = camera.newest(after=0, timeout=20)
        every_frame(camera)
        took = time.monotonic() - start
    assert first is not None
    assert later is not None
    assert first.number == 0
    assert later.number >= 2
    assert took >= 0.7
    assert later.time > first.time


def test_a_looped_video_starts_again_and_its_numbers_go_on(tmp_path: Path) -> None:
    path = write_video(tmp_path / "short.avi", PICTURES)
    with open_camera(path, loop=True, realtime=False) as camera:
        shown = []
        for number in range(10):
            frame = camera.newest(after=number - 1, timeout=20)
            assert frame is not None
            assert frame.number == number
            shown.append(nearest_picture(frame))
    assert shown == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]


def test_an_mp4_is_read_too(tmp_path: Path) -> None:
    path = write_video(tmp_path / "home.mp4", PICTURES, repeat=3)
    with open_camera(str(path), realtime=False) as camera:
        assert len(every_frame(camera)) == 12


def test_a_network_camera_sends_frames_until_it_stops() -> None:
    with network_camera(PICTURES, frames=20) as source, open_camera(source.url) as camera:
        seen = {nearest_picture(frame) for frame in every_frame(camera)}
        assert "stopped sending" in str(end_of(camera))
        assert not end_of(camera).ended
    assert seen == {0, 1, 2, 3}


@pytest.mark.slow
def test_a_camera_that_fails_is_opened_again_if_wanted(caplog: pytest.LogCaptureFixture) -> None:
    with network_camera(PICTURES) as source:
        camera = open_camera(source.url, reconnect=True)
        first = camera.newest(timeout=20)
        assert first is not None
    number = first.number
    while frame := camera.newest(after=number, timeout=2):
        number = frame.number
    wait_for(lambda: camera.newest(timeout=0) is None, "an old frame is no longer shown")
    with network_camera(PICTURES, port=source.port):
        again = camera.newest(after=number, timeout=30)
        camera.close()
    assert again is not None
    assert again.number > number
    assert [each.getMessage().split()[-2:] for each in caplog.records] == [
        ["it", "again"],
        ["sends", "again"],
    ]


def test_none_is_returned_if_no_frame_comes_in_time(tmp_path: Path) -> None:
    path = write_video(tmp_path / "slow.avi", PICTURES, rate=0.5)
    with open_camera(path) as camera:
        assert camera.newest(timeout=20) is not None
        assert camera.newest(after=0, timeout=0.05) is None


def test_a_closed_camera_says_so(video: Path) -> None:
    camera = open_camera(video, realtime=False)
    camera.close()
    camera.close()
    with pytest.raises(CameraError, match="is closed"):
        camera.newest()


def test_an_error_of_opencv_ends_the_camera(video: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> float:
        raise RuntimeError("a decoder failed")

    monkeypatch.setattr("robocle.cameras.rate_of", fail)
    with open_camera(video) as camera, pytest.raises(CameraError, match="a decoder failed"):
        camera.newest(timeout=20)


def test_a_camera_to_be_opened_again_survives_an_error_of_opencv(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rates = iter([0.0])

    def fail_once(_: object) -> float:
        if next(rates, None) is None:
            return 30.0
        raise RuntimeError("a decoder failed")

    monkeypatch.setattr("robocle.cameras.rate_of", fail_once)
    monkeypatch.setattr("robocle.cameras.RETRY", 0.1)
    with network_camera(PICTURES) as source, open_camera(source.url, reconnect=True) as camera:
        assert camera.newest(timeout=20) is not None
    assert "a decoder failed" in caplog.records[0].getMessage()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (977, ("no webcam 977", "number")),
        ("977", ("no webcam 977",)),
        ("/dev/video977", ("no webcam /dev/video977",)),
        ("missing.mp4", ("no video file missing.mp4",)),
        ("", ("name is empty",)),
        (".", ("is a folder, not a video",)),
        ("http://127.0.0.1:9/stream", ("http://127.0.0.1:9/stream", "does not answer")),
        ("rtsp://me:secret@127.0.0.1:9/", ("rtsp://...@127.0.0.1:9/",)),
        ("rtsp://me:@secret/secret@127.0.0.1:9/", ("rtsp://...@127.0.0.1:9/",)),
    ],
)
def test_a_source_that_is_not_there_is_one_clear_line(
    source: str | int, words: tuple[str, ...], refusal: Refusal
) -> None:
    message = refusal(CameraError, lambda: open_camera(source))
    assert all(word in message for word in words)
    assert "secret" not in message


@pytest.mark.parametrize("source", ["977", "rtsp://me:secret@127.0.0.1:9/", __file__])
def test_opencv_prints_nothing_of_its_own(source: str) -> None:
    program = "import sys, robocle.cameras\nrobocle.cameras.open_camera(sys.argv[1])"
    command = [sys.executable, "-c", program, source]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    traceback, *_, last = result.stderr.splitlines()
    assert traceback.startswith("Traceback")
    assert last.startswith("robocle.errors.CameraError: ")


@pytest.mark.parametrize("content", [b"", b"no video at all", bytes(range(256)) * 40])
def test_a_file_that_is_no_video_is_one_clear_line(
    content: bytes, tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "video.mp4"
    path.write_bytes(content)
    assert "convert it" in refusal(CameraError, lambda: open_camera(path))


def test_without_opencv_the_error_names_the_extra(
    video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingExtraError, match=r"robocle\[camera\]"):
        open_camera(video)
