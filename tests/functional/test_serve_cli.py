"""`robocle serve` as a process: it starts, stops, is killed, and loses nothing."""

import builtins
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from command_line import assert_refused, counts_of, run
from video_sources import home_picture
from web_client import ServeProcess


def picture(label: str = "mug", number: int = 0) -> bytes:
    return home_picture(f"clean/{label}_01/{number}").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_and_the_state_is_whole(number: int, tmp_path: Path) -> None:
    server = ServeProcess(tmp_path / "home.robocle")
    assert server.api.teach("mug", picture()).status == 200
    code, out, err = server.stop(number)
    assert (code, err) == (0, "")
    assert out.endswith("stopped; everything that was taught is saved\n")
    assert [each.name for each in tmp_path.iterdir()] == ["home.robocle"]
    assert counts_of(tmp_path / "home.robocle") == {"mug": 1}


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    state = tmp_path / "home.robocle"
    server = ServeProcess(state)
    for number in range(4):
        assert server.api.teach("mug", picture("mug", number), lesson="a", number=number).json
    server.kill()
    assert counts_of(state) == {"mug": 4}
    again = ServeProcess(state)
    (step,) = again.api.get("/api/v1/state").json["steps"]
    assert step["description"] == "teaching 4 pictures of 'mug'"
    assert again.api.post("/api/v1/undo").status == 200
    again.kill()
    assert counts_of(state) == {}


@pytest.mark.slow
def test_other_devices_need_the_token_and_https(tmp_path: Path) -> None:
    server = ServeProcess(tmp_path / "home.robocle", "--host", "0.0.0.0", "--https")
    try:
        assert server.address.startswith("https://")
        token = server.address.partition("#token=")[2]
        assert len(token) > 20
        trusting = ssl._create_unverified_context()
        url = f"https://127.0.0.1:{server.port}/api/v1/labels"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, context=trusting) as answer:
            assert answer.status == 200
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(url, context=trusting)
    finally:
        code, _, _ = server.stop()
    assert code == 0


@pytest.mark.slow
@pytest.mark.parametrize("what", ["deleted", "replaced"])
def test_if_the_file_is_deleted_or_replaced_the_last_line_says_so(
    what: str, home_state: bytes, tmp_path: Path
) -> None:
    state = tmp_path / "home.robocle"
    server = ServeProcess(state)
    assert server.api.teach("mug", picture()).status == 200
    if what == "deleted":
        state.unlink()
    else:
        (tmp_path / "other").write_bytes(home_state)
        os.replace(tmp_path / "other", state)
    answer = server.api.teach("mug", picture("mug", 1))
    assert answer.status == (503 if what == "deleted" else 200)
    code, out, err = server.stop()
    assert code == 0
    assert out.splitlines()[-1].startswith(f"stopped; {state} was deleted or replaced meanwhile")
    assert err.count("was deleted") == (what == "deleted")


@pytest.mark.slow
def test_a_read_only_state_recognises_and_the_command_says_that_it_cannot_be_taught(
    home_state: bytes, tmp_path: Path
) -> None:
    state = tmp_path / "home.robocle"
    state.write_bytes(home_state)
    state.chmod(0o444)
    server = ServeProcess(state)
    assert server.process.stdout is not None
    line = server.process.stdout.readline()
    assert line == "home.robocle is read-only: it recognises, and cannot be taught\n"
    assert server.api.post("/api/v1/predict", picture()).status == 200
    assert server.api.teach("mug", picture()).status == 503
    server.stop()
    assert state.read_bytes() == home_state


def test_a_profile_of_a_state_that_has_other_parts_is_refused(
    home_state: bytes, tmp_path: Path
) -> None:
    (tmp_path / "home.robocle").write_bytes(home_state)
    result = run("serve", tmp_path / "home.robocle", "--profile", "accurate", "--port", "0")
    assert_refused(result, "home.robocle exists and keeps its parts", "leave out --profile")


def test_a_port_that_is_in_use_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        result = run("serve", tmp_path / "home.robocle", "--port", port, "--no-browser")
    assert_refused(result, port, "choose another with --port")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("state", "options", "words"),
    [
        ("missing/home.robocle", [], ("missing",)),
        ("home.robocle", ["--proxy", "home.example"], ("--proxy home.example is not",)),
        ("home.robocle", ["--finder", "onnx:none.onnx"], ("none.onnx",)),
        ("home.robocle", ["--camera", "no.mp4"], ("no video file no.mp4",)),
    ],
)
def test_what_cannot_be_served_is_refused_for_its_own_reason(
    state: str, options: list[str], words: tuple[str, ...], tmp_path: Path
) -> None:
    result = run("serve", tmp_path / state, "--port", "0", "--no-browser", *options)
    assert_refused(result, *words)
    assert "cannot listen" not in result.stderr


@pytest.mark.parametrize(
    "token", ["short", "caf\N{LATIN SMALL LETTER E WITH ACUTE} au lait", "a\tbcdefgh"]
)
def test_a_token_that_a_header_cannot_hold_is_refused(token: str, tmp_path: Path) -> None:
    result = run("serve", tmp_path / "home.robocle", "--token", token, "--no-browser")
    assert_refused(result, "the token must have at least 8 characters")


def test_without_the_server_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without_uvicorn(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "uvicorn":
            raise ImportError("No module named 'uvicorn'", name="uvicorn")
        return real(name, *arguments, **options)

    for module in [name for name in sys.modules if name.startswith("robocle.web.server")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", without_uvicorn)
    result = run("serve", tmp_path / "home.robocle")
    assert_refused(result, "the teach page needs uvicorn", "pip install 'robocle[web]'")


@pytest.mark.slow
def test_the_browser_is_opened_with_the_address(tmp_path: Path) -> None:
    """A program that stands for the browser notes the address that it is started with."""
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}.new && mv {seen}.new {seen}\n', "utf-8")
    browser.chmod(0o755)
    command = [sys.executable, "-m", "robocle", "serve", str(tmp_path / "home.robocle")]
    process = subprocess.Popen(
        [*command, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "BROWSER": f"{browser} %s", "DISPLAY": ":0", "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout
    address = process.stdout.readline().split(" at ")[1].strip()
    for _ in range(200):
        if seen.exists():
            break
        time.sleep(0.05)
    process.terminate()
    process.communicate(timeout=30)
    assert seen.read_text("utf-8").strip() == address
