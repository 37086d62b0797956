"""The table of agreement in docs/paper-and-code.md is that of the code and the references."""

from pathlib import Path
from types import ModuleType

import pytest

from parity import CLASSIFIER_CASES
from scripts import imported_script

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/paper-and-code.md").read_text("utf-8")


@pytest.fixture(scope="module")
def parity_table() -> ModuleType:
    """The script that writes the table."""
    return imported_script("docs/parity_table.py")


def test_the_table_is_up_to_date(parity_table: ModuleType) -> None:
    assert parity_table.updated(PAGE) == PAGE
    for case in CLASSIFIER_CASES:
        assert f"| {case.method} | `{case.spec}` |" in PAGE
