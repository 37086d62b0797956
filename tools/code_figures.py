"""Print figures of a source tree: `python tools/code_figures.py [ROOT]`.

ROOT holds src/robocle; without it, this repository is measured. The length of a function is from
`def` to its last line, without its docstring.
"""

import ast
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = "robocle"


class Length(NamedTuple):
    """How many lines a file or function has."""

    lines: int
    name: str


def main() -> None:
    """Print all figures."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    source = root / "src" / PACKAGE
    files = sorted(file_lengths(source))
    functions = sorted(function_lengths(source))
    lines = [length.lines for length in files]
    print(f"files                           {len(files)}")
    print(f"lines                           {sum(lines)}")
    print(f"median file                     {statistics.median(lines):.0f} lines")
    print(f"longest file                    {files[-1].lines} lines ({files[-1].name})")
    print(f"files over 250 lines            {sum(count > 250 for count in lines)}")
    print(f"functions                       {len(functions)}")
    print(f"95th percentile of a function   {percentile(functions, 0.95)} lines")
    print(f"longest function                {functions[-1].lines} lines ({functions[-1].name})")


def file_lengths(source: Path) -> Iterator[Length]:
    """Yield the length of each Python file."""
    for path in source.rglob("*.py"):
        count = len(path.read_text("utf-8").splitlines())
        yield Length(count, str(path.relative_to(source)))


def function_lengths(source: Path) -> Iterator[Length]:
    """Yield the length of each function and method."""
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = _lines(node) - _docstring_lines(node)
                yield Length(count, f"{path.relative_to(source)}:{node.name}")


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return _lines(node.body[0]) if ast.get_docstring(node) is not None else 0


def percentile(lengths: list[Length], share: float) -> int:
    """Return the length that this share of the sorted lengths does not exceed."""
    return lengths[min(int(share * len(lengths)), len(lengths) - 1)].lines


if __name__ == "__main__":
    main()
