"""Results files: one JSON object per line, each complete in itself.

A line holds the trial, its metrics, and where they come from (commit, versions, data). Lines are
appended and flushed to the disk one by one, so an interrupted run loses nothing. A half-written
last line is ignored.
"""

import json
import math
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from robocle.errors import RobocleError
from robocle.evaluation.trial import Trial

Kind = Literal["trial", "examples", "moments"]
LIBRARIES = ("robocle", "numpy", "scipy", "onnxruntime", "pillow")


def read_results(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the results in a file, each trial once. Damaged lines are ignored."""
    if not path.exists():
        return
    seen: set[str] = set()  # two runs at the same time may write the same trial
    with path.open("rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if not (isinstance(record, dict) and "trial" in record and "key" in record):
                continue
            if record["key"] not in seen:
                seen.add(record["key"])
                yield record


@dataclass(frozen=True)
class Place:
    """The place of a result in its experiment, and in the paper's tables."""

    experiment: str
    study: str
    method: str
    over: str = ""
    """The method that this one's gain is computed over."""
    order: int = 0
    """The position in the experiment, since results are written in any order."""
    shows: tuple[str, ...] = ()
    """What the report shows."""
    paper: Mapping[str, str] = field(default_factory=dict)
    """The coordinates of the paper's number, see `robocle.evaluation.paper`."""


def append_result(
    path: Path, place: Place, trial: Trial, result: dict[str, Any], kind: Kind = "trial"
) -> None:
    """Append one result to a file. It is on the disk when this returns.

    Args:
        path: The results file; it and its folder are made if they do not exist.
        place: The place of the result in its experiment.
        trial: The trial.
        result: Its metrics, or the data of an illustration.
        kind: What the result is.

    Raises:
        RobocleError: The file cannot be written.
    """
    record = {
        "key": trial.key if kind == "trial" else f"{kind} {trial.key}",
        "kind": kind,
        **asdict(place),
        "trial": asdict(trial) | {"root": "", "data": trial.data},
        "result": result,
        "origin": origin(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    line = json.dumps(_without_nan(record), ensure_ascii=False, allow_nan=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            if file.tell() and not _ends_with_newline(path):
                file.write(b"\n")
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise RobocleError(f"cannot write {path}: {error.strerror}") from error


def _without_nan(value: Any) -> Any:
    """Replace NaN, which is not JSON, by null."""
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


@cache
def origin() -> dict[str, Any]:
    """Return where the results of this process come from."""
    return {
        "commit": _commit(),
        "versions": {name: version(name) for name in LIBRARIES},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def _commit() -> str:
    """Return the commit of the running code, with a + if it has uncommitted changes."""
    try:
        _git("ls-files", "--error-unmatch", __file__)  # not of a repository that robocle is inside
        return _git("describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*")
    except (OSError, subprocess.CalledProcessError):
        built = Path(str(files("robocle") / "_revision.txt"))  # see hatch_build.py
        return built.read_text("utf-8") if built.is_file() else "unknown"


def _git(*arguments: str) -> str:
    command, here = ["git", *arguments], Path(__file__).parent
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    return done.stdout.strip()
