"""A state that another program may be teaching while a camera is watched."""

import logging
import os
from pathlib import Path

from robocle.errors import NothingTaughtError, StateError
from robocle.learner import Learner
from robocle.store.reading import journal_path, state_path

log = logging.getLogger("robocle")

Stamp = tuple[tuple[int, int, int], ...]


class FollowedState:
    """The learner of a state file, loaded again whenever the file has changed.

    Args:
        path: The state file.

    Raises:
        StateError: The state cannot be read.
        NothingTaughtError: Nothing has been taught yet.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = state_path(path)
        self._stamp = self._now()
        self.learner = Learner.load(self._path)
        if not self.learner.labels:
            raise NothingTaughtError

    def refresh(self) -> bool:
        """Load the state again if its file has changed.

        A state that cannot be read now, or has no label left, keeps the learner as it is.

        Returns:
            Whether the learner is another one.
        """
        stamp = self._now()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            learner = Learner.load(self._path, self.learner.backbone)
        except StateError as error:
            log.warning("%s; going on with what was taught before", error)
            return False
        if not learner.labels:
            log.warning("%s knows no label now: going on with what was taught before", self._path)
            return False
        self.learner = learner
        return True

    def _now(self) -> Stamp:
        return tuple(_stamp(path) for path in (self._path, journal_path(self._path)))


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)
