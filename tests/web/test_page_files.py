"""The files of the page: small, without other hosts, without inline scripts."""

import re

import pytest

from robocle.web.app import PAGE
from web_client import Api

FILES = sorted(path.name for path in PAGE.iterdir())


def test_the_first_load_is_below_100_kb() -> None:
    assert sum((PAGE / name).stat().st_size for name in FILES) < 100_000


def test_the_stylesheet_is_below_400_lines() -> None:
    assert len((PAGE / "style.css").read_text("utf-8").splitlines()) < 400


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_loaded_from_other_hosts(name: str) -> None:
    text = (PAGE / name).read_text("utf-8")
    for address in re.findall(r"https?://[^\s\"'`]+", text):
        assert re.match(r"http://www\.w3\.org/|https?://\$\{location|http://127\.0\.0\.1:", address)


def test_there_is_no_inline_script_and_no_inline_style() -> None:
    text = (PAGE / "index.html").read_text("utf-8")
    assert not re.search(r"\son[a-z]+=|\sstyle=|<style|javascript:", text)
    assert re.findall(r"<script[^>]*>(.*?)</script>", text) == [""]
    scripts = "".join((PAGE / name).read_text("utf-8") for name in FILES if name.endswith(".js"))
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", scripts)


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_served_with_its_type_and_kept_by_the_browser(name: str, empty: Api) -> None:
    path = "/" if name == "index.html" else f"/{name}"
    answer = empty.get(path)
    assert answer.status == 200
    assert answer.content == (PAGE / name).read_bytes()
    kinds = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg"}
    assert answer.headers["content-type"].startswith(kinds[name.rpartition(".")[2]])
    again = empty.get(path, If_None_Match=answer.headers["etag"])
    assert (again.status, again.content) == (304, b"")


def test_every_element_that_a_script_asks_for_is_on_the_page() -> None:
    page = (PAGE / "index.html").read_text("utf-8")
    for name in FILES:
        if name.endswith(".js"):
            for element in re.findall(r'byId\("([a-z-]+)"\)', (PAGE / name).read_text("utf-8")):
                assert f'id="{element}"' in page, f"{name} asks for #{element}"
