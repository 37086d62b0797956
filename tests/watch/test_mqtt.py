"""Home Assistant finds the camera at a real broker, whatever happens to the broker."""

import io
import json
import mmap
import signal
import sys
from pathlib import Path

import pytest
from PIL import Image

from command_line import error_of, run
from mqtt_broker import PASSWORD, USER, Mosquitto, certificate, requires_mosquitto, subscriber
from robocle.errors import BrokerError
from robocle.watch.broker import PASSWORD_VARIABLE, Broker
from robocle.watch.home_assistant import Device
from robocle.watch.mqtt import Publisher
from server_process import free_port
from video_sources import camera_program, home_picture
from waiting import wait_for
from watch_process import watching

pytestmark = [requires_mosquitto, pytest.mark.slow]


def test_home_assistant_discovers_the_camera_and_learns_when_it_is_gone(
    state: Path, video: Path, tmp_path: Path
) -> None:
    with Mosquitto(tmp_path, tls=True) as broker, subscriber(broker) as heard:
        assert broker.certificate
        secure = ("--mqtt", f"mqtts://{USER}@127.0.0.1:{broker.port}", "--mqtt-ca")
        arguments = (state, "--camera", video, *secure, broker.certificate)
        with watching(*arguments, password=PASSWORD) as watch:
            wait_for(lambda: {"mug", "clock"} <= set(heard.labels()), "a mug and a clock")
            entities = {each.get("unique_id") for each in heard.described().values()}
            names = ("object", "confidence", "camera")
            assert entities == {None, *(f"robocle_kitchen_{name}" for name in names)}
            with subscriber(broker) as late:  # who comes later gets what is retained
                wait_for(lambda: late.of("/state"), "the retained state")
                wait_for(lambda: late.of("/availability") == ["online"], "online")
                wait_for(lambda: late.described() == heard.described(), "the discovery")
                assert late.messages[0][2]
            watch.end(signal.SIGKILL)
        wait_for(lambda: heard.of("/availability")[-1] == "offline", "the last will")
        with watching(*arguments, password=PASSWORD) as watch:
            wait_for(lambda: heard.of("/availability")[-1] == "online", "online again")
            watch.goes_on()
            assert watch.end() == 143
            assert watch.errors == ["robocle: interrupted\n"]
        wait_for(lambda: heard.of("/availability")[-1] == "offline", "offline at the end")


def test_a_camera_that_dies_is_offline_until_it_comes_back(state: Path, tmp_path: Path) -> None:
    port, mug = free_port(), home_picture("clean/mug_01/5")
    with Mosquitto(tmp_path) as broker, subscriber(broker) as heard:

        def camera(state: str) -> None:
            wait_for(lambda: heard.of("/camera")[-1:] == [state], f"the camera is {state}")

        with camera_program(port, mug) as program:
            camera_at, broker_at = f"http://127.0.0.1:{port}/", f"127.0.0.1:{broker.port}"
            with watching(state, "--camera", camera_at, "--mqtt", broker_at) as watch:
                wait_for(lambda: "mug" in heard.labels(), "a mug")
                camera("online")
                program.send_signal(signal.SIGSTOP)  # it is connected, and sends nothing
                camera("offline")
                program.send_signal(signal.SIGCONT)
                camera("online")
                program.kill()
                camera("offline")
                assert watch.last["camera"] == "offline"
                with camera_program(port, mug):
                    camera("online")
                    wait_for(lambda: heard.labels()[-1] == "mug", "the mug again")
                    assert heard.of("/availability") == ["online"]
                    watch.end()
        events = [json.loads(text) for text in heard.of("/event")]
        assert events == [{"event": "seen", "label": "mug"}]  # nobody has taken it away
        described = heard.described()
    whole = ["robocle/kitchen/availability", "robocle/kitchen/camera"]
    for entity in described.values():
        if entity.get("device_class") == "connectivity":
            assert (entity["state_topic"], entity["availability_topic"]) == (whole[1], whole[0])
        elif "automation_type" not in entity:
            assert [each["topic"] for each in entity["availability"]] == whole


def test_discovery_follows_what_is_taught_and_forgotten_and_can_be_removed(
    state: Path, video: Path, tmp_path: Path
) -> None:
    prefixes = ("--topic-prefix", "home/cameras", "--discovery-prefix", "ha")
    with Mosquitto(tmp_path) as broker, subscriber(broker) as heard:
        mqtt = ("--mqtt", f"127.0.0.1:{broker.port}", *prefixes)
        entity = "ha/binary_sensor/robocle_kitchen/sees_{}/config"
        trigger = "ha/device_automation/robocle_kitchen/gone_{}/config"

        def knows(*labels: str) -> bool:
            found, none = heard.described(), {"mug", "clock", "key", "nothing"} - {*labels}
            places = (entity, trigger)
            assert not any(topic.startswith("homeassistant") for topic in found)
            return all(each.format(label) in found for each in places for label in labels) and (
                not any(each.format(label) in found for each in places for label in none)
            )

        with watching(state, "--camera", video, *mqtt, "--label-sensors", "--image") as watch:
            wait_for(lambda: knows("mug", "clock"), "the labels taught")
            assert run("rename", state, "mug", "nothing").exit_code == 0
            wait_for(lambda: knows("clock", "nothing"), "the label renamed")
            options = heard.described()["ha/sensor/robocle_kitchen/object/config"]["options"]
            assert {"clock", "nothing (object)", "nothing", "unknown object"} <= {*options}
            topic = "home/cameras/kitchen/state"
            states = [text for where, text, _ in heard.messages if where == topic]
            assert {json.loads(each)["state"] for each in states} <= {"mug", *options}
            wait_for(lambda: "nothing (object)" in heard.labels(), "the object called nothing")
            frame = Image.open(io.BytesIO(heard.retained["home/cameras/kitchen/image"]))
            assert frame.size == (224, 224)
            watch.end()
        assert run("forget", state, "nothing").exit_code == 0
        with watching(state, "--camera", video, *mqtt, "--label-sensors") as watch:
            wait_for(lambda: knows("clock"), "the label forgotten meanwhile")
            assert not any("image" in topic for topic in heard.described())
            watch.end()
        assert run("watch", state, *mqtt, "--forget-discovery").exit_code == 0
        misspelt = run("watch", state, *mqtt, "--name", "kitchn", "--forget-discovery")
        assert "removed 0 messages of the camera kitchn" in misspelt.stdout
        assert misspelt.stdout.endswith(": check --name and the prefixes\n")
        passing = {f"home/cameras/kitchen/{kind}" for kind in ("event", "watcher")}  # not retained
        wait_for(lambda: not {*heard.retained} - passing, "nothing is retained")
        with watching(state, "--camera", video, *mqtt) as watch:
            wait_for(lambda: "gone" in str(heard.of("/event")[-1:]), "an object that is gone")
            watch.end()
    gone = "cannot connect to the broker"
    assert gone in error_of("watch", state, *mqtt, "--forget-discovery")


