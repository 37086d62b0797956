"""A tree of unions: many states are merged by the workers of a Dask cluster, some by each."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from robocle.errors import RobocleError
from robocle.evaluation.parallel import Workers
from robocle.learner.editing import merge_into
from robocle.store.state import FilePath, Specs, State, located

BRANCHES = 32
"""How many states a worker merges at once. What it writes has to fit into memory."""


class Branch(NamedTuple):
    """States that one worker merges into a new file."""

    parts: Specs
    files: tuple[str, ...]
    out: str
    skip: bool


def merge_on_dask(
    state: FilePath, files: Sequence[FilePath], dask: str, skip: bool = False
) -> list[RobocleError]:
    """Merge states as `Learner.merge_files` does, most of it on a cluster.

    The workers must see the files, and the folder of the state, at the same paths.

    Args:
        state: The state that the others are merged into.
        files: The other states.
        dask: The address of the scheduler.
        skip: Whether to leave out files that cannot be merged.

    Returns:
        Why files were left out.

    Raises:
        RobocleError: The cluster does not answer, or a file cannot be merged.
    """
    path, skipped = located(state), list[RobocleError]()
    parts = State.open(path).parts
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
        branches = [
            Branch(parts, tuple(str(located(each)) for each in files[start : start + BRANCHES]),
                   str(Path(folder, f"{start}.robocle")), skip)
            for start in range(0, len(files), BRANCHES)
        ]  # fmt: skip
        for _, errors in Workers(dask=dask).run(_united, branches):
            skipped += errors
        merge_into(path, [branch.out for branch in branches], skip=False)
    return skipped


def _united(branch: Branch) -> list[RobocleError]:
    """Merge the states of a branch, and return why some were left out."""
    State.open(branch.out, lambda: branch.parts).close()
    return merge_into(branch.out, branch.files, branch.skip)
