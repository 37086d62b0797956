"""The page: what the documents say about it is true, and its files are small and self-contained."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from robocle.recognition.explanation import Explanation
from robocle.types import Prediction
from robocle.web import connections, live, requests, security, shared_learner
from robocle.web.app import PAGE
from video_sources import home_picture
from web_client import Api, PictureOf

DOCS = Path(__file__).parents[2] / "docs"
HTTP = (DOCS / "http-api.md").read_text("utf-8")
TEACH = (DOCS / "teach-page.md").read_text("utf-8")
FILES = sorted(path.name for path in PAGE.iterdir())


@pytest.mark.slow
def test_the_client_in_five_lines_works(api: Api, tmp_path: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", HTTP, re.MULTILINE | re.DOTALL)
    assert len(code.splitlines()) == 5
    (tmp_path / "mug1.jpg").write_bytes(home_picture("clean/mug_01/0").read_bytes())
    (tmp_path / "kitchen.jpg").write_bytes(home_picture("clean/mug_01/1").read_bytes())
    here = code.replace("http://127.0.0.1:8000", api.address)
    run = subprocess.run(
        [sys.executable, "-c", here], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout == "mug\n"


def test_every_address_of_the_served_description_is_documented(empty: Api) -> None:
    described = empty.get("/api/v1/openapi.json").json
    assert described["openapi"].startswith("3.1")
    assert described["security"] == [{"token": []}, {}]
    for path, methods in described["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}" in HTTP
    assert "GET /api/v1/openapi.json" in HTTP
    for path in ("/docs", "/redoc"):  # pages of FastAPI that load scripts from other hosts
        assert empty.get(path).status == 404


def test_the_fields_of_a_prediction_are_those_of_the_answer_and_of_python(
    taught: Api, picture_of: PictureOf
) -> None:
    (shown,) = re.findall(
        r'^    (\{"label": "mug", "verdict".*?\})$', HTTP, re.MULTILINE | re.DOTALL
    )
    fields = json.loads(shown).keys()
    answer = taught.post("/api/v1/predict", picture_of("mug", 5)).json
    assert list(fields) == list(answer)
    assert all(hasattr(Prediction, name) or name in Prediction.__annotations__ for name in fields)
    explained = taught.post("/api/v1/predict?explain=true", picture_of("mug", 5)).json
    for name in explained.keys() - fields:
        assert f"`{name}`" in HTTP
        assert name in Explanation.__annotations__


@pytest.mark.parametrize("event", ["hello", "state", "taught", "prediction", "error"])
def test_every_event_is_documented(event: str) -> None:
    assert f"\n| `{event}` |" in HTTP


def test_the_limits_are_those_of_the_code() -> None:
    most = requests.MAX_PICTURE_PIXELS
    pixels, others = most["JPEG"] // 10**6, most["PNG"] // 10**6
    for text in (
        f"{requests.MAX_PICTURE_BYTES // 10**6} MB, and {pixels} million pixels if it is a JPEG, "
        f"otherwise {others} million",
        f"hold at most {requests.MAX_BYTES_IN_FLIGHT // 10**6} MB",
        f"after {connections.REQUEST_SECONDS:.0f} seconds is closed",
        f"more than {connections.MOST_WAITING} such",
        f"a frame {requests.MAX_FRAME_BYTES // 1_000_000} MB",
        f"a state {requests.MAX_STATE_BYTES // 1_000_000} MB",
        f"{requests.MAX_LABELS} labels and {requests.MAX_CLIENTS} WebSockets",
        f"{security.REQUESTS_PER_SECOND:.0f} requests per second",
        f"disconnected after {live.STALLED_SECONDS:.0f} seconds",
        f"the last {shared_learner.REMEMBERED_LESSONS} pictures",
    ):
        assert text in HTTP


def test_every_key_of_the_page_is_documented() -> None:
    scripts = (PAGE / "keys.js").read_text("utf-8")
    (listed,) = re.findall(r"const KEYS = \{(.*?)\n\};", scripts, re.DOTALL)
    keys = re.findall(r'^  "?([a-z?])"?:', listed, re.MULTILINE)
    assert len(keys) >= 6
    help_text = (PAGE / "index.html").read_text("utf-8")
    for key in keys:
        assert f"| {key.upper()} |" in TEACH
        assert f"<kbd>{key.upper()}</kbd>" in help_text


@pytest.mark.parametrize("name", ["NotAllowedError", "NotFoundError", "NotReadableError"])
def test_what_the_page_says_about_the_camera_is_explained(name: str) -> None:
    scripts = (PAGE / "camera.js").read_text("utf-8")
    (what,) = re.findall(rf'{name}: \{{\s+what: "([^"]+)"', scripts)
    assert f"| {what} |" in TEACH


def test_the_page_is_small(empty: Api) -> None:
    scripts = [name for name in FILES if name.endswith(".js")]
    assert sum((PAGE / name).stat().st_size for name in scripts) < 90_000
    loaded = [empty.get(f"/{name}", Accept_Encoding="gzip") for name in FILES if name[0] != "i"]
    loaded.append(empty.get("/", Accept_Encoding="gzip"))
    assert sum(len(each.content) for each in loaded) < 40_000
    assert gzip.decompress(loaded[-1].content) == (PAGE / "index.html").read_bytes()


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
