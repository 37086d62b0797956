"""Run all benchmarks: `python benchmarks/run_all.py`.

A full run writes its figures to benchmarks/results/<version>.jsonl, one JSON object per line. A
quick run uses small sizes, only checks that results agree with the references, and writes nothing
unless `--record` names a file.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from measuring import RECORD

import robocle

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: agreement only")
    parser.add_argument("--record", type=Path, metavar="FILE", help="where to write the figures")
    given = parser.parse_args()
    release = None if given.quick else RESULTS / f"{robocle.__version__}.jsonl"
    record = given.record or release
    failed = run(given.quick, record)
    if record:
        print(f"figures are in {record}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def run(quick: bool, record: Path | None) -> list[str]:
    """Run every benchmark in a process of its own; return the names of those that failed."""
    environment = dict(os.environ)
    unfinished = record.with_name(f"{record.name}.unfinished") if record else None
    if unfinished:
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        unfinished.unlink(missing_ok=True)
        environment[RECORD] = str(unfinished.absolute())
    failed = []
    for script in sorted(HERE.glob("bench_*.py")):
        print(f"\n== {script.stem}", flush=True)
        command = [sys.executable, str(script), *(["--quick"] if quick else [])]
        if subprocess.run(command, env=environment).returncode:
            failed.append(script.stem)
    if unfinished and record and unfinished.exists():
        unfinished.replace(record)
    return failed


if __name__ == "__main__":
    main()
