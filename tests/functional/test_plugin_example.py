"""The example plug-in can be installed beside robocle, and keeps its contract there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "robocle-plugin-example"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that has the plug-in installed; no network is needed."""
    site = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(EXAMPLE)], check=True)
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path}


def run(environment: dict[str, str], *command: str) -> str:
    found = subprocess.run(
        [sys.executable, "-m", *command], env=environment, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_its_own_tests_pass(environment: dict[str, str], tmp_path: Path) -> None:
    cache = f"cache_dir={tmp_path}"
    assert " passed" in run(
        environment, "pytest", "-o", cache, "--rootdir", str(EXAMPLE), str(EXAMPLE)
    )


def test_its_parts_are_listed(environment: dict[str, str]) -> None:
    listed = run(environment, "robocle", "parts")
    assert "knn" in listed
    assert "jpeg" in listed


def test_a_state_with_its_classifier_is_taught_and_opened(
    environment: dict[str, str], objects: Path, tmp_path: Path
) -> None:
    state = str(tmp_path / "home.robocle")
    teach = ("robocle", "teach", state, str(objects), "--classifier", "knn:k=1")
    assert "taught 8 pictures" in run(environment, *teach)
    predicted = run(environment, "robocle", "predict", state, str(objects / "ball" / "0.jpg"))
    assert predicted.split("\t")[1] == "ball"
    assert "knn:k=1,per_class=20" in run(environment, "robocle", "inspect", state)


def test_the_robustness_check_tries_its_corruption(
    environment: dict[str, str], objects: Path
) -> None:
    checked = run(environment, "robocle", "check", str(objects), "--draws", "1")
    assert "jpeg, strongly compressed" in checked
