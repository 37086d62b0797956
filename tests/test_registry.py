"""A registry finds names without importing the parts behind them."""

import subprocess
import sys

import pytest

from robocle.errors import SpecError
from robocle.registry import Registry

LIST_AND_BUILD = """
import sys
from robocle.classifiers import CLASSIFIERS
CLASSIFIERS.names()
ncm = CLASSIFIERS.build("ncm")
assert CLASSIFIERS.describe(ncm) == "ncm"
print(sorted(name for name in sys.modules if name in {target.partition(":")[0] for target in
    CLASSIFIERS._builtin.values()}))
"""


def test_listing_building_and_describing_one_part_imports_no_other() -> None:
    printed = subprocess.run(
        [sys.executable, "-c", LIST_AND_BUILD], capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == "['robocle.classifiers.means']"


def test_a_plug_in_that_cannot_be_imported_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry: Registry[object] = Registry("widget", {})
    monkeypatch.setattr(registry, "_plugins", lambda: {"mine": "no_such_package.mine:Mine"})
    with pytest.raises(SpecError, match="plug-in 'mine' cannot be imported"):
        registry.build("mine")
