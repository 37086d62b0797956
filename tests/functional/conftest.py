"""Fixtures for tests of the command: a taught state, an empty backbone cache, the wheel."""

import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable
from email import message_from_bytes
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from command_line import run
from robocle.backbones.model_folder import CACHE_VARIABLE

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def taught(objects: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of an exported state with two pictures of a ball and two of a box."""
    folder = tmp_path_factory.mktemp("taught")
    for label in ("ball", "box"):
        pictures = [objects / label / f"{number}.jpg" for number in (0, 1)]
        assert run("teach", folder / "home.robocle", label, *pictures).exit_code == 0
    assert run("export", folder / "home.robocle", folder / "sent.robocle").exit_code == 0
    return (folder / "sent.robocle").read_bytes()


@pytest.fixture
def state(taught: bytes, tmp_path: Path) -> Path:
    """A state file with two pictures of a ball and two of a box, for this test only."""
    path = tmp_path / "home.robocle"
    path.write_bytes(taught)
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty backbone cache for this test."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this repository."""
    folder = tmp_path_factory.mktemp("wheel")
    # The build needs no network: hatchling is installed for development.
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run(
        [*command, "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)], check=True
    )
    (built,) = folder.glob("robocle-*.whl")
    return built


def required(texts: Iterable[str], found: dict[str, Distribution]) -> dict[str, Distribution]:
    """Return the packages that requirements name, without extras, and all that they require."""
    for requirement in map(Requirement, texts):
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and requirement.name not in found:
            found[requirement.name] = distribution(requirement.name)
            required(found[requirement.name].requires or [], found)
    return found


@pytest.fixture(scope="session")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `robocle` in a new environment with the wheel and what it requires."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    packages = next(folder.glob("lib/*/site-packages"))
    with zipfile.ZipFile(wheel) as content:
        (name,) = (each for each in content.namelist() if each.endswith("/METADATA"))
        metadata = message_from_bytes(content.read(name))
    for package in required(metadata.get_all("Requires-Dist", []), {}).values():
        for top in {file.parts[0] for file in package.files or [] if file.parts[0] != ".."}:
            if not (packages / top).exists():
                (packages / top).symlink_to(str(package.locate_file(top)))
    command = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    subprocess.run([*command, "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    return folder / "bin" / "robocle"
