"""No version with a security advisory that matters here can be installed beside robocle.

Add an entry when an advisory appears that concerns what robocle does with the package: decode
pictures, read models and checkpoints, render pages, connect to a cluster. `pip-audit` finds them;
it needs the network, so no check here runs it.
"""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

FIXED = {
    "cryptography": ("46.0.5", "CVE-2026-26007"),
    "distributed": ("2026.1.0", "CVE-2026-23528"),
    "jinja2": ("3.1.6", "CVE-2024-56201, CVE-2024-56326, CVE-2025-27516"),
    "onnx": ("1.21.0", "CVE-2024-27318, CVE-2024-5187, CVE-2026-27489, CVE-2026-34445 to -34447"),
    "pillow": ("13.0.0", "CVE-2024-28219, CVE-2026-42311, CVE-2026-96639, GHSA-5x8w-8jj5-q52h"),
    "scikit-learn": ("1.5.0", "CVE-2024-5206"),
    "starlette": ("0.49.1", "CVE-2025-54121, CVE-2025-62727"),
    "torch": ("2.6.0", "CVE-2025-32434"),
    "tqdm": ("4.66.3", "CVE-2024-34062"),
}
"""The version of each package that has the fixes, and the advisories."""


@pytest.fixture(scope="module")
def requirements() -> list[Requirement]:
    content = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    project = content["project"]
    extras = (line for lines in project["optional-dependencies"].values() for line in lines)
    return [Requirement(line) for line in (*project["dependencies"], *extras)]


@pytest.mark.parametrize("package", FIXED)
def test_no_version_before_a_security_fix_is_allowed(
    package: str, requirements: list[Requirement]
) -> None:
    fixed, advisories = FIXED[package]
    found = [each for each in requirements if each.name == package]
    assert found, f"{package} is no longer required: remove its entry"
    for requirement in found:
        (bound,) = [each for each in requirement.specifier if each.operator == ">="]
        assert Version(bound.version) >= Version(fixed), f"{requirement} allows {advisories}"


def test_every_dependency_has_a_lower_bound(requirements: list[Requirement]) -> None:
    for requirement in requirements:
        operators = {each.operator for each in requirement.specifier}
        assert operators & {">=", "=="} or requirement.name == "robocle", requirement
