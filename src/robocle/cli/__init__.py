"""The command line: parses, calls, prints.

Results go to stdout. What a command needs is imported inside it, so that `--help` is quick.
"""

from robocle.cli import (  # noqa: F401  (each adds its commands)
    backbones,
    bag,
    bench,
    check,
    edit,
    fleet,
    inspect,
    predict,
    teach,
    transfer,
    watch,
)
from robocle.cli.app import main

__all__ = ["main"]
