"""The camera's frames become one steady observation at a time, on stdout and for the broker."""

import itertools
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from PIL import Image

from bright_detector import bright_detector
from command_line import error_of, run, run_subprocess
from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone
from robocle.cameras import open_camera
from robocle.errors import BrokerError
from robocle.recognition.temporal_filter import TemporalFilter
from robocle.types import Prediction
from robocle.watch import Observation, observations
from robocle.watch.broker import Broker
from robocle.watch.home_assistant import Device, identifier
from robocle.watch.watching import NO_FRAME, RESERVED
from video_sources import home_picture, write_video
from waiting import wait_for
from watch_process import watching


def runs(labels: list[str | None]) -> list[str | None]:
    """The labels without repetitions."""
    return [label for label, _ in itertools.groupby(labels)]


@pytest.mark.slow
def test_watch_prints_a_steady_label_until_the_video_ends(state: Path, video: Path) -> None:
    result = run_subprocess("watch", state, "--camera", video, "--json", "--every", "0.5")
    assert result.returncode == 0, result.stderr
    seen = [json.loads(line) for line in result.stdout.splitlines()]
    assert 3 <= len(seen) <= 25  # a busy machine begins late
    labels = runs([each["label"] for each in seen])
    assert labels[-2:] == ["mug", "clock"]
    assert labels[:-2] in ([], [None])
    for each in seen:
        assert sum(each["confidences"].values()) + each["unknown_probability"] == pytest.approx(
            1, abs=0.01
        )
    assert seen[-1]["confidence"] > 0.7


@pytest.mark.slow
def test_watch_prints_lines_of_text_and_only_changes_if_wanted(state: Path, video: Path) -> None:
    result = run("watch", state, "--camera", video, "--changes", "--every", "0.2")
    assert result.exit_code == 0, result.output
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert [line[1] for line in lines if line[1] != "unknown" and "nothing" not in line[1]] == [
        "mug",
        "clock",
    ]
    assert all(0 <= float(line[2]) <= 1 for line in lines)


def test_watch_without_a_camera_or_a_state_is_one_line(state: Path, tmp_path: Path) -> None:
    assert "no video file" in error_of("watch", state, "--camera", tmp_path / "no.mp4")
    assert "no state file" in error_of("watch", tmp_path / "no.robocle", "--camera", "0")
    (tmp_path / "empty.robocle").touch()
    assert "is an empty file" in error_of("watch", tmp_path / "empty.robocle", "--camera", "0")
    assert (tmp_path / "empty.robocle").read_bytes() == b""
    assert "password" in error_of("watch", state, "--camera", "0", "--mqtt", "mqtt://me:pw@host")


def test_a_box_outside_the_frame_is_one_line(state: Path, video: Path) -> None:
    assert "box" in error_of("watch", state, "--camera", video, "--box", "900,900,50,50")


def test_without_paho_the_error_names_the_extra(
    state: Path, video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "paho.mqtt.client", None)
    assert "robocle[mqtt]" in error_of("watch", state, "--camera", video, "--mqtt", "localhost")


@pytest.mark.slow
def test_with_a_finder_objects_have_boxes_and_keep_their_numbers(
    state: Path, tmp_path: Path
) -> None:
    (tmp_path / "bright.onnx").write_bytes(bright_detector())
    finder = ("--finder", f"onnx:{tmp_path / 'bright.onnx'},pixels=unit")
    frames = []
    for number in range(12):
        frame = Image.new("RGB", (320, 240), (10, 10, 10))
        mug = Image.open(home_picture("clean/mug_01/5")).resize((110, 110))
        frame.paste(mug, (100 + 3 * number, 60))
        frames.append(tmp_path / f"{number}.png")
        frame.save(frames[-1])
    video = write_video(tmp_path / "room.avi", frames, rate=4)
    result = run("watch", state, "--camera", video, "--json", "--every", "0.2", *finder)
    assert result.exit_code == 0, result.stderr
    seen = [json.loads(line) for line in result.stdout.splitlines()]
    assert seen[-1]["label"] == "mug"
    assert seen[-1]["seen"] == ["mug"]
    boxes = [each["box"] for one in seen for each in one.get("objects") or () if each["label"]]
    numbers = {each["number"] for one in seen for each in one.get("objects") or () if each["label"]}
    assert boxes[0][0] < 125
    assert len(numbers) == 1
    assert boxes[-1] == pytest.approx([100 + 3 * 11, 60, 110, 110], abs=14)
    assert "--box" in run("watch", state, "--camera", video, *finder, "--box", "0,0,9,9").stderr


def test_frames_that_stop_coming_are_reported_as_nothing_to_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robocle.watch.watching.STALE", 0.1)
    path = write_video(tmp_path / "slow.avi", [home_picture("clean/mug_01/0")] * 2, rate=0.2)
    found = Prediction("mug", 0.9, {"mug": 1.0}, "mug", 0.9, {"mug": 0.95})
    with open_camera(path) as camera:
        seen = observations(camera, lambda _: found, TemporalFilter(), every=0.4)
        first, second = itertools.islice(seen, 2)
    assert first.nothing == NO_FRAME
    assert second.nothing == NO_FRAME
    assert second.state == "nothing"


