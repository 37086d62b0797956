"""The tables of the page on recognition are those of the results of tools/measure_unknown.py."""

import json
from pathlib import Path

from scripts import imported_script

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/recognition.md").read_text("utf-8")
RESULTS = json.loads((ROOT / "docs/results/unknown_cells.json").read_text("utf-8"))
SETS = ("office_caltech10", "grocery_store", "icub_camera", "home")


def test_the_tables_are_those_of_the_results() -> None:
    assert imported_script("tools/unknown_tables.py").updated(PAGE, RESULTS) == PAGE


def test_other_results_change_the_tables() -> None:
    changed = json.loads(json.dumps(RESULTS))
    for name in SETS:
        changed["cells"][f"{name}, 2, 5"]["with a world"]["unrelated accepted"] = 12.3
    assert "| 12.3 (" in imported_script("tools/unknown_tables.py").updated(PAGE, changed)


def test_the_recorded_figures_keep_what_the_page_promises() -> None:
    """In the mean over the sets: at most 7 % of unrelated objects accepted, in every cell."""
    cells = RESULTS["cells"]
    for labels in ("1", "2", "5", "half"):
        for shots in (1, 3, 5):
            found = [cells[f"{name}, {labels}, {shots}"]["with a world"] for name in SETS]
            assert sum(each["unrelated accepted"] for each in found) / 4 <= 7
            if shots > 1:
                assert sum(each["again accepted"] for each in found) / 4 >= 93
