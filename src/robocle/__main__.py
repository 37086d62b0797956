"""The command: the script `robocle`, and `python -m robocle` where it is not on the path."""

import os
import signal
from types import FrameType


def run() -> None:
    """Run the command. Ctrl-C while it is imported also ends it with one line."""
    signal.signal(signal.SIGINT, _interrupted)
    from robocle.cli import main

    main(prog_name="robocle")


def _interrupted(number: int, frame: FrameType | None) -> None:
    os.write(2, b"robocle: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    run()
