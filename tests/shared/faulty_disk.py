"""A disk that fails on demand, and what a power failure may leave on it.

`faulty_disk.c` is preloaded into a program of its own. It sees every call that changes files in one
folder, also those that SQLite makes. Nothing is flushed to the real disk.
"""

import ctypes
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_suffix(".c")
KILL_BEFORE, KILL_DURING = -1, -2
SECTOR = 512


def compiler() -> str | None:
    """Return the compiler, if the system has one and can preload what it makes."""
    return shutil.which("cc") or shutil.which("gcc") if sys.platform == "linux" else None


def compiled(folder: Path) -> Path:
    """Return the library to preload."""
    library = folder / "faulty_disk.so"
    options = ["-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run([compiler() or "cc", *options], check=True)
    return library


class FaultyDisk:
    """The disk of this process, into which the library was preloaded.

    Args:
        folder: The folder whose files may fail. No others do.
        record: A file in which calls are recorded; -1 for none.
    """

    def __init__(self, folder: Path, record: int = -1) -> None:
        self._library = ctypes.CDLL(None)
        self._library.disk_watch(os.fsencode(folder), record)
        self.fail(0, 0, 0)

    def fail(self, first: int, last: int, outcome: int) -> None:
        """Let some of the next calls fail, counted from 1: with an error number, or by a kill."""
        self._library.disk_fail(ctypes.c_long(first), ctypes.c_long(last), outcome)

    @property
    def calls(self) -> int:
        """How many calls were made since `fail`."""
        return int(self._library.disk_calls())

    def mark(self, text: str) -> None:
        """Put a text among the recorded calls."""
        self._library.disk_mark(text.encode())


class Call(NamedTuple):
    """A recorded call, or a mark."""

    verb: str
    file: int
    """The number of its inode."""
    offset: int
    content: bytes
    path: str


def recorded(record: bytes) -> Iterator[Call]:
    """Yield the calls of a record."""
    at = 0
    while at < len(record):
        end = record.index(b"\n", at)
        verb, file, offset, size, path = record[at:end].decode().split(" ", 4)
        at = end + 1 + int(size)
        yield Call(verb, int(file), int(offset), record[end + 1 : at], path)


class File:
    """A file whose sectors may each have any content that they had since the last sync."""

    def __init__(self, content: bytes = b"") -> None:
        self._sectors: list[list[bytes]] = []
        self._sizes = [0]
        self.write(0, content)
        self.sync()

    def write(self, offset: int, content: bytes) -> None:
        end = offset + len(content)
        while len(self._sectors) * SECTOR < end:
            self._sectors.append([bytes(SECTOR)])
        for number in range(offset // SECTOR, -(-end // SECTOR)):
            start = number * SECTOR
            before = self._sectors[number][-1]
            first, last = max(offset - start, 0), min(end - start, SECTOR)
            new = content[start + first - offset : start + last - offset]
            self._sectors[number].append(before[:first] + new + before[last:])
        self._sizes.append(max(end, self._sizes[-1]))

    def truncate(self, size: int) -> None:
        current = self._sizes[-1]
        if size < current:
            self.write(size, bytes(current - size))
        self._sizes.append(size)

    def sync(self) -> None:
        self._sectors = [versions[-1:] for versions in self._sectors]
        self._sizes = self._sizes[-1:]

    def after_power_failure(self, rng: random.Random, new: float) -> bytes:
        """Return what may be on the disk; each sector is up to date with a given probability."""
        size = self._sizes[-1] if rng.random() < new else rng.choice(self._sizes)
        found = [
            versions[-1] if rng.random() < new else rng.choice(versions)
            for versions in self._sectors
        ]
        return b"".join(found)[:size].ljust(size, b"\0")


class Disk:
    """A folder, as far as it is certain after some recorded calls.

    Names that were created, replaced or removed since the folder was last synced may each be as
    they were at any time since.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[int, File] = {folder.stat().st_ino: File()}
        self._names: dict[str, list[File | None]] = {}
        for path in folder.iterdir():
            file = self._files[path.stat().st_ino] = File(path.read_bytes())
            self._names[path.name] = [file]

    def apply(self, call: Call) -> None:
        name = os.path.basename(call.path)
        if call.verb == "create":
            self._files[call.file] = File()
            self._bind(name, self._files[call.file])
        elif call.verb == "write":
            self._files[call.file].write(call.offset, call.content)
        elif call.verb == "truncate":
            self._files[call.file].truncate(call.offset)
        elif call.verb == "sync":
            self._files[call.file].sync()
            if call.file == self._folder.stat().st_ino:
                self._names = {name: files[-1:] for name, files in self._names.items()}
        elif call.verb in ("unlink", "link", "rename"):
            if call.verb != "unlink":
                self._bind(os.path.basename(call.content.decode()), self._names[name][-1])
            if call.verb != "link":
                self._bind(name, None)

    def _bind(self, name: str, file: File | None) -> None:
        self._names.setdefault(name, [None]).append(file)

    def write_after_power_failure(self, folder: Path, rng: random.Random) -> None:
        """Write to a folder what may be on the disk if the power fails now."""
        new = rng.choice([0.0, 0.5, 0.9, 1.0])
        for name, files in self._names.items():
            file = files[-1] if rng.random() < new else rng.choice(files)
            if file is not None:
                (folder / name).write_bytes(file.after_power_failure(rng, new))
