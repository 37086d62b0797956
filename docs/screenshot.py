"""Makes docs/demo.png, the screenshot in the README, from a run of the demo.

    python docs/screenshot.py

It needs Chromium and the extra `dev`. All pictures on the page are rendered by robocle.
"""

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from robocle.demo.run import run_demo
from robocle.reports.demo_page import write_report

OUT = Path(__file__).parent / "demo.png"
WIDTH = 1100
LAST = "section.taught"
"""The screenshot ends below this part of the page."""
COLOURS = 256


def main() -> None:
    """Run the demo and write the screenshot."""
    result = run_demo(lambda pictures, _: pictures)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "demo.html"
        write_report(result, page)
        screenshot = _screenshot(page)
    image = Image.open(io.BytesIO(screenshot)).convert("RGB")
    small = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=4)
    small.save(OUT, optimize=True)
    print(f"wrote {OUT}, {OUT.stat().st_size / 1e3:.0f} kB")


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
