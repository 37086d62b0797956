"""The tables of the page on speed are those of the recorded figures."""

import json
from pathlib import Path
from types import ModuleType

import pytest

from scripts import imported_script

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def speed_tables() -> ModuleType:
    """The script that writes the tables."""
    return imported_script("docs/speed_tables.py")


def test_the_page_on_speed_has_the_recorded_figures(speed_tables: ModuleType) -> None:
    lines = (DOCS / "results" / "speed.jsonl").read_text("utf-8").splitlines()
    page = (DOCS / "speed.md").read_text("utf-8")
    assert speed_tables.updated(page, [json.loads(line) for line in lines]) == page
    assert "| 200 labels x 20 | median |" in page
