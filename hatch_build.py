"""Build hook: a wheel holds the commit that it was built from, for the origin of its results."""

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME = "robocle/_revision.txt"


class Revision(BuildHookInterface[Any]):
    """Adds a file with the commit; an sdist passes it on to the wheels that are built from it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file beside the source tree, so that a build changes nothing in it."""
        if version == "editable":  # asks git itself
            return
        passed_on = Path(self.root, "src", NAME)
        revision = _commit(self.root) or (passed_on.is_file() and passed_on.read_text("utf-8"))
        if not revision:
            return
        written = Path(tempfile.mkdtemp(), "_revision.txt")
        written.write_text(revision, "utf-8")
        inside = f"src/{NAME}" if self.target_name == "sdist" else NAME
        build_data["force_include"][str(written)] = inside


def _commit(root: str) -> str:
    """Return the commit of the source tree, with a + if it has uncommitted changes."""
    describe = ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
    try:
        subprocess.run(["git", "ls-files", "--error-unmatch", "hatch_build.py"], cwd=root,
                       capture_output=True, check=True)  # fmt: skip
        done = subprocess.run(describe, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
