"""Results files: one JSON object per line, each complete in itself.

A line holds the trial, the revision of what decides it (code, backbone, world, libraries), its
metrics with the predictions that they were computed from, and its origin. Lines are appended and
flushed to the disk one by one, so an interrupted run loses nothing. A half-written last line is
ignored. Only results that agree in everything but the ordering may be averaged: `newest_results`
returns those.
"""

import json
import math
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from robocle.errors import DataError, RobocleError
from robocle.evaluation.keys import versions
from robocle.evaluation.trial import Trial

Kind = Literal["trial", "examples", "moments"]
Record = dict[str, Any]
"""One line of a results file."""
Counts = tuple[int, int]
"""How many copies of taught pictures were tested, and how many pictures."""
LIBRARIES = ("robocle", "numpy", "scipy", "onnxruntime", "pillow")


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


def require_results_file(path: Path) -> None:
    """Check, before anything runs, that results can be appended to a file.

    Raises:
        DataError: Its name does not end in .jsonl, or no line in it is a result.
    """
    if path.suffix != ".jsonl":
        raise DataError(f"cannot write results to {path}: give a name that ends in .jsonl")
    if path.exists() and path.stat().st_size:
        with path.open("rb") as file:  # a line may be damaged, or cut off
            if not any(line.startswith(b'{"key": ') for line in file):
                raise DataError(f"{path} exists and holds no results: choose another name")


def read_results(path: Path) -> list[Record]:
    """Return the results in a file, of each trial the last. Damaged lines are ignored."""
    if not path.exists():
        return []
    found: dict[str, Record] = {}
    with path.open("rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and "trial" in record and "key" in record:
                found.pop(record["key"], None)
                found[record["key"]] = record
    return list(found.values())


def newest_results(path: Path) -> tuple[list[Record], list[str]]:
    """Return the results of a file that reports show, and one line per kind of others.

    Results for the same study, method, data and backbone are averaged over their orderings. If some
    differ in more than the ordering, such as in an option or the code, only those are shown that
    agree with the newest. A line says how many others there are, and what differs.

    Returns:
        The results, in the order of the file, and the lines.
    """
    records = read_results(path)
    left_out: dict[str, list[Record]] = {}
    shown: list[Record] = []
    for of_cell in grouped(records, _cell).values():
        newest_last = sorted(of_cell, key=lambda record: record.get("time", ""))
        facts = _facts_of(newest_last)
        of_seed = {record["trial"].get("seed"): record for record in newest_last}
        for record, its_facts in zip(newest_last, facts, strict=True):
            if its_facts == facts[-1] and of_seed[record["trial"].get("seed")] is record:
                shown.append(record)
            elif record.get("kind") != "examples":
                left_out.setdefault(_difference(its_facts, facts[-1]), []).append(record)
    kept = {record["key"] for record in shown}
    lines = [_in_words(difference, others) for difference, others in left_out.items()]
    lines += copies_in_words((record["study"], counts_of(record["result"])) for record in shown)
    return [record for record in records if record["key"] in kept], lines


def show_again(path: Path, places: Mapping[str, Place]) -> None:
    """Append results again that newer ones have replaced, because what decides them is back.

    Args:
        path: The results file.
        places: The place in the experiment of each trial that it has now, by the trial's key.
    """
    shown = {record["key"] for record in newest_results(path)[0]}
    for record in read_results(path):
        if record["key"] in places.keys() - shown:
            _append(path, record | asdict(places[record["key"]]))


def counts_of(result: Mapping[str, Any]) -> Counts:
    """Return how many copies of taught pictures a trial tested, and how many pictures."""
    return result.get("copies_tested", 0), result.get("pictures_tested", 0)


def copies_in_words(tested: Iterable[tuple[str, Counts]]) -> list[str]:
    """Return one line per study in which copies of taught pictures were tested.

    Args:
        tested: The study of each trial, and what it tested.
    """
    most: dict[str, Counts] = {}
    for study, counts in tested:
        most[study] = max(most.get(study, counts), counts)
    return [
        f"{study}: {copies} of {pictures} test pictures are copies of taught ones; the option "
        "disjoint=content of the scenario leaves them out"
        for study, (copies, pictures) in most.items()
        if copies
    ]


def grouped(records: Iterable[Record], name: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    """Return the records by a name of theirs, in the order of appearance."""
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(name(record), []).append(record)
    return groups


def _cell(record: Record) -> tuple[str, ...]:
    """Return what results have in common that reports average over the orderings."""
    kind, trial = record.get("kind", "trial"), record["trial"]
    names = ["dataset", "scenario", "data", "backbone", "taught"]
    names += ["pooling"] if kind == "moments" else []  # one figure per pooling
    return (kind, record["study"], record["method"], *(str(trial.get(name)) for name in names))


def _facts_of(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return all that decides each result, apart from the ordering.

    Results of older versions have no revision. If there are several for an ordering, the code was
    changed between them, and the commit has to tell them apart.
    """
    facts = [
        {name: value for name, value in record["trial"].items() if name not in ("seed", "root")}
        | record.get("revision", {})
        for record in records
    ]
    seeds = [r["trial"].get("seed") for r in records if "revision" not in r]
    if len(set(seeds)) < len(seeds):
        for record, its_facts in zip(records, facts, strict=True):
            if "revision" not in record:
                its_facts["commit"] = record["origin"]["commit"]
    return facts


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return what differs between two results in words."""
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    told = (f"{name} ({_short(old, name)}, now {_short(new, name)})" for name in names)
    return ", ".join(told) or "something that was not recorded"


def _short(facts: Mapping[str, Any], name: str) -> str:
    if name not in facts:
        return "not recorded"
    is_hash = name in ("code", "commit", "fingerprint", "world")
    return str(facts[name])[:8] if is_hash else str(facts[name])


def _in_words(difference: str, records: Sequence[Record]) -> str:
    methods = ", ".join(dict.fromkeys(record["method"] for record in records))
    are = "result is" if len(records) == 1 else "results are"
    return (
        f"{len(records)} older {are} not shown, which differ from the newest in {difference}: "
        f"{methods}"
    )


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
        "trial": trial.facts,
        "revision": trial.revision,
        "result": result,
        "origin": origin(),
    }
    _append(path, record)


def _append(path: Path, record: Record) -> None:
    record = record | {"time": datetime.now(UTC).isoformat(timespec="seconds")}
    line = json.dumps(_without_nan(record), ensure_ascii=False, allow_nan=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else f"\n{line}"
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


@cache
def origin() -> dict[str, Any]:
    """Return where the results of this process come from."""
    return {
        "commit": _commit(),
        "versions": versions(*LIBRARIES),
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
