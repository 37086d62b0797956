"""The executable `recogniser`: the command `robocle ros`, by the Python of colcon."""

import sys


def main() -> None:
    """Run the node."""
    try:
        from robocle.cli import main as robocle
    except ImportError as error:
        sys.exit(f"recogniser: {error}: install it with {sys.executable} -m pip install robocle")
    robocle(["ros", *sys.argv[1:]], prog_name="robocle")
