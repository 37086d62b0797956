"""The command `robocle watch` in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robocle.watch.broker import PASSWORD_VARIABLE
from waiting import wait_for


class Watch:
    """The command `robocle watch` in a process of its own, with the lines it has printed."""

    def __init__(self, *arguments: str | Path, password: str = "") -> None:
        command = [sys.executable, "-u", "-m", "robocle", "watch", *map(str, arguments)]
        self.process = subprocess.Popen(
            [*command, "--every", "0.2", "--loop", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {PASSWORD_VARIABLE: password},
        )  # fmt: skip
        self.lines: list[tuple[float, str]] = []
        self.errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line))

    def _read_errors(self) -> None:
        assert self.process.stderr
        self.errors.extend(self.process.stderr)

    @property
    def last(self) -> dict[str, Any]:
        """What was printed last."""
        found: dict[str, Any] = json.loads(self.lines[-1][1]) if self.lines else {}
        return found

    def goes_on(self) -> None:
        """Wait for ten more lines."""
        wanted = len(self.lines) + 10
        wait_for(lambda: len(self.lines) >= wanted, f"ten more lines, after {self.errors}")

    def end(self, number: int = signal.SIGTERM) -> int:
        """End the process and return its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(60)
        for thread in self._threads:
            thread.join(10)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream
            stream.close()
        return code


@contextmanager
def watching(*arguments: str | Path, password: str = "") -> Iterator[Watch]:
    """Run the command until the context ends."""
    found = Watch(*arguments, password=password)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.end(signal.SIGKILL)
