"""The shipped pictures are complete, intact, what the code renders, and well exposed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from robocle_sim.folder import encode
from robocle_sim.home import categories, home_plan, render
from robocle_sim.stage import PlannedPicture

HOME = Path(__file__).parents[2] / "src/robocle/demo/home"
PLAN = home_plan(0)


@pytest.fixture(scope="module")
def index() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((HOME / "index.json").read_text())
    return read


def test_the_index_describes_the_plan(index: dict[str, Any]) -> None:
    assert (index["format"], index["seed"], index["size"]) == (1, 0, 224)
    assert tuple(index["categories"]) == categories()
    assert sorted(index["sha256"]) == sorted(planned.path for planned in PLAN)
    assert index["levels"] == {planned.path: planned.level for planned in PLAN if planned.level}
    assert set(index["versions"]) == {"numpy", "pillow"}


def test_the_folder_contains_exactly_what_the_index_lists(index: dict[str, Any]) -> None:
    present = {p.relative_to(HOME).as_posix() for p in HOME.rglob("*") if p.is_file()}
    assert present == {*index["sha256"], "index.json"}


def test_every_file_has_the_hash_in_the_index(index: dict[str, Any]) -> None:
    for path, expected in index["sha256"].items():
        assert hashlib.sha256((HOME / path).read_bytes()).hexdigest() == expected, path


@pytest.mark.slow
@pytest.mark.parametrize("planned", PLAN[5::97], ids=lambda planned: planned.path)
def test_a_picture_rendered_alone_equals_the_shipped_file(
    planned: PlannedPicture, index: dict[str, Any]
) -> None:
    picture = render(planned, index["size"])
    assert encode(picture, index["quality"]) == (HOME / planned.path).read_bytes()


@pytest.mark.slow
def test_no_picture_is_blank_dark_or_overexposed() -> None:
    bad = {}
    for planned in PLAN:
        with Image.open(HOME / planned.path) as picture:
            assert (picture.size, picture.mode) == ((224, 224), "RGB")
            grey = np.asarray(picture.convert("L"), dtype=np.float64)
        shares = (grey < 6).mean(), (grey > 250).mean()
        if not (18 < grey.mean() < 235 and grey.std() > 4 and max(shares) < 0.3):
            bad[planned.path] = (grey.mean(), grey.std(), *shares)
    assert bad == {}
