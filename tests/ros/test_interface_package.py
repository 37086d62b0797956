"""The interface package, the launch file, the page on the node and the code agree."""

import ast
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from robocle.ros.encodings import ENCODINGS
from robocle.ros.settings import PARAMETERS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ros/robocle_interfaces"
PAGE = (ROOT / "docs/ros.md").read_text("utf-8")
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("*/*.[ms][sr][gv]"))


def test_every_message_and_service_is_built() -> None:
    built = re.findall(r'"((?:msg|srv)/\w+\.\w+)"', (PACKAGE / "CMakeLists.txt").read_text("utf-8"))
    assert sorted(built) == FILES
    assert len(FILES) == 15


def test_the_manifest_names_all_packages_that_are_built_against() -> None:
    manifest = ElementTree.parse(PACKAGE / "package.xml")
    named = {each.text for each in manifest.iter() if each.tag.endswith("depend")}
    found = re.findall(
        r"find_package\((\w+) REQUIRED\)", (PACKAGE / "CMakeLists.txt").read_text("utf-8")
    )
    assert set(found) <= named
    used = {
        package
        for name in FILES
        for package in re.findall(r"^(\w+)/", (PACKAGE / name).read_text("utf-8"), re.MULTILINE)
    }
    assert used == {"geometry_msgs", "sensor_msgs", "std_msgs"}
    assert used <= named


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
    named = re.findall(r"\b(?:rgb|bgr|rgba|bgra|mono)8\b|\byuv422(?:_yuy2)?\b", row)
    assert len(named) == 7
    assert set(named) <= set(ENCODINGS)


def test_the_launch_file_sets_parameters_that_there_are() -> None:
    tree = ast.parse((PACKAGE / "launch/robocle.launch.py").read_text("utf-8"))
    values = {
        statement.targets[0].id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    arguments = ast.literal_eval(values["ARGUMENTS"])
    names = {*ast.literal_eval(values["TEXTS"])}
    assert isinstance(values["VALUES"], ast.Dict)
    names |= {ast.literal_eval(key) for key in values["VALUES"].keys if key is not None}
    assert names <= set(PARAMETERS)
    assert names <= set(arguments)
    for name in names:
        assert arguments[name][0] == str(PARAMETERS[name].default).replace("True", "true").replace(
            "False", "false"
        )
