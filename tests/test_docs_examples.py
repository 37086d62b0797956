"""The Python examples of the documents run, on pictures of the shipped home."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import robocle
from bright_detector import bright_detector
from robocle.backbones import Backbone
from robocle.images import to_pixels
from video_sources import write_video

ROOT = Path(__file__).parents[1]
HOME = ROOT / "src/robocle/demo/home"
PICTURES = {
    "mug.jpg": "clean/mug_01/0.jpg",
    "mug1.jpg": "clean/mug_01/1.jpg",
    "mug2.jpg": "clean/mug_01/2.jpg",
    "mug3.jpg": "clean/mug_01/3.jpg",
    "keys1.jpg": "clean/key_01/0.jpg",
    "keys2.jpg": "clean/key_01/1.jpg",
    "keys3.jpg": "clean/key_01/2.jpg",
    "kitchen.jpg": "pose/mug_01/0.jpg",
    "desk.jpg": "clutter/mug_01/0.jpg",
}


def blocks(page: Path) -> list[tuple[int, str]]:
    """The Python blocks of a page, with the line at which each begins."""
    text = page.read_text("utf-8")
    return [
        (text.count("\n", 0, found.start(1)), found.group(1))
        for found in re.finditer(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    ]


# tests/functional/test_transcripts.py runs the first two, and the README; tests/web the last.
TRANSCRIPTS = ("tutorial.md", "export.md", "http-api.md")
PAGES = [
    page for page in sorted(ROOT.glob("docs/*.md")) if blocks(page) and page.name not in TRANSCRIPTS
]


def _embeddings() -> dict[str, Any]:
    """Random embeddings under the names that the examples give them."""
    rng = np.random.default_rng(0)
    rows = rng.random((20, 12), np.float32)
    labels = ["mug", "keys"] * 10
    return {
        "embeddings": rows,
        "labels": labels,
        "more_embeddings": rows + 1,
        "more_labels": labels,
        "x": rows[0],
        "z": rows[0],
        "Z": rows,
    }


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lite0: Backbone) -> dict[str, Any]:
    """A folder with the files that the examples read, and the names they take for granted."""
    monkeypatch.chdir(tmp_path)
    for name, source in PICTURES.items():
        shutil.copy(HOME / source, name)
    learner = robocle.Learner(lite0)
    learner.teach_many(
        ["mug1.jpg", "mug3.jpg", "keys1.jpg", "keys3.jpg"], ["mug", "mug", "keys", "keys"]
    )
    learner.save("robot.robocle")
    other = robocle.Learner(lite0)
    other.teach("mug2.jpg", "mug")
    for name in ("office", "hall"):
        other.save(f"{name}-sent.robocle")
    write_video(Path("kitchen.avi"), [Path("mug1.jpg")])
    Path("picodet.onnx").write_bytes(bright_detector())
    frame = np.asarray(Image.open("mug1.jpg"))
    opencv = SimpleNamespace(read=lambda: (True, frame[..., ::-1]))
    return {
        **_embeddings(),
        "camera": SimpleNamespace(read=lambda: frame),
        "cv2": SimpleNamespace(VideoCapture=lambda _: opencv),
        "frame": frame,
        "learner": learner,
        "pixels": to_pixels("mug1.jpg", lite0.input_size),
        "robocle": robocle,
    }


@pytest.fixture
def closed(names: dict[str, Any]) -> Iterator[None]:
    yield
    for each in names.values():
        if isinstance(each, robocle.Learner):
            each.close()


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_one_after_the_other(page: Path, names: dict[str, Any]) -> None:
    for line, source in blocks(page):
        code = compile("\n" * line + source, str(page), "exec")
        exec(code, names)
