"""List the figures that got worse between two releases: `python benchmarks/compare.py [OLD NEW]`.

Without arguments, the two newest files in benchmarks/results are compared. Ratios are compared on
any machine; times and memory only if both files come from the same one.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results"
TOLERANCE = 0.2
"""How much worse a figure may get before it is listed."""

Record = dict[str, Any]
Key = tuple[str, str, str, bool]


class Change(NamedTuple):
    """A figure in two releases."""

    figure: str
    before: float
    after: float
    unit: str
    worse: float
    """The relative change for the worse; negative if the figure got better."""

    def __str__(self) -> str:
        return (
            f"{self.figure}: {self.before:,.2f}{self.unit} -> {self.after:,.2f}{self.unit}, "
            f"{self.worse:.0%} worse"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="two files: OLD NEW")
    files = parser.parse_args().files or releases()[-2:]
    if len(files) != 2:
        print("nothing to compare: there is only one release so far")
        return
    old, new = (figures(path) for path in files)
    found = [change for change in changes(old, new) if change.worse > TOLERANCE]
    for change in found:
        print(change)
    missing = len(old.keys() - new.keys())
    print(
        f"{files[0].stem} -> {files[1].stem}: {len(found)} figures got worse by more than "
        f"{TOLERANCE:.0%}, {len(old.keys() & new.keys())} compared, {missing} no longer measured"
    )
    if found:
        sys.exit(1)


def releases() -> list[Path]:
    """Return the files of all releases, oldest first."""
    return sorted(RESULTS.glob("*.jsonl"), key=_version)


def _version(path: Path) -> tuple[list[int], bool]:
    """Return a key that sorts 0.2.0.dev1 before 0.2.0 and 0.9.0 before 0.10.0."""
    release, _, suffix = path.stem.partition(".dev")
    return [int(number) for number in re.findall(r"\d+", release)], not suffix


def figures(path: Path) -> dict[Key, Record]:
    """Return the figures of a file by benchmark, workload, name, and whether the run was quick."""
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return {(r["benchmark"], r["workload"], r["name"], r["quick"]): r for r in records}


def changes(old: dict[Key, Record], new: dict[Key, Record]) -> Iterator[Change]:
    """Yield the change of each figure that is in both files and can be compared."""
    for key in old.keys() & new.keys():
        before, after = old[key], new[key]
        if before["unit"] != "x" and before["machine"] != after["machine"]:
            continue
        yield Change(
            " / ".join(key[:3]), before["value"], after["value"], after["unit"],
            worse(before["value"], after["value"], after["limit"], after["at_least"]),
        )  # fmt: skip


def worse(before: float, after: float, limit: float, more_is_better: bool) -> float:
    """Return the relative change of a figure for the worse.

    A figure far below its upper limit is mostly noise, so the change is relative to at least a
    tenth of the limit.

    >>> worse(100, 50, limit=10, more_is_better=True)
    1.0
    >>> worse(10, 15, limit=20, more_is_better=False)
    0.5
    >>> worse(0.01, 0.02, limit=10, more_is_better=False)
    0.01
    """
    reference, change = (after, before - after) if more_is_better else (before, after - before)
    return change / max(abs(reference), abs(limit) / 10)


if __name__ == "__main__":
    main()
