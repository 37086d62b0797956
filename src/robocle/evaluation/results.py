"""Results: one JSON object a line, each complete in itself.

A line carries the trial, what it gave, and where it comes from (commit, versions, data). Lines are
appended and flushed to disk one by one, so a run that is stopped loses nothing; a half-written
last line is passed over.
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
from pathlib import Path
from typing import Any

from robocle.errors import RobocleError
from robocle.evaluation.trial import Trial

LIBRARIES = ("robocle", "numpy", "scipy", "onnxruntime", "pillow")


def read_results(path: Path) -> Iterator[dict[str, Any]]:
    """The results in a file; damaged lines are passed over."""
    if not path.exists():
        return
    seen: set[str] = set()  # two runs at once may write the same trial
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
    """Where a result stands in its experiment, and in the paper's tables."""

    experiment: str
    study: str
    method: str
    over: str = ""
    order: int = 0
    """Where the experiment lists it: results come in any order."""
    shows: tuple[str, ...] = ()
    paper: Mapping[str, str] = field(default_factory=dict)


def append_result(
    path: Path, place: Place, trial: Trial, result: dict[str, Any], kind: str = "trial"
) -> None:
    """Write one result, durably. Its kind is a trial's, or an illustration for the report."""
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
    """NaN is not JSON: what has no value is null."""
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
    """Where results of this process come from."""
    return {
        "commit": _commit(),
        "versions": {name: version(name) for name in LIBRARIES},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def _commit() -> str:
    """The commit of the running code, with a + if it was changed since."""
    here = Path(__file__).parent
    try:
        subprocess.run(  # not the commit of whatever repository robocle is installed in
            ["git", "ls-files", "--error-unmatch", __file__],
            cwd=here,
            capture_output=True,
            check=True,
        )
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"],
            cwd=here,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return described.stdout.strip()