def test_a_broker_that_dies_changes_nothing_and_gets_everything_again(
    state: Path, video: Path, tmp_path: Path
) -> None:
    with Mosquitto(tmp_path) as broker:
        address = ("--mqtt", f"127.0.0.1:{broker.port}")
        with watching(state, "--camera", video, *address, "--name", "hall") as watch:
            with subscriber(broker) as heard:
                wait_for(lambda: "mug" in heard.labels(), "a mug")
            broker.kill()
            watch.goes_on()
            broker.start()
            watch.goes_on()
            with subscriber(broker) as heard:
                wait_for(lambda: len(heard.described()) > 3, "the discovery again")
                wait_for(lambda: heard.of("/availability")[-1:] == ["online"], "online again")
                wait_for(lambda: {"mug", "clock"} <= set(heard.labels()), "labels again")
            broker.process.send_signal(signal.SIGSTOP)  # neither dead nor alive
            for _ in range(10):
                watch.goes_on()
            broker.process.send_signal(signal.SIGCONT)
            watch.end()
        gaps = [b[0] - a[0] for a, b in zip(watch.lines, watch.lines[1:], strict=False)]
        assert max(gaps) < 10
        assert any("is gone" in line for line in watch.errors)


def memory_of(process: int) -> int:
    """Return the bytes of memory that a process has."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * mmap.PAGESIZE


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_thousand_frames_take_no_more_memory_than_a_hundred(
    state: Path, video: Path, tmp_path: Path
) -> None:
    with Mosquitto(tmp_path) as broker, subscriber(broker) as heard:
        mqtt = ("--mqtt", f"127.0.0.1:{broker.port}", "--label-sensors", "--image")
        with watching(state, "--camera", video, *mqtt) as watch:  # two frames per line
            wait_for(lambda: len(watch.lines) >= 50, "a hundred frames")
            before = memory_of(watch.process.pid)
            wait_for(lambda: len(watch.lines) >= 550, "a thousand more", seconds=300)
            grown = memory_of(watch.process.pid) - before
        assert {"mug", "clock"} <= {*heard.labels()}
        assert len(heard.of("/image")) > 20
    assert grown < 8e6, f"{grown / 1e6:.1f} MB"


def test_two_programs_that_publish_under_one_name_are_both_warned(
    state: Path, video: Path, tmp_path: Path
) -> None:
    with Mosquitto(tmp_path) as broker:
        arguments = (state, "--camera", video, "--mqtt", f"127.0.0.1:{broker.port}", "--name")
        with watching(*arguments, "hall") as one, watching(*arguments, "door") as other:
            with watching(*arguments, "hall") as again:
                for each in (one, again):
                    wait_for(lambda each=each: each.errors, "a warning")  # type: ignore[misc]
                    assert "another program publishes as 'hall'" in each.errors[0]
                again.end()
            one.goes_on()
            assert (len(one.errors), other.errors) == (1, [])


def test_a_broker_that_is_not_there_is_a_warning(state: Path, video: Path) -> None:
    with watching(state, "--camera", video, "--mqtt", f"127.0.0.1:{free_port()}") as watch:
        watch.goes_on()
        watch.goes_on()
        watch.end()
    warning, last = watch.errors
    assert "cannot connect to the broker" in warning
    assert last == "robocle: interrupted\n"


def test_a_wrong_password_or_certificate_is_a_warning_that_says_what_to_check(
    state: Path, video: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    with Mosquitto(tmp_path, tls=True) as broker:
        assert broker.certificate
        secure = ("--mqtt", f"mqtts://{USER}@127.0.0.1:{broker.port}", "--mqtt-ca")
        arguments = (state, "--camera", video, *secure)
        with watching(*arguments, broker.certificate, password="wrong") as watch:
            wait_for(lambda: watch.errors, "a warning")
            watch.goes_on()
            assert PASSWORD_VARIABLE in watch.errors[0]
        with watching(*arguments, certificate(tmp_path / "other"), password=PASSWORD) as watch:
            wait_for(lambda: watch.errors, "a warning")
            watch.goes_on()
            assert "certificate" in watch.errors[0]


def test_a_file_that_is_no_certificate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(BrokerError, match="PEM"):
        Publisher(Broker.parse("localhost", "", tmp_path / "ca.pem"), Device("kitchen"))
    with pytest.raises(BrokerError, match="no certificate file"):
        Broker.parse("localhost", "", tmp_path / "missing.pem")
