"""If the program, the power or the disk fails, no acknowledged operation is lost or half done."""

import errno
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exhaustive import only
from faulty_disk import KILL_BEFORE, KILL_DURING, compiled, compiler
from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import StateAccessError, StateError
from stub_backbone import STUB, embedding

SHARED = Path(__file__).parents[1] / "shared"
WIDTH = 1280
NOBODY = 65534


def opened(path: Path) -> Learner:
    return Learner.open(path, STUB, pooling="avg", classifier="slda")


def teach(learner: Learner, seed: int, label: str) -> None:
    learner.teach_embedding(embedding(seed, WIDTH), label)


@pytest.fixture(scope="session")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables that make the disk of a program fail on demand."""
    if compiler() is None:
        pytest.skip("needs Linux and a C compiler")
    return {"LD_PRELOAD": str(compiled(tmp_path_factory.mktemp("library")))}


def driven(program: str, *arguments: object, **variables: str) -> list[int]:
    """Run a program beside this file, and return the numbers that it prints."""
    places = [str(SHARED), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = os.environ | variables
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    command = [sys.executable, str(Path(__file__).with_name(program)), *map(str, arguments)]
    result = subprocess.run(
        command, capture_output=True, check=False, timeout=500, env=environment, text=True
    )
    assert result.returncode == 0, result.stderr
    return [int(word) for word in result.stdout.split() if word.isdigit()]


@pytest.mark.slow
@pytest.mark.parametrize("outcome", [KILL_BEFORE, KILL_DURING], ids=["before", "during"])
@pytest.mark.parametrize("every", only(61, [61, 7]))
def test_a_program_killed_at_a_call_to_the_system_loses_no_acknowledged_operation(
    every: int, outcome: int, tmp_path: Path, preloaded: dict[str, str]
) -> None:
    (kills,) = driven("disk_driver.py", "kill", tmp_path, outcome, every, **preloaded)
    assert kills * every > 500


@pytest.mark.slow
def test_a_power_failure_loses_no_acknowledged_operation(
    tmp_path: Path, preloaded: dict[str, str]
) -> None:
    cuts, calls, recoveries = driven("disk_driver.py", "power", tmp_path, 100, 1, **preloaded)
    assert cuts == 100
    assert calls > 500
    assert recoveries > 30


@pytest.mark.exhaustive
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO], ids=["full", "broken"])
def test_a_disk_that_fails_for_a_while_loses_only_the_operation_that_raised_an_error(
    error: int, tmp_path: Path, preloaded: dict[str, str]
) -> None:
    faults, errors = driven("disk_driver.py", "fail", tmp_path, error, 23, **preloaded)
    assert faults > 25
    assert errors > faults


def test_after_a_write_beyond_the_file_size_limit_teaching_can_continue(
    tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "home"
    learner = opened(path)
    teach(learner, 0, "mug")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, before[1]))
    try:
        message = refusal(StateAccessError, lambda: teach(learner, 1, "cup"))
        assert learner.predict_embedding(embedding(0, WIDTH), false_accept=1).label == "mug"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert message.startswith(f"cannot write {path}: the disk")
    assert learner.counts == Learner.load(path, STUB).counts == {"mug": 1}
    teach(learner, 2, "cup")
    learner.close()
    assert Learner.load(path, STUB).counts == {"mug": 1, "cup": 1}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose mode also holds for the superuser, who is nobody while the test runs."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name).resolve()
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, 0)
        yield path
        path.chmod(0o700)
        if os.getresuid()[2] == 0:
            os.setresuid(0, 0, 0)


@pytest.mark.skipif(not hasattr(os, "setresuid"), reason="only Linux gives rights back")
def test_in_a_read_only_folder_a_state_is_read_and_not_changed(
    folder: Path, refusal: Refusal
) -> None:
    with opened(folder / "home") as learner:
        teach(learner, 0, "mug")
        folder.chmod(0o500)
        assert "read-only" in refusal(StateAccessError, lambda: teach(learner, 1, "cup"))
        assert "read-only" in refusal(StateAccessError, learner.undo)
        assert learner.predict_embedding(embedding(0, WIDTH), false_accept=1).label == "mug"
        assert Learner.load(folder / "home", STUB).counts == learner.counts == {"mug": 1}
        refusal(StateAccessError, lambda: opened(folder / "new"))
        refusal(StateAccessError, lambda: learner.save(folder / "new"))
        folder.chmod(0o700)
        teach(learner, 1, "cup")
    assert Learner.load(folder / "home", STUB).counts == {"mug": 1, "cup": 1}
    assert [each.name for each in folder.iterdir()] == ["home"]


@pytest.fixture
def unfinished(tmp_path: Path) -> Path:
    """A state with a journal, as a program leaves it that is killed while it writes."""
    with opened(tmp_path / "home") as learner:
        teach(learner, 0, "mug")
    path = tmp_path / "unfinished"
    connection = sqlite3.connect(tmp_path / "home", isolation_level=None)
    connection.executescript("PRAGMA cache_size = 1; BEGIN; UPDATE samples SET label = 'jar';")
    connection.execute("UPDATE samples SET embedding = zeroblob(1000000)")
    for end in ("", "-journal"):
        shutil.copy(tmp_path / f"home{end}", f"{path}{end}")
    connection.close()
    assert path.stat().st_size > 10 * (tmp_path / "home").stat().st_size
    return path


@pytest.mark.parametrize("way", [Learner.load, Learner.open])
def test_an_unfinished_change_is_undone_when_a_state_is_loaded_or_opened(
    way: Callable[[Path, Backbone], Learner], unfinished: Path
) -> None:
    with way(unfinished, STUB) as learner:
        assert learner.counts == {"mug": 1}
    assert unfinished.read_bytes() == unfinished.with_name("home").read_bytes()
    assert sorted(each.name for each in unfinished.parent.iterdir()) == ["home", "unfinished"]


def test_an_unfinished_change_of_a_read_only_file_is_an_error(
    unfinished: Path, refusal: Refusal
) -> None:
    unfinished.chmod(0o444)
    assert "read-only" in refusal(StateError, lambda: Learner.load(unfinished, STUB))
    unfinished.chmod(0o644)
    assert Learner.load(unfinished, STUB).counts == {"mug": 1}
