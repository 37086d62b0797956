"""The teach page in a real browser with a simulated webcam, from the first object to a crash."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from bright_detector import bright_detector
from chromium import CHROMIUM, NO_BROWSER
from command_line import run
from fake_webcam import CHROMIUM_OPTIONS, FakeWebcam
from home_pictures import HOME
from robocle.learner import Learner
from robocle.web.certificate import own_address
from teach_page import PATIENCE, TeachPage, expect, views_of
from video_sources import write_video
from web_client import ServeProcess

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserType, Page

DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True,
    "device_scale_factor": 2,
}  # fmt: skip
Open = Callable[..., TeachPage]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and find_spec("playwright")), reason=NO_BROWSER),
]


@pytest.fixture(scope="module")
def chromium() -> "Iterator[BrowserType]":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium


@pytest.fixture(scope="module")
def webcam(tmp_path_factory: pytest.TempPathFactory) -> FakeWebcam:
    return FakeWebcam(tmp_path_factory.mktemp("webcam") / "webcam.mjpeg", views_of("mug"))


@pytest.fixture(scope="module")
def browser(chromium: "BrowserType", webcam: FakeWebcam) -> "Iterator[Browser]":
    options = [*webcam.options, "--use-fake-ui-for-media-stream"]
    browser = chromium.launch(executable_path=CHROMIUM, args=options)
    yield browser
    browser.close()


@pytest.fixture
def strict_browser(chromium: "BrowserType") -> "Iterator[Browser]":
    """A browser whose user does not allow the camera."""
    browser = chromium.launch(executable_path=CHROMIUM, args=list(CHROMIUM_OPTIONS))
    yield browser
    browser.close()


@pytest.fixture
def opened(browser: "Browser", webcam: FakeWebcam) -> Iterator[Open]:
    """A function that opens an address in a browser of its own. Errors of scripts fail the test."""
    contexts: list[Any] = []
    errors: list[str] = []

    def open_page(
        address: str, *, of: "Browser" = browser, script: str = "", **options: Any
    ) -> TeachPage:
        contexts.append(of.new_context(ignore_https_errors=True, **{**DESKTOP, **options}))
        page = contexts[-1].new_page()
        page.add_init_script(script)
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: _note(line, errors))
        page.goto(address)
        return TeachPage(page, webcam)

    yield open_page
    for context in contexts:
        context.close()
    assert not errors


def _note(line: Any, errors: list[str]) -> None:
    """Note what the browser complains about, such as the policy; refusals are expected."""
    expected = (
        "Failed to load resource",
        "WebSocket connection",
        "ERR_CONNECTION",
        "Opener-Policy",
    )
    if line.type in ("error", "warning") and not any(each in line.text for each in expected):
        errors.append(line.text)


@contextmanager
def serving(state: Path, *options: str, port: int = 0) -> Iterator[ServeProcess]:
    server = ServeProcess(state, *options, port=port)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.stop()


def teach_with_program(server: ServeProcess, *labels: str) -> None:
    for label in labels:
        for number, path in enumerate(views_of(label, 3)):
            answer = server.api.teach(label, path.read_bytes(), lesson=label, number=number)
            assert answer.status == 200


@pytest.mark.parametrize(
    "device",
    [pytest.param(DESKTOP, marks=pytest.mark.exhaustive), PHONE],
    ids=["desktop", "phone"],
)
def test_three_objects_are_taught_recognised_edited_and_survive_a_crash(
    device: dict[str, Any], tmp_path: Path, opened: Open
) -> None:
    state = tmp_path / "home.robocle"
    with serving(state) as server:
        user = opened(server.address, **device)
        page = user.page
        expect(page.locator("#verdict")).to_have_attribute("data-kind", "empty")
        expect(page.locator("#hold")).to_be_disabled()
        for label in ("mug", "clock", "teapot"):
            user.teach(label)
        for label in ("mug", "clock", "teapot"):
            user.show(label)
            user.expect_verdict(label)
        user.show("keyboard")
        user.expect_unknown()
        assert _bars(page)["unknown"] > 50
        assert sum(_bars(page).values()) == pytest.approx(100, abs=3)
        _require_reachable(page, "#hold", "#five", "#done-undo")

        page.click("#done-undo")  # the teapot
        expect(page.locator("#list > li")).to_have_count(2)
        user.teach("teapot")
        user.choose("mug", "Rename")
        page.keyboard.type("cup")  # the old name is selected
        page.keyboard.press("Enter")
        expect(user.row("cup")).to_be_visible()
        user.choose("clock", "Forget")
        page.click("#forget-dialog button[value=yes]")
        expect(page.locator("#list > li")).to_have_count(2)
        page.select_option("#strictness", label="Strictness: strict")
        user.show("clock")
        user.expect_unknown()
        page.select_option("#strictness", label="Strictness: normal")
        before = server.api.get("/api/v1/labels").json

        page.reload()
        expect(page.locator("#list > li")).to_have_count(2)
        server.kill()
        expect(page.locator("#connection")).to_contain_text("Connection lost")
        with serving(state, port=server.port) as again:
            assert again.api.get("/api/v1/labels").json == before
            user.show("mug")
            user.expect_verdict("cup")  # the page connects again by itself
            expect(page.locator("#connection")).to_have_text("")
            page.locator(".history summary").click()
            page.click("#undo")
            expect(page.locator("#hint")).to_contain_text("Undid forgetting 'clock'")
            expect(page.locator("#list > li")).to_have_count(3)
        with Learner.open(state) as learner:
            assert learner.labels == ("cup", "clock", "teapot")


def test_other_things_are_taught_as_none_of_the_objects(tmp_path: Path, opened: Open) -> None:
    with serving(tmp_path / "home.robocle") as server:
        user = opened(server.address)
        page = user.page
        expect(page.locator("#other")).to_be_disabled()
        user.teach("mug")
        expect(page.locator("#whole-advice")).to_contain_text("'mug' is the only label")
        user.show("banana")
        page.wait_for_timeout(700)
        page.click("#other")
        expect(page.locator("#done-text")).to_have_text(
            re.compile(r"Learned \d pictures? of what is none of the objects")
        )
        assert server.api.get("/api/v1/state").json["unknown"] >= 1
        expect(page.locator("#whole-advice")).to_be_hidden()
        expect(page.locator("#list > li")).to_have_count(1)
        user.expect_unknown()
        expect(page.locator("#others-text")).to_contain_text("of what is none of these")
        page.click("#others-forget")
        expect(page.locator("#done-text")).to_have_text("Forgot what is none of the objects")
        expect(page.locator("#others")).to_be_hidden()
        page.click("#done-undo")
        expect(page.locator("#others")).to_be_visible()
        page.locator(".history summary").click()
        page.click("#undo")
        expect(page.locator("#others")).to_be_hidden()
        expect(page.locator("#whole-advice")).to_be_visible()
        assert server.api.get("/api/v1/state").json["unknown"] == 0


def _bars(page: "Page") -> dict[str, int]:
    texts = [row.inner_text().split("\n") for row in page.locator("#bars li").all()]
    return {parts[0].strip(): int(parts[-1].split()[0]) for parts in texts}


def test_everything_can_be_done_with_the_keyboard(tmp_path: Path, opened: Open) -> None:
    with serving(tmp_path / "home.robocle") as server:
        user = opened(server.address)
        keys, page = user.page.keyboard, user.page
        expect(page.locator("#verdict")).to_have_attribute("data-kind", "empty")
        for label in ("mug", "clock"):
            user.show(label)
            page.wait_for_timeout(700)
            keys.press("n")
            keys.type(label)
            keys.press("Enter")
            keys.down(" ")
            user.expect_pictures(label, 2)
            keys.up(" ")
            expect(page.locator("#done-text")).to_contain_text(f"of {label}")
        keys.press("1")
        expect(page.locator("#hold-text")).to_have_text("Hold to teach mug")
        keys.press("h")
        expect(page.locator("#heat")).to_be_visible()
        keys.press("b")
        expect(page.locator("#box")).to_be_visible()
        before = page.locator("#box").bounding_box()
        keys.press("ArrowDown")
        keys.press("Shift+ArrowRight")
        after = page.locator("#box").bounding_box()
        assert before
        assert after
        assert after["y"] > before["y"]
        assert after["width"] > before["width"]
        keys.press("b")
        keys.press("?")
        expect(page.locator("#help-dialog")).to_be_visible()
        keys.press("Escape")
        keys.press("u")
        expect(page.locator("#list > li")).to_have_count(1)
        keys.press("f")  # take five: as many as the object is turned for
        user.expect_pictures("mug", 2)

        page.locator("#tab-teach").focus()
        keys.press("ArrowRight")
        expect(page.locator("#page-more")).to_be_visible()
        keys.press("ArrowLeft")
        expect(page.locator("#page-teach")).to_be_visible()
        reached = _tab_through(page)
        wanted = [
            "help",
            "cameras",
            "heat-toggle",
            "box-toggle",
            "name",
            "hold",
            "five",
            "files-open",
        ]
        found = [each for each in reached if each in wanted]
        assert found[: len(wanted)] == wanted


def _tab_through(page: "Page") -> list[str]:
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    return reached


def test_two_browsers_see_each_others_changes(tmp_path: Path, opened: Open) -> None:
    with serving(tmp_path / "home.robocle") as server:
        one, other = opened(server.address), opened(server.address)
        expect(other.page.locator("#none")).to_be_visible()
        one.show("mug")
        one.page.wait_for_timeout(700)
        one.name("mug")
        one.page.locator("#hold").hover()
        one.page.mouse.down()
        expect(other.page.locator("#connection")).to_contain_text("teaches mug")
        one.page.mouse.up()
        other.expect_pictures("mug", 1)
        other.page.keyboard.press("u")
        expect(one.page.locator("#hint")).not_to_contain_text("Undid")
        expect(one.row("mug")).to_have_count(0)


def test_the_page_shows_what_others_teach_and_undo_reverts_my_own_lesson(
    tmp_path: Path, opened: Open
) -> None:
    state = tmp_path / "home.robocle"
    with serving(state) as server:
        user = opened(server.address)
        page = user.page
        expect(page.locator("#none")).to_be_visible()
        assert run("teach", state, "clock", *views_of("clock", 3)).exit_code == 0
        user.expect_pictures("clock", 3)
        user.teach("mug", pictures=2)
        server.api.teach("pan", views_of("pan")[0].read_bytes())
        user.expect_pictures("pan", 1)
        page.click("#done-undo")  # of the mug
        expect(page.locator("#hint")).to_have_text(re.compile("^Undid teaching .* of 'mug'$"))
        expect(page.locator("#list > li")).to_have_count(2)
        user.choose("clock", "Rename")
        page.keyboard.type("watch")
        page.keyboard.press("Enter")
        expect(page.locator("#done-text")).to_have_text("clock is now watch")
        server.api.post_json("/api/v1/rename", label="watch", new_label="alarm")
        expect(user.row("alarm")).to_be_visible()
        page.click("#done-undo")
        now = "nothing was changed: renaming 'watch' to 'alarm' has changed the same pictures"
        expect(page.locator("#hint")).to_contain_text(now)
        expect(user.row("alarm")).to_be_visible()
        server.api.post("/api/v1/undo")
        server.api.post("/api/v1/undo")

        page.locator(".history summary").click()
        expect(page.locator("#steps li")).to_have_count(4)
        expect(page.locator("#steps li").first).to_have_text(
            re.compile(r"^\d.* undoing teaching .* of 'mug'$")
        )
        expect(page.locator("#undo")).to_have_text(re.compile("^Undo undoing teaching"))
        page.click("#undo")
        expect(user.row("mug")).to_be_visible()
        expect(page.locator("#redo")).to_have_text(re.compile("^Redo undoing"))
        page.click("#redo")
        expect(user.row("mug")).to_have_count(0)
        state.unlink()
        server.api.teach("pan", views_of("pan")[1].read_bytes())
        page.click("#undo")
        expect(page.locator("#hint")).to_contain_text("was deleted or replaced while it was open")


def test_a_contradiction_is_questioned(tmp_path: Path, opened: Open) -> None:
    with serving(tmp_path / "home.robocle") as server:
        teach_with_program(server, "mug", "clock", "glasses")
        user = opened(server.address)
        page, keys = user.page, user.page.keyboard
        user.show("mug")
        user.expect_verdict("mug")
        user.row("glasses").locator(".choose").click()
        question = page.locator("#ask-text:visible")
        keys.down(" ")
        expect(question).to_have_text("This looks like mug. Teach it as glasses?")
        keys.up(" ")
        keys.press("n")
        expect(page.locator("#ask")).to_be_hidden()
        keys.press("f")
        expect(question).to_be_visible()
        keys.press("Escape")
        page.set_input_files("#files", [views_of("mug", 7)[6], views_of("glasses", 7)[6]])
        expect(question).to_have_text("This looks like mug. Teach it as glasses?")
        keys.press("n")
        expect(page.locator("#done-text")).to_have_text("Learned 1 picture of glasses")
        user.expect_pictures("glasses", 4)
        keys.press("Space")
        expect(question).to_be_visible()
        keys.press("y")
        expect(page.locator("#hint")).to_have_text("Now hold the button.")
        keys.press("o")  # as none of the objects
        expect(question).to_have_text("This looks like mug. Teach it as none of the objects?")
        keys.press("n")
        keys.down(" ")
        user.expect_pictures("glasses", 5)
        keys.up(" ")
        counts = {each["label"]: each["pictures"] for each in _labels(server)}
        assert (counts["mug"], counts["clock"]) == (3, 3)


def _labels(server: ServeProcess) -> Any:
    return server.api.get("/api/v1/labels").json["labels"]


def test_what_is_unknown_is_named_at_the_verdict_and_from_the_tray(
    tmp_path: Path, opened: Open
) -> None:
    with serving(tmp_path / "home.robocle") as server:
        teach_with_program(server, "mug", "clock", "glasses")
        user = opened(server.address)
        page = user.page
        user.show("banana")
        user.expect_unknown()
        expect(page.locator("#hold")).to_be_disabled()  # nothing was chosen
        expect(page.locator("#tray-list li").first).to_be_visible()
        page.fill("#call-name", "banana")
        page.press("#call-name", "Enter")
        expect(page.locator("#hold")).to_be_focused()
        expect(page.locator("#hold-text")).to_have_text("Hold to teach banana")
        user.hold(3)
        user.expect_verdict("banana")
        user.show("keyboard")
        user.expect_unknown()
        page.click("#tray-clear")
        page.locator("#tray-list label").first.click()
        page.fill("#call-name", "keyboard")
        page.press("#call-name", "Enter")
        expect(page.locator("#done-text")).to_have_text("Learned 1 picture of keyboard")
        user.expect_pictures("keyboard", 1)


def test_what_is_probable_can_be_remembered_and_taking_pictures_stopped(
    tmp_path: Path, webcam: FakeWebcam, opened: Open
) -> None:
    with serving(tmp_path / "home.robocle") as server:
        teach_with_program(server, "mug", "clock", "glasses")
        user = opened(server.address)
        page = user.page
        webcam.show(sorted((HOME / "occlusion/glasses_02").glob("*.jpg")))
        user.expect_verdict("Probably glasses", "probable")
        page.click("#remember")
        user.expect_pictures("glasses", 4)
        expect(page.locator("#hold-text")).to_have_text("Hold to teach glasses")
        expect(page.locator("#stop")).to_be_visible()  # the pictures repeat each other
        page.keyboard.press("Escape")
        expect(page.locator("#stop")).to_be_hidden()
        expect(page.locator("#done-text")).to_have_text(
            re.compile("Learned . pictures? of glasses")
        )


def test_what_was_taught_is_visible_and_repairable(tmp_path: Path, opened: Open) -> None:
    with serving(tmp_path / "home.robocle") as server:
        teach_with_program(server, "mug", "clock", "glasses")
        server.api.teach("mug", views_of("clock", 5)[4].read_bytes(), poor="accept")
        server.api.teach("cup", views_of("pan", 1)[0].read_bytes())
        user = opened(server.address)
        page = user.page
        user.expect_pictures("mug", 4)
        user.choose("mug", "Pictures")
        expect(page.locator(".samples .doubtful")).to_have_count(1)
        expect(page.locator(".samples .doubtful")).to_contain_text("Looks like clock")
        page.locator(".samples .doubtful button").click()
        expect(page.locator("#done-text")).to_have_text("Removed 1 picture of mug")
        user.expect_pictures("mug", 3)
        user.choose("cup", "Join with")
        page.get_by_label("Join cup with").select_option("mug")
        page.get_by_role("button", name="Join", exact=True).click()
        expect(page.locator("#done-text")).to_have_text("cup is part of mug now")
        user.choose("mug", "Badge")
        page.get_by_label("Emoji of mug").fill("\N{HOT BEVERAGE}")
        page.get_by_role("button", name="Choose", exact=True).click()
        expect(user.row("mug").locator(".glyph")).to_have_text("\N{HOT BEVERAGE}")
        user.name("MUG")  # is it another object?
        page.keyboard.press("y")
        expect(page.locator("#hold-text")).to_have_text("Hold to teach mug")
        page.fill("#name", "clo")
        expect(page.locator("#list > li:visible")).to_have_count(1)
        page.fill("#name", "")
        before = _labels(server)
    with serving(tmp_path / "home.robocle") as again:
        assert _labels(again) == before
        assert before[0]["badge"] == "\N{HOT BEVERAGE}"


def test_a_server_that_is_killed_during_a_lesson_loses_nothing_and_the_page_goes_on(
    tmp_path: Path, opened: Open
) -> None:
    state = tmp_path / "home.robocle"
    with serving(state) as server:
        user = opened(server.address)
        page = user.page
        user.show("mug")
        expect(page.locator("#verdict")).to_have_attribute("data-kind", "empty")
        user.name("mug")
        page.locator("#hold").hover()
        page.mouse.down()
        user.expect_pictures("mug", 1)
        with page.expect_event("requestfailed", lambda request: "/teach" in request.url):
            server.kill()
        expect(page.locator("#connection")).to_contain_text("Connection lost")
        page.mouse.up()
        expect(page.locator("#hint")).to_contain_text("The server does not answer.")
        with serving(state, port=server.port):
            expect(page.locator("#connection")).to_have_text("")
            expect(page.locator("#hint")).to_have_text("")
            user.hold(1)
            user.expect_pictures("mug", 2)


def test_without_a_camera_the_page_says_what_to_do_and_takes_pictures(
    tmp_path: Path, strict_browser: "Browser", opened: Open
) -> None:
    with serving(tmp_path / "home.robocle") as server:
        user = opened(server.address, of=strict_browser)
        page = user.page
        expect(page.locator("#camera-what")).to_have_text("The camera is not allowed.")
        expect(page.locator("#camera-do")).to_contain_text("choose Allow")
        user.name("mug")
        page.set_input_files("#files", list(views_of("mug", 3)))
        expect(page.locator("#done-text")).to_have_text("Learned 3 pictures of mug")
        page.set_input_files("#files", [__file__])
        expect(page.locator("#hint")).to_contain_text("not JPEG, PNG or WEBP")
        _drop(page, views_of("clock")[0].parent)
        expect(page.locator("#done-text")).to_have_text("Learned 8 pictures of clock_01")
        assert server.api.get("/api/v1/labels").json["labels"][1]["pictures"] == 8


@pytest.mark.parametrize(
    ("error", "words"),
    [("NotReadableError", "The camera is busy."), ("NotFoundError", "There is no camera.")],
)
def test_a_camera_that_is_busy_or_missing_is_explained_and_can_be_tried_again(
    error: str, words: str, tmp_path: Path, opened: Open
) -> None:
    refusing = f"""
        const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
        let refused = false;
        navigator.mediaDevices.getUserMedia = (wanted) => {{
            if (refused) return open(wanted);
            refused = true;
            return Promise.reject(new DOMException("", "{error}"));
        }};
    """
    with serving(tmp_path / "home.robocle") as server:
        page = opened(server.address, script=refusing).page
        expect(page.locator("#camera-what")).to_have_text(words)
        page.click("#camera-again")
        expect(page.locator("#camera-message")).to_be_hidden()
        expect(page.locator("#verdict")).to_have_attribute("data-kind", "empty")


def _drop(page: "Page", path: Path) -> None:
    """Drop a file or a folder on the page, as a file manager does."""
    session = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 300, "y": 300, "data": data})


@pytest.mark.skipif(not own_address(), reason="this machine is in no network")
def test_an_insecure_address_is_explained_and_a_token_opens_the_page(
    tmp_path: Path, opened: Open
) -> None:
    with serving(tmp_path / "home.robocle", "--host", "0.0.0.0") as server:
        user = opened(server.address.split("#")[0])
        page = user.page
        expect(page.locator("#token-dialog")).to_be_visible()
        page.fill("#token", "a guess")
        page.press("#token", "Enter")
        expect(page.locator("#token-error")).to_be_visible()
        page.fill("#token", server.api.token)
        page.press("#token", "Enter")
        expect(page.locator("#camera-what")).to_have_text(
            "The browser allows the camera only on secure pages."
        )
        expect(page.locator("#camera-do")).to_contain_text("--https")
        by_link = opened(server.address.split("#")[0]).page
        expect(by_link.locator("#token-dialog")).to_be_visible()
        by_link.goto(server.address)  # in the open tab: only what is after # is new
        expect(by_link.locator("#none")).to_be_visible()
        assert "token" not in by_link.url


@pytest.mark.skipif(not own_address(), reason="this machine is in no network")
def test_a_phone_in_the_network_uses_its_camera_over_https(tmp_path: Path, opened: Open) -> None:
    with serving(tmp_path / "home.robocle", "--host", "0.0.0.0", "--https") as server:
        assert server.address.startswith(f"https://{own_address()}:")
        phone = opened(server.address, **PHONE)
        phone.teach("mug", pictures=2)
        phone.teach("clock", pictures=2)
        phone.expect_verdict("clock")


def test_poor_pictures_get_hints_and_are_not_taught(
    tmp_path: Path, webcam: FakeWebcam, opened: Open
) -> None:
    black = tmp_path / "black.jpg"
    Image.fromarray(np.zeros((48, 64, 3), np.uint8)).save(black)
    with serving(tmp_path / "home.robocle") as server:
        teach_with_program(server, "mug", "clock")
        user = opened(server.address)
        webcam.show([black])
        user.expect_verdict("Nothing to see", "nothing")
        user.name("pan")
        user.page.locator("#hold").hover()
        user.page.mouse.down()
        expect(user.page.locator("#hint")).to_have_text(re.compile("Too dark"))
        webcam.show(views_of("pan", 1))
        # A frame that is half black may come first.
        expect(user.page.locator("#count")).to_have_text(re.compile("^[12]$"))
        moves = re.compile("Turn it|Move it|Tilt it|closer|other side")
        expect(user.page.locator("#hint[data-kind=hint]")).to_have_text(moves)
        user.page.mouse.up()
        learned = re.compile("^Learned (1 picture|2 pictures) of pan$")
        expect(user.page.locator("#done-text")).to_have_text(learned)


def test_in_a_dark_room_poor_pictures_can_be_taught_anyway(
    tmp_path: Path, webcam: FakeWebcam, opened: Open
) -> None:
    dark = []
    for number, path in enumerate(views_of("mug")):
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"), np.float32) * (20 / 128)
        dark.append(tmp_path / f"{number}.jpg")
        Image.fromarray(pixels.astype(np.uint8)).save(dark[-1], quality=95)
    with serving(tmp_path / "home.robocle") as server:
        user = opened(server.address)
        page = user.page
        webcam.show(dark)
        user.name("mug")
        page.locator("#hold").hover()
        page.mouse.down()
        expect(page.locator("#hint")).to_have_text(re.compile("Too dark"))
        expect(page.locator("#anyway")).to_be_visible()
        page.mouse.up()
        expect(page.locator("#progress")).to_be_hidden()
        page.click("#anyway")
        expect(page.locator("#stop")).to_be_visible()
        expect(page.locator("#done-text")).to_have_text("Learned 5 pictures of mug")
        assert _labels(server)[0]["pictures"] == 5


def test_objects_are_found_and_a_click_teaches_one(
    tmp_path: Path, webcam: FakeWebcam, opened: Open
) -> None:
    (tmp_path / "bright.onnx").write_bytes(bright_detector())
    finder = f"onnx:{tmp_path / 'bright.onnx'},pixels=unit"
    small = []
    for path in views_of("mug"):  # seen from afar, in front of something dark
        with Image.open(path) as image:
            scene = Image.new("RGB", (640, 480))
            scene.paste(image.resize((300, 300)), (240, 120))
        small.append(tmp_path / path.name)
        scene.save(small[-1], quality=90)
    with serving(tmp_path / "home.robocle", "--finder", finder) as server:
        teach_with_program(server, "mug", "clock")
        user = opened(server.address)
        page = user.page
        webcam.show(small)
        expect(page.locator(".find", has_text="mug").first).to_be_visible()
        user.row("mug").locator(".choose").click()
        page.locator(".find").first.dispatch_event("click")
        user.expect_pictures("mug", 4)
        expect(page.locator("#box")).to_be_hidden()
        page.click("#find-toggle")
        expect(page.locator(".find")).to_have_count(0)


def test_the_robots_camera_is_shown_taught_and_recognised(tmp_path: Path, opened: Open) -> None:
    video = write_video(tmp_path / "mug.avi", list(views_of("mug")), repeat=8)
    with serving(tmp_path / "home.robocle", "--camera", str(video)) as server:
        teach_with_program(server, "clock", "teapot")
        user = opened(server.address)
        page = user.page
        expect(page.locator("#cameras")).to_have_value("robot")
        expect(page.locator("#stream")).to_be_visible()
        user.expect_unknown()
        user.name("mug")
        page.locator("#hold").hover()
        page.mouse.down()
        expect(page.locator("#count")).to_have_text(re.compile("^[3-9]$"))
        page.mouse.up()
        user.expect_verdict("mug")
        size = page.evaluate("document.getElementById('stream').naturalWidth")
        assert size == 224


def test_the_second_page_tests_exports_and_imports(tmp_path: Path, opened: Open) -> None:
    with serving(tmp_path / "home.robocle") as server, serving(tmp_path / "b.robocle") as second:
        teach_with_program(server, "mug", "clock", "teapot")
        user = opened(server.address)
        page = user.page
        user.show("mug")
        user.expect_verdict("mug")
        page.click("#tab-more")
        expect(page.locator("#about")).to_contain_text("home.robocle")
        expect(page.locator("#api-address")).to_have_text(f"{server.address}api/v1/")
        page.set_input_files("#check-files", [views_of("mug", 8)[7]])
        expect(page.locator("#check-rows tr")).to_have_count(5)
        expect(page.locator("#check-rows tr").first).to_contain_text("100 %")
        expect(page.locator("#check-advice")).to_contain_text("1 picture tested")
        with page.expect_download() as download:
            page.click("a[href='api/v1/export/state']")
        exported = tmp_path / "exported.robocle"
        download.value.save_as(exported)
        with page.expect_download() as download:
            page.click("a[href='api/v1/export/onnx']")
        assert download.value.suggested_filename == "home.onnx"

        other = opened(second.address).page
        other.click("#tab-more")
        other.set_input_files("#import", [exported])
        status = other.locator("#share-status")
        expect(status).to_have_text("Merged 3 labels, 9 pictures. Undo reverts it.")
        assert len(second.api.get("/api/v1/labels").json["labels"]) == 3
        other.set_input_files("#import", [exported])
        expect(status).to_have_text("It has 3 labels, 9 pictures, all of them known.")


@pytest.mark.parametrize(
    ("width", "height", "scheme"),
    [
        (1280, 800, "light"),
        (390, 844, "dark"),
        pytest.param(1920, 1080, "dark", marks=pytest.mark.exhaustive),
        pytest.param(1024, 768, "light", marks=pytest.mark.exhaustive),
        pytest.param(844, 390, "light", marks=pytest.mark.exhaustive),
    ],
)
def test_the_page_is_accessible_and_all_is_in_reach(
    width: int, height: int, scheme: str, tmp_path: Path, opened: Open
) -> None:
    viewport = {"viewport": {"width": width, "height": height}}
    device = {**(PHONE if min(width, height) < 400 else {}), **viewport}
    with serving(tmp_path / "home.robocle") as server:
        user = opened(server.address, color_scheme=scheme, reduced_motion="reduce", **device)
        page = user.page
        expect(page.locator("#verdict")).to_have_attribute("data-kind", "empty")
        _require_accessible(page)
        for number, path in enumerate(views_of("clock")):
            server.api.teach(f"object {number}", path.read_bytes(), poor="accept")
        teach_with_program(server, "mug")
        user.name("a name without any spaces" + "that-goes-on" * 10)
        user.show("mug")
        user.expect_verdict("mug")
        if width > 760:
            picture = page.locator("#video").bounding_box()
            assert picture
            assert picture["height"] > 0.4 * height
        page.keyboard.press("Space")
        expect(page.locator("#ask-yes")).to_be_visible()
        _require_reachable(page, "#hold", "#five", "#ask-yes", "#ask-no")
        _require_accessible(page)
        page.keyboard.press("n")
        user.choose("mug", "Pictures")
        expect(page.locator(".samples li")).to_have_count(4)
        _require_accessible(page)
        user.show("keyboard")
        user.expect_unknown()
        expect(page.locator("#tray-list li").first).to_be_visible()
        _require_accessible(page)
        page.keyboard.press("Escape")
        page.evaluate("document.getElementById('help-dialog').showModal()")
        _require_accessible(page)
        page.keyboard.press("Escape")
        page.click("#tab-more")
        expect(page.locator("#video")).to_be_visible()
        page.set_input_files("#check-files", [views_of("mug", 8)[7]])
        expect(page.locator("#check-rows tr")).to_have_count(5)
        _require_accessible(page)


def _require_reachable(page: "Page", *selectors: str) -> None:
    """Require that elements are in sight without scrolling, and that nothing covers them."""
    for selector in selectors:
        reached = page.locator(selector).evaluate(
            """element => {
                const {left, top, width, height} = element.getBoundingClientRect();
                const there = document.elementFromPoint(left + width / 2, top + height / 2);
                return element.contains(there) && top >= 0 && top + height <= innerHeight;
            }"""
        )
        assert reached, selector


def _require_accessible(page: "Page") -> None:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    assert not found, [(each["id"], [node["html"] for node in each["nodes"]]) for each in found]
    width, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width <= room
