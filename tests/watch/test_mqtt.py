"""Home Assistant finds the camera at a real broker, whatever happens to the broker."""

import json
import signal
from pathlib import Path

import pytest

from mqtt_broker import (
    PASSWORD,
    USER,
    certificate,
    free_port,
    mosquitto,
    requires_mosquitto,
    subscriber,
)
from robocle.errors import BrokerError
from robocle.watch.mqtt import PASSWORD_VARIABLE, Broker, Publisher
from waiting import wait_for
from watch_process import watching

pytestmark = [requires_mosquitto, pytest.mark.slow]


def test_home_assistant_discovers_the_camera_and_learns_when_it_is_gone(
    state: Path, video: Path, tmp_path: Path
) -> None:
    with mosquitto(tmp_path, tls=True) as broker, subscriber(broker) as heard:
        assert broker.certificate
        secure = ("--mqtt", f"mqtts://{USER}@127.0.0.1:{broker.port}", "--mqtt-ca")
        arguments = (state, "--camera", video, *secure, broker.certificate)
        with watching(*arguments, password=PASSWORD) as watch:
            wait_for(lambda: {"mug", "clock"} <= set(heard.labels()), "a mug and a clock")
            entities = [json.loads(text) for text in heard.of("/config")]
            assert {each["unique_id"] for each in entities} == {
                "robocle_kitchen_object",
                "robocle_kitchen_confidence",
            }
            with subscriber(broker) as late:  # who comes later gets what is retained
                wait_for(lambda: late.of("/state"), "the retained state")
                wait_for(lambda: late.of("/availability") == ["online"], "online")
                wait_for(lambda: len(late.of("/config")) == 2, "the retained discovery")
                assert late.messages[0][2]
            watch.end(signal.SIGKILL)
        wait_for(lambda: heard.of("/availability")[-1] == "offline", "the last will")
        with watching(*arguments, password=PASSWORD) as watch:
            wait_for(lambda: heard.of("/availability")[-1] == "online", "online again")
            watch.goes_on()
            assert watch.end() == 143
            assert watch.errors == ["robocle: interrupted\n"]
        wait_for(lambda: heard.of("/availability")[-1] == "offline", "offline at the end")


def test_a_broker_that_dies_changes_nothing_and_gets_everything_again(
    state: Path, video: Path, tmp_path: Path
) -> None:
    with mosquitto(tmp_path) as broker:
        address = ("--mqtt", f"127.0.0.1:{broker.port}")
        with watching(state, "--camera", video, *address, "--name", "hall") as watch:
            with subscriber(broker) as heard:
                wait_for(lambda: "mug" in heard.labels(), "a mug")
            broker.kill()
            watch.goes_on()
            broker.start()
            watch.goes_on()
            with subscriber(broker) as heard:
                wait_for(lambda: len(heard.of("/config")) >= 2, "the discovery again")
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
    with mosquitto(tmp_path, tls=True) as broker:
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
        Publisher(Broker.parse("localhost", "", tmp_path / "ca.pem"), "kitchen")
    with pytest.raises(BrokerError, match="no certificate file"):
        Broker.parse("localhost", "", tmp_path / "missing.pem")
