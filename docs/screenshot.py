"""Makes the screenshots in the README: docs/demo.png and docs/teach-page.png.

    python docs/screenshot.py [demo] [teach-page]

The first is a run of the demo, the second a lesson on the teach page with a simulated webcam. It
needs Chromium and the extra `dev`. All pictures on the pages are rendered by robocle.
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import sync_playwright

from robocle.demo.run import run_demo
from robocle.reports.demo import write_report

HERE = Path(__file__).parent
WIDTH = 1100
LAST = "section.taught"
"""The screenshot ends below this part of the page."""
COLOURS = 256
SHOWN = ("mug", "clock", "glasses", "teapot")
"""What is taught on the teach page. The last one is recognised on the screenshot."""


def main() -> None:
    """Write the screenshots that are named, or both."""
    makers = {"demo": _demo, "teach-page": _teach_page}
    for name in sys.argv[1:] or makers:
        path = HERE / f"{name}.png"
        about = PngInfo()
        image = Image.open(io.BytesIO(makers[name](about))).convert("RGB")
        small = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=4)
        small.save(path, optimize=True, pnginfo=about)
        print(f"wrote {path}, {path.stat().st_size / 1e3:.0f} kB")


def _demo(about: PngInfo) -> bytes:
    """Run the demo and return a screenshot of its page; a test compares its accuracy."""
    result = run_demo(lambda pictures, _: pictures)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "demo.html"
        write_report(result, page)
        accuracy = result.mean_of_others(result.methods[-1], other_instance=False)
        about.add_text("accuracy", f"{accuracy:.1f}")
        return _screenshot(page)


def _teach_page(about: PngInfo) -> bytes:
    """Teach three objects on the teach page, show one of them, and return a screenshot."""
    sys.path.insert(0, str(HERE.parent / "tests/shared"))
    from chromium import CHROMIUM
    from fake_webcam import FakeWebcam
    from teach_page import TeachPage, views_of
    from web_client import ServeProcess

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        webcam = FakeWebcam(Path(folder) / "webcam.mjpeg", views_of(SHOWN[0]))
        options = [*webcam.options, "--use-fake-ui-for-media-stream"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        server = ServeProcess(Path(folder) / "home.robocle")
        try:
            page = browser.new_page(viewport={"width": 1200, "height": 776})
            page.goto(server.address)
            user = TeachPage(page, webcam)
            for label in SHOWN:
                user.teach(label)
            user.expect_verdict(SHOWN[-1])
            page.evaluate("document.querySelector('#cameras option').textContent = 'Webcam'")
            page.evaluate("document.getElementById('speed').hidden = true")  # of this machine
            page.evaluate("document.getElementById('tray-clear').click()")
            page.mouse.move(0, 0)
            page.wait_for_timeout(500)
            return page.screenshot()
        finally:
            server.stop()
            browser.close()


def _screenshot(path: Path) -> bytes:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    options = ["--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        page.goto(path.as_uri())
        height = page.evaluate(f"document.querySelector('{LAST}').getBoundingClientRect().bottom")
        page.set_viewport_size({"width": WIDTH, "height": int(height) + 24})
        page.wait_for_function("[...document.images].slice(0, 29).every(each => each.complete)")
        content = page.screenshot()
        browser.close()
    return content


if __name__ == "__main__":
    main()
