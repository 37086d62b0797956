"""What tests and the screenshots do on the teach page, as its users do it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fake_webcam import FakeWebcam
from home_pictures import HOME

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PATIENCE = 45_000
"""Milliseconds to wait for something on a busy machine."""


def views_of(label: str, number: int = 7) -> Sequence[Path]:
    """Return pictures of a shipped object, from several sides."""
    return sorted((HOME / "clean" / f"{label}_01").glob("*.jpg"))[:number]


def expect(element: "Locator") -> Any:
    """Return what can be expected of an element, which has some time for it."""
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE)
    return expect(element)


class TeachPage:
    """The page, and the webcam that it sees.

    Args:
        page: The page in a browser.
        webcam: The webcam of the browser.
    """

    def __init__(self, page: "Page", webcam: FakeWebcam) -> None:
        self.page = page
        self.webcam = webcam

    def show(self, label: str) -> None:
        """Hold an object in front of the webcam."""
        self.webcam.show(views_of(label))

    def expect_verdict(self, text: str, kind: str = "known") -> None:
        """Wait until the page says what it sees."""
        verdict = self.page.locator("#verdict")
        expect(verdict).to_have_text(text)
        expect(verdict).to_have_attribute("data-kind", kind)

    def expect_unknown(self) -> None:
        """Wait until the page says that it does not know what it sees."""
        self.expect_verdict("I don't know this", "unknown")

    def expect_pictures(self, label: str, least: int) -> None:
        """Wait until an object has at least so many pictures."""
        several = "|".join(str(number) for number in range(least, 40))
        shots = self.row(label).locator(".shots")
        expect(shots).to_have_text(re.compile(f"^({several})$"))

    def row(self, label: str) -> "Locator":
        """Return the row of an object in the list."""
        rows = self.page.locator("#list > li")
        return rows.filter(has=self.page.locator(".name", has_text=label))

    def name(self, label: str) -> None:
        """Type the name of a new object."""
        self.page.fill("#name", label)
        self.page.press("#name", "Enter")

    def teach(self, label: str, pictures: int = 5) -> None:
        """Show an object, name it, and hold the button until enough pictures are learned."""
        self.show(label)
        self.page.wait_for_timeout(700)  # the pictures that are still on their way
        self.name(label)
        self.hold(pictures)
        expect(self.page.locator("#done-text")).to_contain_text(f"of {label}")

    def hold(self, pictures: int) -> None:
        """Hold the button until so many pictures are learned; confirm it if that is asked."""
        page = self.page
        page.locator("#hold").hover()
        page.mouse.down()
        several = "|".join(str(number) for number in range(pictures, 31))
        learned = page.locator("#count", has_text=re.compile(f"^({several})$"))
        expect(learned.or_(page.locator("#ask-yes:visible")).first).to_be_visible()
        if page.locator("#ask").is_visible():
            page.mouse.up()
            page.click("#ask-yes")
            page.locator("#hold").hover()
            page.mouse.down()
            expect(learned).to_be_visible()
        page.mouse.up()

    def choose(self, label: str, what: str) -> None:
        """Choose something in the menu of an object."""
        self.row(label).locator(".dots").click()
        self.page.locator(".menu button", has_text=what).click()
