"""What was learned, in memory: an immutable stored state, and the classifier computed from it.

The stored state is replaced by one assignment. While the classifier is in use, which may change it,
there is none: if an exception ends the use at any instant, such as an interrupt by the user, it is
computed again from the stored state.
"""

import os
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle.backbones.world import World
from robocle.classifiers import StreamingClassifier
from robocle.errors import RobocleError
from robocle.images.sketches import Sketches, sketches_of
from robocle.store.history import Replay
from robocle.store.parts import Parts
from robocle.store.stored_state import StoredState


@dataclass(frozen=True, eq=False)
class Taught:
    """How many pictures were taught per label. A change leads to another.

    Predictions refer to it, so it must not keep a stored state in memory.
    """

    counts: Mapping[str, int]


class Learned:
    """What was learned. It lends the classifier to one thread at a time."""

    def __init__(self, stored: StoredState, classifier: StreamingClassifier) -> None:
        """Keep what was learned.

        Args:
            stored: The classifier before the operations of the history, and these operations.
            classifier: The classifier after these operations.
        """
        self._stored = stored
        self._classifier: StreamingClassifier | None = classifier
        self._guard = threading.RLock()
        self._taught = stored, Taught(classifier.counts)
        _in_use.add(self)
        self._replay = Replay()
        self._world: World | None = None
        self._sketches: dict[str, NDArray[np.int8]] = {}  # by the ids of the samples

    def exclusive(self) -> AbstractContextManager[Any]:
        """Return a context in which no other thread changes the state."""
        return self._guard

    @contextmanager
    def classifier(self) -> Iterator[StreamingClassifier]:
        """Lend the classifier to one thread at a time. Even a query may change what it caches."""
        with self._guard:
            classifier = self._taken()
            try:
                yield classifier
            except RobocleError:
                self._classifier = classifier
                raise
            self._classifier = classifier

    def _taken(self) -> StreamingClassifier:
        """Return the classifier, which is computed again unless it is given back."""
        classifier = self._classifier or self._replay.classifier(self._stored)
        self._classifier = None
        if self._world is not None:
            classifier.use_world(self._world.pictures)
        return classifier

    @property
    def taught(self) -> Taught:
        """What was taught, without waiting for a change that is going on."""
        stored, taught = self._taught
        if stored is not self._stored:  # another change, or an interrupt during one
            with self.classifier() as classifier:
                taught = Taught(classifier.counts)
                self._taught = self._stored, taught
        return taught

    def after_fork(self) -> None:
        """Make the state usable in a process that was forked.

        Another thread of the parent may have held the lock and the classifier at that moment. What
        was learned is immutable, so the classifier is computed again.
        """
        self._guard = threading.RLock()
        self._replay = Replay()
        self._classifier = None

    @property
    def world(self) -> World | None:
        """The world that the classifier uses. It is not stored."""
        return self._world

    @world.setter
    def world(self, world: World | None) -> None:
        with self._guard:
            self._world = world

    @property
    def parts(self) -> Parts:
        """The specs of the learner's parts."""
        return self._stored.parts

    @parts.setter
    def parts(self, parts: Parts) -> None:
        self._stored = replace(self._stored, parts=parts)

    @property
    def steps(self) -> list[str]:
        """What can be undone, the last step first."""
        return self._stored.steps

    def last_embedding(self, label: str) -> NDArray[Any] | None:
        """Return the last embedding taught under a label; None if it is not kept."""
        with self.classifier() as classifier:
            own = [each.embedding for each in classifier.samples if each.label == label]
        return own[-1] if own else None

    @property
    def sketches(self) -> Sketches:
        """The sketches of all samples that are kept."""
        with self.classifier() as classifier:
            samples = classifier.samples
            new = [each for each in samples if each.id not in self._sketches]
            rows = sketches_of([each.embedding for each in new])
            self._sketches |= zip((each.id for each in new), rows, strict=True)
            rows = [self._sketches[each.id] for each in samples]
            return Sketches().added(rows, [each.label for each in samples])

    def stored(self) -> StoredState:
        """Return the state to store: the classifier before the history, and the history."""
        return self._stored

    def _without_history(self) -> StoredState:
        with self.classifier() as classifier:
            return self._stored.with_base(classifier.state())

    def overlaps(self, other: "Learned") -> bool:
        """Return whether another state has pictures in common with this one, as far as known."""
        with self.classifier() as ours:
            known = bool(ours.labels)
        with other.classifier() as theirs:
            known = known and bool(theirs.labels)
        return known and not set(self._stored.sources).isdisjoint(other._stored.sources)


# The states of this process. A fork of it has locks that no thread will ever release.
_in_use: "weakref.WeakSet[Learned]" = weakref.WeakSet()


def _after_fork() -> None:
    for state in list(_in_use):
        state.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
