"""A server of another project, such as a broker or a proxy, on a free port of this machine."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from waiting import wait_for


def program(name: str) -> str | None:
    """Return the path of a program of the system or of this environment; None if there is none."""
    places = os.get_exec_path(), ["/usr/sbin", str(Path(sys.executable).parent)]
    return shutil.which(name, path=os.pathsep.join([*places[0], *places[1]]))


def free_port() -> int:
    """Return a port of this machine that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServerProcess:
    """A server that runs until the context ends, and can be killed and started again meanwhile.

    Args:
        command: What starts it.
        port: The port that it listens to.
        folder: Where it runs and where its log is.
    """

    def __init__(self, command: Sequence[str | Path], port: int, folder: Path) -> None:
        self.port, self.folder = port, folder
        self._command = command
        self.start()

    def start(self) -> None:
        """Start the server and wait until it listens."""
        places = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(self.folder))
        log = self.folder / f"{Path(self._command[0]).name}.log"
        with open(log, "a") as output:
            self.process = subprocess.Popen(
                self._command, stdout=output, stderr=output, cwd=self.folder,
                env={**os.environ, **places},
            )  # fmt: skip
        wait_for(lambda: self._listens() or self.process.poll() is not None, "the server listens")
        assert self.process.poll() is None, log.read_text()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait(30)

    def kill(self) -> None:
        """End the server at once, with all that it has only in memory."""
        self.process.kill()
        self.process.wait()
