"""The shipped pictures are complete, intact and what the code renders."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

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