@pytest.mark.slow
def test_watch_follows_what_other_programs_do_to_its_state(state: Path, tmp_path: Path) -> None:
    keys = [home_picture(f"clean/key_01/{number}") for number in range(6)]
    video = write_video(tmp_path / "key.avi", keys, rate=10, repeat=5)

    def wait_until(**wanted: str | None) -> None:
        wait_for(lambda: watch.last.items() >= wanted.items(), f"{wanted} after {watch.last}")

    with watching(state, "--camera", video) as watch:
        wait_until(state="unknown object")
        assert run("teach", state, "key", *keys[:4]).exit_code == 0
        wait_until(label="key")
        for label in ("mug", "clock", "banana", "key"):
            assert run("forget", state, label).exit_code == 0
        wait_until(state="nothing", nothing="nothing is taught any more")
        assert run("undo", state, "--times", "4").exit_code == 0
        wait_until(label="key")
        state.unlink()
        watch.goes_on()
        wait_until(label="key")
        assert watch.end(signal.SIGINT) == 0
    warning, last = watch.errors
    assert "was deleted" in warning
    assert last == "robocle: stopped\n"


def test_a_state_without_labels_cannot_be_watched(tmp_path: Path, lite0: Backbone) -> None:
    Learner(lite0).save(tmp_path / "empty.robocle")
    error = error_of("watch", tmp_path / "empty.robocle", "--camera", "0")
    assert error.startswith("nothing has been taught yet")


def test_an_observation_lists_the_best_labels_only() -> None:
    found = {f"thing {n}": p for n, p in enumerate((0.1, 0.5, 0.05, 0.2, 0.05))}
    steady = TemporalFilter()
    prediction = Prediction("thing 1", 0.5, found, "thing 1", 0.9, found)
    seen = Observation.of(steady.update(prediction), 0.0)
    assert list(seen.confidences) == ["thing 1", "thing 3", "thing 0"]
    assert seen.as_line().split("\t")[1:] == ["undecided", f"{seen.confidence:.2f}"]


@pytest.mark.parametrize(
    ("address", "host", "port", "user", "tls"),
    [
        ("broker", "broker", 1883, "", False),
        ("192.168.1.5:1884", "192.168.1.5", 1884, "", False),
        ("mqtts://broker", "broker", 8883, "", True),
        ("mqtts://me@broker:99", "broker", 99, "me", True),
        ("mqtt://a%40b@broker", "broker", 1883, "a@b", False),
        ("[::1]:1885", "::1", 1885, "", False),
    ],
)
def test_the_address_of_a_broker_is_a_host_or_a_url(
    address: str, host: str, port: int, user: str, tls: bool
) -> None:
    broker = Broker.parse(address, "secret")
    assert (broker.host, broker.port, broker.user, broker.tls) == (host, port, user, tls)
    assert "secret" not in repr(broker) + str(broker)


@pytest.mark.parametrize(
    "address",
    ["", "http://broker", "broker:port", "broker:99999", "mqtt://me:pw@broker", "a b", "broker/x",
     "mqtt://me:pw/pw@broker", "me:pw:pw@broker:port", "mqtt://me:1?pw@broker", "me:p://w@b:p"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_in_one_line(address: str, refusal: Refusal) -> None:
    message = refusal(BrokerError, lambda: Broker.parse(address))
    assert not any(each in message.replace("pwd", "") for each in ("pw", "p://w"))


def test_topics_hold_no_character_that_mqtt_gives_a_meaning() -> None:
    names = ["kitchen", "a/b", "a#", "+", "Küche", "a b", "a_b", os.sep, "$SYS"]
    devices = [Device(name, label_sensors=True) for name in names]
    assert len({each.topic("state") for each in devices}) == len(names)
    for each in devices:
        own = [each.topic(kind) for kind in ("state", "camera", "event")]
        topics = [*own, *each.discovery(names)]
        assert not set("#+$ ") & set("".join(topics))
        assert all(topic.count("/") in (2, 4) for topic in topics)
        assert len(topics) == 6 + 3 * len(names)


def test_labels_in_any_script_have_sensors_of_their_own() -> None:
    assert len({identifier(chr(0x4E00 + number)) for number in range(2000)}) == 2000


@pytest.mark.parametrize("prefix", ["", "a/", "/a", "a//b", "a/+", "#", "$SYS", "a b", "a\0"])
def test_what_cannot_begin_a_topic_is_refused(prefix: str, refusal: Refusal) -> None:
    for device in (lambda: Device("kitchen", prefix), lambda: Device("kitchen", "a/b", prefix)):
        assert "cannot begin a topic" in refusal(BrokerError, device)


def test_a_name_of_spaces_is_refused(refusal: Refusal) -> None:
    assert "--name" in refusal(BrokerError, lambda: Device(" "))


def test_no_label_reads_like_a_state() -> None:
    labels = [*RESERVED, "None", "Unavailable", "mug", "None (object)", "None (object) (object)"]
    seen = [Observation(0.0, "known", label).state for label in labels]
    assert not {each.casefold() for each in seen} & {*RESERVED}
    assert len({*seen}) == len(labels)
    assert "mug" in seen


@pytest.mark.parametrize("option", ["--label-sensors", "--image", "--forget-discovery"])
def test_what_is_for_the_broker_requires_one(option: str, state: Path) -> None:
    assert f"{option} requires --mqtt" in run("watch", state, "--camera", "0", option).stderr
    assert "--camera" in run("watch", state).stderr
