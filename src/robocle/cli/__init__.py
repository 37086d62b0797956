"""The command line: parses, calls, prints.

Results go to stdout. What a command needs is imported inside it, so that `--help` is quick.
"""

from robocle.cli import benchmarking, checking, inspecting, keeping, learning, showing  # noqa: F401  (each adds its commands)
from robocle.cli.app import main

__all__ = ["main"]
