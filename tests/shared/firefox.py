"""Firefox, driven over WebDriver BiDi without a driver, with a webcam whose picture a test sets."""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from waiting import wait_for

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox") or ""
NO_FIREFOX = "no Firefox: install it, with `apt-get install firefox-esr` or from its site"
# A canvas in place of a webcam: Firefox's own simulated webcam shows a single colour.
WEBCAM = """() => {
    const canvas = Object.assign(document.createElement("canvas"), {width: 640, height: 480});
    const context = canvas.getContext("2d");
    let pictures = [];
    let next = 0;
    window.webcam = (urls) => {
        pictures = urls.map((src) => Object.assign(new Image(), {src}));
        window.drawn = 0;
    };
    setInterval(() => {
        const picture = pictures[Math.floor(next++ / 6) % (pictures.length || 1)];
        if (!picture?.complete || !picture.naturalWidth) return;
        context.drawImage(picture, 0, 0, 640, 480);
        window.drawn += 1;
    }, 70);
    navigator.mediaDevices.getUserMedia = async () => canvas.captureStream(15);
    navigator.mediaDevices.enumerateDevices = async () => [];
    window.problems = [];
    window.addEventListener("error", (event) => window.problems.push(event.message));
    window.addEventListener("unhandledrejection", ({reason}) => window.problems.push(`${reason}`));
}"""
SETTINGS = """
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.enabled", false);
user_pref("app.update.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("remote.active-protocols", 1);
"""


class FirefoxPage:
    """A page in Firefox."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._last = 0
        self._ask("session.new", capabilities={})
        self._context = self._ask("browsingContext.getTree")["contexts"][0]["context"]
        self._ask("script.addPreloadScript", functionDeclaration=WEBCAM)

    def _ask(self, method: str, **given: Any) -> Any:
        self._last += 1
        self._connection.send(json.dumps({"id": self._last, "method": method, "params": given}))
        while True:
            answer = json.loads(self._connection.recv(timeout=120))
            if answer.get("id") == self._last:
                assert answer["type"] == "success", answer
                return answer["result"]

    def open(self, address: str, width: int, height: int) -> None:
        """Open an address in a window of a size."""
        size = {"width": width, "height": height}
        self._ask("browsingContext.setViewport", context=self._context, viewport=size)
        self._ask("browsingContext.navigate", context=self._context, url=address, wait="complete")

    def evaluate(self, script: str) -> Any:
        """Return what a script returns, as JSON has it."""
        found = self._ask(
            "script.evaluate",
            expression=f"JSON.stringify({script}) ?? 'null'",
            target={"context": self._context},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        return json.loads(found["result"]["value"])

    def wait(self, condition: str) -> None:
        """Wait until a condition in JavaScript holds."""
        wait_for(lambda: self.evaluate(f"Boolean({condition})"), condition, 90)

    def text(self, selector: str) -> str:
        """Return the text of an element."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).textContent"))

    def show(self, pictures: Sequence[Path]) -> None:
        """Hold pictures in front of the webcam, one after another, until older ones are gone."""
        urls = [base64.b64encode(each.read_bytes()).decode() for each in pictures]
        self.evaluate(f"webcam({json.dumps([f'data:image/jpeg;base64,{each}' for each in urls])})")
        self.wait("window.drawn > 12")

    def press(self, keys: str, *, kinds: Sequence[str] = ("keyDown", "keyUp")) -> None:
        """Press and release keys."""
        actions = [{"type": kind, "value": key} for key in keys for kind in kinds]
        keyboard = {"type": "key", "id": "keyboard", "actions": actions}
        self._ask("input.performActions", context=self._context, actions=[keyboard])

    def click(self, selector: str) -> None:
        """Click on the middle of an element with the mouse."""
        x, y = self.evaluate(
            "(({left, top, width, height}) =>"
            " [left + width / 2, top + height / 2].map(Math.round))"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        steps: list[dict[str, Any]] = [
            {"type": "pointerMove", "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        mouse = {"type": "pointer", "id": "mouse", "actions": steps}
        self._ask("input.performActions", context=self._context, actions=[mouse])

    def screenshot(self, path: Path) -> None:
        """Write a picture of what is in sight."""
        found = self._ask("browsingContext.captureScreenshot", context=self._context)
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def firefox(folder: Path) -> Iterator[FirefoxPage]:
    """Run Firefox with a profile of its own until the context ends."""
    folder.mkdir()
    (folder / "user.js").write_text(SETTINGS, "utf-8")
    log = folder / "log"
    command = [FIREFOX, "--headless", "--no-remote", "--profile", str(folder)]
    with open(log, "w") as output:
        process = subprocess.Popen(
            [*command, "--remote-debugging-port", "0"], stdout=output, stderr=output
        )
    try:
        listens = re.compile(r"BiDi listening on (ws://\S+)")
        found = wait_for(lambda: listens.search(log.read_text("utf-8")), "Firefox to start", 120)
        assert found
        with connect(f"{found[1]}/session", max_size=None, ping_interval=None) as connection:
            yield FirefoxPage(connection)
    finally:
        process.terminate()
        process.wait(60)
