"""The pages of demo, check and benchmark in a real browser, on a desktop and on a phone."""

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmark_results import record, written
from chromium import CHROMIUM, NO_BROWSER
from command_line import run
from robocle.backbones.names import ARCHITECTURES
from robocle.demo import home_pictures
from robocle.reports.benchmark import as_html, build_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PAGES = ("demo", "check", "benchmark", "backbones")
WIDTHS = {"desktop": 1200, "tablet": 768, "phone": 360}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and find_spec("playwright")), reason=NO_BROWSER),
]


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
        options += ["--disable-background-networking", "--disable-component-update"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(objects: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three pages, with long names in them."""
    folder = tmp_path_factory.mktemp("pages")
    few = [each for each in home_pictures() if each.category in ("mug", "watering_can", "spoon")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("robocle.demo.run.home_pictures", lambda: few)
        assert run("demo", "--out", folder / "demo.html").exit_code == 0
    for label, name in (("ball", "a-label-without-spaces" * 4), ("box", "the box on the left")):
        shutil.copytree(objects / label, folder / "pictures" / name)
    out = folder / "check.html"
    assert run("check", folder / "pictures", "--draws", "1", "--out", out).exit_code == 0
    paper = {"table": "table6", "dataset": "openloris_small", "method": "ncm"}
    methods = ("NCM", "RobOCLe SLDA, as published, with a long name")
    records = [record(name, 50, seed, paper=paper) for name in methods for seed in (0, 1)]
    report = build_report(written(folder / "table6.jsonl", records))
    (folder / "benchmark.html").write_text(as_html(report), "utf-8")
    report = build_report(written(folder / "table1.jsonl", _of_sixteen_backbones()))
    (folder / "backbones.html").write_text(as_html(report), "utf-8")
    return folder


def _of_sixteen_backbones() -> list[dict[str, Any]]:
    """Results of all networks of the paper, with its numbers where it prints them."""
    records = []
    for backbone in ARCHITECTURES:
        paper = {"table": "table1", "dataset": "openloris", "method": "slda"}
        for seed in (0, 1):
            made = record("SLDA", 50 + seed, seed, shows=["accuracy"], key=f"{backbone}{seed}")
            made["trial"] |= {"backbone": backbone}
            records.append(made | {"paper": paper})
    return records


@pytest.fixture
def page(browser: "Browser") -> "Iterator[Page]":
    page = browser.new_page()
    yield page
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_never_scrolls_sideways(
    name: str, device: str, scheme: str, folder: Path, page: "Page"
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": WIDTHS[device], "height": 900})
    page.goto((folder / f"{name}.html").as_uri())
    width, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert room == WIDTHS[device]
    assert width <= room


@pytest.mark.parametrize("name", PAGES)
def test_every_table_and_plot_fits_a_desktop(name: str, folder: Path, page: "Page") -> None:
    page.set_viewport_size({"width": WIDTHS["desktop"], "height": 900})
    page.goto((folder / f"{name}.html").as_uri())
    rooms = page.evaluate(
        "[...document.querySelectorAll('.scroll, .plot')].map(e => [e.scrollWidth, e.clientWidth])"
    )
    assert rooms
    assert all(width <= room for width, room in rooms)


def test_the_tables_of_a_check_fit_a_phone(folder: Path, page: "Page") -> None:
    page.set_viewport_size({"width": WIDTHS["phone"], "height": 900})
    page.goto((folder / "check.html").as_uri())
    rooms = page.evaluate(
        "[...document.querySelectorAll('.scroll')].map(e => [e.scrollWidth, e.clientWidth])"
    )
    assert len(rooms) == 2
    assert all(width <= room for width, room in rooms)


@pytest.mark.parametrize("name", PAGES)
def test_every_picture_is_described_and_loads(name: str, folder: Path, page: "Page") -> None:
    page.goto((folder / f"{name}.html").as_uri())
    pictures = page.evaluate(
        """async () => {
            const pictures = [...document.images];
            pictures.forEach(each => each.loading = 'eager');
            await Promise.all(pictures.map(each => each.decode()));
            return pictures.map(each => [each.alt, each.naturalWidth]);
        }"""
    )
    assert bool(pictures) == (name in ("demo", "check"))  # the results have no example pictures
    assert all(len(description) > 5 and width > 0 for description, width in pictures)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_text_stands_out_from_its_background(
    name: str, scheme: str, folder: Path, page: "Page"
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto((folder / f"{name}.html").as_uri())
    weakest = page.evaluate(CONTRAST)
    assert weakest >= 4.5, "WCAG 2, level AA"


# The lowest contrast between text and background, after WCAG 2, of all elements that hold text.
CONTRAST = """() => {
    const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = element => {
        for (let each = element; each; each = each.parentElement) {
            const found = numbers(getComputedStyle(each).backgroundColor);
            if (found.length === 3 || found[3] > 0) return found;
        }
    };
    const holdsText = element => [...element.childNodes]
        .some(node => node.nodeType === 3 && node.textContent.trim());
    return Math.min(...[...document.body.querySelectorAll('*')]
        .filter(element => !element.closest('svg') && holdsText(element))
        .map(element => {
            const pair = [light(numbers(getComputedStyle(element).color)), light(ground(element))];
            return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
        }));
}"""
