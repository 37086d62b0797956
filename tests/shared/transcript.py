"""Transcripts: the commands and the Python code of a page are run, and their output is compared.

A page holds blocks of these kinds, which are run in their order, in one folder:

    ```console                     commands after "$ ", each followed by what it prints
    ```python                      code; all blocks of a page share their names
    ```python title="NAME"         a file to save, not run
    ```text                        after a Python block: what it prints

In an expected output, "..." stands for any text, and a number with decimals may differ a little.

    python tests/shared/transcript.py docs/tutorial.md

runs a page with the robocle of this environment and writes the new outputs into it.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from environments import plain_environment

BLOCK = re.compile(r"^```(console|python|text)(?: title=\"([^\"]+)\")?\n(.*?)^```", re.M | re.S)
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?![\w.])")
PROGRESS = re.compile(r"^[a-z ]+: \d+ of \d+\n", re.M)  # where a machine is busy
TOLERANCE = 0.02
"""How far a number with decimals may be from the printed one: pictures and networks round."""
DRIVER = """
import json, sys
names = {"__name__": "__main__"}
for line in sys.stdin:
    exec(compile(json.loads(line), "the page", "exec"), names)
    print(chr(0), flush=True)
"""


@dataclass(frozen=True)
class Step:
    """Something that a reader does, and what the page says it prints."""

    kind: str
    """`command`, `code` or `file`."""
    source: str
    expected: str | None = None
    """None if the page shows no output."""
    title: str = ""
    """The name of a file."""


def steps_of(page: str) -> Iterator[Step]:
    """Yield the steps of a page in their order."""
    blocks = [found.groups() for found in BLOCK.finditer(page)]
    for number, (kind, title, content) in enumerate(blocks):
        if kind == "console":
            for part in re.split(r"^\$ ", content, flags=re.M)[1:]:
                command, _, output = part.partition("\n")
                yield Step("command", command, output)
        elif title:
            yield Step("file", content, title=title)
        elif kind == "python":
            after = blocks[number + 1] if number + 1 < len(blocks) else ("", "", "")
            yield Step("code", content, after[2] if after[0] == "text" else None)


class Reader:
    """Does what a page says, in a folder.

    Args:
        folder: The folder to work in.
        programs: The folder of the commands `robocle` and `python`.
    """

    def __init__(self, folder: Path, programs: Path) -> None:
        self._folder = folder
        self._environment = plain_environment()
        self._environment["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self._python = subprocess.Popen(
            [programs / "python", "-u", "-c", DRIVER],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End the Python process."""
        self._python.communicate()

    def do(self, step: Step) -> str:
        """Do a step and return what it prints, on standard output and standard error."""
        if step.kind == "file":
            (self._folder / step.title).write_text(step.source, "utf-8")
            return ""
        if step.kind == "code":
            return self._run_code(step.source)
        found = subprocess.run(
            ["bash", "-c", step.source],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return PROGRESS.sub("", found.stdout)

    def _run_code(self, source: str) -> str:
        assert self._python.stdin
        assert self._python.stdout
        self._python.stdin.write(json.dumps(source) + "\n")
        self._python.stdin.flush()
        lines: list[str] = []
        for line in self._python.stdout:
            if line == "\0\n":
                return "".join(lines)
            lines.append(line)
        raise AssertionError(f"this code of the page fails:\n{source}")


def agrees(expected: str, found: str) -> bool:
    """Return whether an output is the expected one.

    Example:
        >>> agrees("took ... s, 0.97", "took 5 s, 0.98")
        True
        >>> agrees("3 labels", "4 labels")
        False
    """
    texts = [re.escape(text).replace(r"\.\.\.", ".*?") for text in NUMBER.split(expected)]
    match = re.fullmatch(r"(-?\d+\.\d+)".join(texts), found, flags=re.S)
    if not match:
        return False
    pairs = zip(map(float, NUMBER.findall(expected)), map(float, match.groups()), strict=True)
    return all(abs(wanted - got) <= TOLERANCE * max(1, abs(wanted)) for wanted, got in pairs)


def prepare(page: str, reader: Reader) -> None:
    """Fetch the pictures that a page uses, unless that is one of its steps."""
    fetch = "robocle demo --pictures pictures"
    if fetch not in [step.source for step in steps_of(page)]:
        reader.do(Step("command", fetch))


def updated(page: str, reader: Reader) -> str:
    """Return a page with the outputs that its steps print now, where they do not agree."""
    prepare(page, reader)
    for step in steps_of(page):
        found = reader.do(step)
        if step.expected is None or agrees(step.expected, found):
            continue
        if step.kind == "command":
            before = f"$ {step.source}\n{step.expected}"
            page = page.replace(before, f"$ {step.source}\n{found}", 1)
        else:
            page = page.replace(f"```text\n{step.expected}```", f"```text\n{found}```", 1)
    return page


def main() -> None:
    """Write the present outputs into the pages that are given."""
    for page in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as programs:
            _write_program(Path(programs) / "robocle", "-m robocle")
            _write_program(Path(programs) / "python", "")
            reader = Reader(Path(folder), Path(programs))
            page.write_text(updated(page.read_text("utf-8"), reader), "utf-8")
            reader.close()


def _write_program(path: Path, options: str) -> None:
    """Write a command that runs this Python with the modules that it finds now."""
    modules = os.environ.get("PYTHONPATH", "")
    command = f'PYTHONPATH="{modules}" exec {sys.executable} {options} "$@"'
    path.write_text(f"#!/bin/sh\n{command}\n", "utf-8")
    path.chmod(0o755)


if __name__ == "__main__":
    main()
