"""The core of the teach page in Firefox."""

from pathlib import Path

import pytest

from firefox import FIREFOX, NO_FIREFOX, firefox
from teach_page import views_of
from web_client import ServeProcess

SPACE, ENTER = " ", "\ue007"
ASKED = "!document.getElementById('ask').hidden"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not FIREFOX, reason=NO_FIREFOX)]


def verdict(text: str) -> str:
    return f"document.getElementById('verdict').textContent === {text!r}"


def pictures(label: str, least: int) -> str:
    rows = "[...document.querySelectorAll('.choose')]"
    has = f"each.querySelector('.name').firstChild.data === {label!r}"
    return f"{rows}.some((each) => {has} && each.querySelector('.shots').textContent >= {least})"


def test_objects_are_taught_recognised_questioned_and_undone_in_firefox(tmp_path: Path) -> None:
    server = ServeProcess(tmp_path / "home.robocle")
    try:
        with firefox(tmp_path / "profile") as page:
            page.open(server.address, 1280, 800)
            page.show(views_of("mug"))
            page.wait("document.getElementById('verdict').dataset.kind === 'empty'")
            for label in ("mug", "clock", "glasses"):
                page.show(views_of(label))
                page.press("n")
                page.press(label)
                page.press(ENTER)
                page.press(SPACE, kinds=["keyDown"])
                page.wait(f"{ASKED} || {pictures(label, 4)}")
                if page.evaluate(ASKED):  # the object before was still in sight
                    page.press(SPACE, kinds=["keyUp"])
                    page.press("y")
                    page.press(SPACE, kinds=["keyDown"])
                    page.wait(pictures(label, 4))
                page.press(SPACE, kinds=["keyUp"])
                page.wait("!document.getElementById('done').hidden")
            page.show(views_of("mug"))
            page.wait(verdict("mug"))
            page.press(SPACE)
            page.wait(ASKED)
            assert page.text("#ask-text") == "This looks like mug. Teach it as glasses?"
            page.click("#ask-no")
            page.wait(f"!({ASKED})")
            page.show(views_of("keyboard"))
            page.wait(verdict("I don't know this"))
            page.wait("!document.getElementById('call').hidden")
            page.click("#call-name")
            page.press("keyboard")
            page.press(ENTER)
            page.press(SPACE, kinds=["keyDown"])
            page.wait(pictures("keyboard", 3))
            page.press(SPACE, kinds=["keyUp"])
            page.wait(verdict("keyboard"))
            page.press("u")
            page.wait("document.querySelectorAll('#list > li').length === 3")
            before = server.api.get("/api/v1/labels").json
            for width, height in ((390, 844), (844, 390), (1920, 1080)):
                page.open(server.address, width, height)
                page.wait("document.querySelectorAll('#list > li').length === 3")
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                top, bottom = page.evaluate(
                    "(({top, bottom}) => [top, bottom])"
                    "(document.getElementById('hold').getBoundingClientRect())"
                )
                assert 0 <= top < bottom <= height
            assert server.api.get("/api/v1/labels").json == before
            assert page.evaluate("window.problems") == []
    finally:
        server.stop()
