"""The interface package, the launch file, the page on the node and the code agree."""

import ast
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import yaml

from robocle.ros.encodings import ENCODINGS
from robocle.ros.settings import PARAMETERS

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "ros"
PACKAGE = PACKAGES / "robocle_interfaces"
NODE = PACKAGES / "robocle_ros"
PAGE = (ROOT / "docs/ros.md").read_text("utf-8")
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("*/*.[ms][sr][gv]"))


def test_every_message_and_service_is_built() -> None:
    built = re.findall(r'"((?:msg|srv)/\w+\.\w+)"', (PACKAGE / "CMakeLists.txt").read_text("utf-8"))
    assert sorted(built) == FILES
    assert len(FILES) == 11


def depended_on(package: Path) -> set[str | None]:
    manifest = ElementTree.parse(package / "package.xml")
    return {each.text for each in manifest.iter() if each.tag.endswith("depend")}


def test_the_manifests_name_all_packages_that_are_used() -> None:
    built = (PACKAGE / "CMakeLists.txt").read_text("utf-8")
    named = depended_on(PACKAGE)
    assert set(re.findall(r"find_package\((\w+) REQUIRED\)", built)) <= named
    used = {
        package
        for name in FILES
        for package in re.findall(r"^(\w+)/", (PACKAGE / name).read_text("utf-8"), re.MULTILINE)
    }
    assert used == {"builtin_interfaces", "sensor_msgs", "std_msgs"} & named

    sources = (ROOT / "src/robocle/ros").glob("*.py")
    text = "".join(path.read_text("utf-8") for path in sources)
    imported = set(re.findall(r'required\("(\w+)', text)) - {"rclpy_that_is_not_there"}
    launch = ast.parse((NODE / "launch/recogniser.launch.py").read_text("utf-8"))
    modules = [each.module or "" for each in ast.walk(launch) if isinstance(each, ast.ImportFrom)]
    imported |= {module.split(".")[0] for module in modules} - {"pathlib"}
    assert imported <= depended_on(NODE)


def test_rosdep_knows_how_to_install_robocle() -> None:
    (key,) = yaml.safe_load((PACKAGES / "rosdep.yaml").read_text("utf-8")).items()
    assert key[0] in depended_on(NODE)
    assert key[1]["ubuntu"] == {"pip": {"packages": ["robocle"]}}


def test_the_file_of_parameters_has_every_default() -> None:
    given = yaml.safe_load((NODE / "config/recogniser.yaml").read_text("utf-8"))
    expected = {name: parameter.default for name, parameter in PARAMETERS.items()}
    assert given == {"/**": {"ros__parameters": expected}}


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_is_on_the_page_with_its_default(name: str) -> None:
    section = PAGE.split("## Parameters")[1].split("##")[0]
    (row,) = re.findall(rf"^\| [^|]*`{name}`.*$", section, re.MULTILINE)
    default: Any = PARAMETERS[name].default
    written = str(default).lower() if isinstance(default, bool) else str(default)
    assert written in row or "as in `TemporalFilter`" in row


@pytest.mark.parametrize("name", [path for path in FILES if path.startswith("srv/")])
def test_every_service_is_on_the_page_with_the_fields_of_its_request(name: str) -> None:
    service = Path(name).stem.lower()
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{service}` |")]
    request = (PACKAGE / name).read_text("utf-8").split("---")[0]
    for field in re.findall(r"^[\w/\[\]]+ (\w+)$", request, re.MULTILINE):
        assert f"`{field}`" in row


def test_the_encodings_on_the_page_are_read() -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith("| `image` |")]
    named = re.findall(r"\b(?:rgb|bgr|rgba|bgra|mono)\d+\b|\byuv422(?:_yuy2)?\b|\bnv\d+\b", row)
    assert len(named) == 10
    assert {*named, "bayer_rggb8", "bayer_bggr16"} <= set(ENCODINGS)
