"""The example page recognises in a real browser what the learner recognises, without robocle."""

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chromium import CHROMIUM, NO_BROWSER
from fake_webcam import FakeWebcam
from home_pictures import home_picture
from robocle import Learner
from waiting import wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
RUNTIME = ROOT / "node_modules/onnxruntime-web"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and find_spec("playwright")), reason=NO_BROWSER),
    pytest.mark.skipif(not RUNTIME.is_dir(), reason="needs onnxruntime-web"),
]
LABELS = ("mug", "clock", "banana")
TAUGHT = [f"clean/{label}_01/{number}" for label in LABELS for number in (5, 6, 7)]
UNTAUGHT = ["clean/umbrella_01/0", "clean/key_01/0", "clean/teapot_01/0"]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def learner(home_state: bytes, tmp_path: Path) -> Learner:
    (tmp_path / "home.robocle").write_bytes(home_state)
    return Learner.load(tmp_path / "home.robocle")


@pytest.fixture
def page(learner: Learner, tmp_path: Path) -> "Iterator[Page]":
    """The example, from a plain web server, in a browser with a webcam that shows a mug."""
    from playwright.sync_api import sync_playwright

    served = tmp_path / "served"
    served.mkdir()
    (served / "node_modules").symlink_to(RUNTIME.parent)
    (served / "index.html").write_bytes((ROOT / "examples/browser/index.html").read_bytes())
    learner.export_onnx(served / "model.onnx")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(served)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    webcam = FakeWebcam(tmp_path / "webcam.mjpeg", [home_picture("clean/mug_01/5")])
    options = [*webcam.options, "--use-fake-ui-for-media-stream"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        yield page
        browser.close()
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_page_recognises_pictures_and_what_the_camera_sees(
    page: "Page", learner: Learner, tmp_path: Path
) -> None:
    output = page.locator("output")
    wait_for(lambda: output.inner_text().startswith("Choose"), "the model")
    shown, expected = [], []
    for name in [*TAUGHT, *UNTAUGHT]:
        page.evaluate("document.querySelector('output').textContent = ''")
        page.locator("input").set_input_files(home_picture(name))
        shown.append(wait_for(output.inner_text, "an answer").removeprefix("probably "))
        expected.append(learner.predict(home_picture(name)).label or "unknown")
    assert shown == expected
    assert {*expected} == {*LABELS, "unknown"}
    (tmp_path / "notes").write_text("no picture")
    page.locator("input").set_input_files(tmp_path / "notes")
    wait_for(lambda: "does not work" in output.inner_text(), "an error in words")
    page.locator("button").click()
    wait_for(lambda: "mug" in output.inner_text(), "the mug before the camera")
