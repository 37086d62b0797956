"""A state as it is stored: a classifier, the operations since, and checkpoints to return to.

To undo a step, its operations are removed, and the others are applied to the stored classifier
again. A large step or a merge cannot be undone that way. A checkpoint is kept instead: what was
stored before that step.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from robocle.classifiers import ClassifierState
from robocle.errors import NothingToUndoError
from robocle.store.operations import (
    Operation,
    Teach,
    Undo,
    described,
    start_of_last_step,
    taught_after,
)
from robocle.store.parts import Parts
from robocle.store.steps import Step, same_step, teaching

MAX_SOURCES = 1000
"""How many sources a state keeps: the newest ones, and its own."""
CHECKPOINT_BYTES = 16_000_000
"""More than one checkpoint is kept only while they take no more bytes than this."""


def new_source() -> str:
    """Return a random name for a state."""
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Checkpoint:
    """What was stored before a step that cannot be undone operation by operation."""

    step: Step
    base: ClassifierState
    history: tuple[Operation, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """The size of its samples and of the embeddings of its operations."""
        embeddings = [each.embedding for each in self.history if isinstance(each, Teach)]
        return self.base.nbytes + sum(embedding.nbytes for embedding in embeddings)


@dataclass(frozen=True)
class StoredState:
    """A state as it is stored: a classifier, and the operations applied since."""

    parts: Parts
    base: ClassifierState
    """What the classifier was taught before the operations."""
    history: tuple[Operation, ...] = ()
    sources: tuple[str, ...] = ()
    """Random names of the states that this one was taught as, its own first, and of those that were
    merged into it. States with a common source have pictures in common."""
    checkpoints: tuple[Checkpoint, ...] = ()
    """Oldest first. The last one precedes the base."""

    @property
    def taught(self) -> ClassifierState:
        """What the classifier was taught, after the operations, apart from its folded sums."""
        return taught_after(self.base, self.history)

    @property
    def counts(self) -> dict[str, int]:
        """The number of pictures taught per label, after the operations.

        Raises:
            StateError: The folded sums hold no valid counts.
        """
        return self.taught.counts

    @property
    def steps(self) -> list[str]:
        """What can be undone, the last step first.

        Raises:
            StateError: The folded sums hold no valid counts.
        """
        found = []
        remaining = self
        while remaining.history or remaining.checkpoints:
            found.append(remaining.last_step)
            remaining = remaining.without_last_step()
        return found

    @property
    def last_step(self) -> str:
        """What the last step did.

        Raises:
            NothingToUndoError: No step can be undone.
        """
        operations = self.history[start_of_last_step(self.history) :]
        before = self.without_last_step()
        if len(before.checkpoints) == len(self.checkpoints):
            return described(operations)
        step = self.checkpoints[-1].step
        if step.description is not None:
            return step.description
        counts = before.counts
        added = {label: n - counts.get(label, 0) for label, n in self.counts.items()}
        taught = {label: n for label, n in added.items() if n > 0}
        return teaching(sum(taught.values()), taught) if taught else "several changes"

    def appended(self, change: Operation | Undo) -> "StoredState":
        """Return the state after one more operation.

        Raises:
            NothingToUndoError: It is an undo, and no step can be undone.
        """
        if isinstance(change, Undo):
            return self.without_last_step()
        return replace(self, history=(*self.history, change))

    def without_last_step(self) -> "StoredState":
        """Return the state before the last step.

        Raises:
            NothingToUndoError: No step can be undone.
        """
        if not (self.history or self.checkpoints):
            raise NothingToUndoError
        start = start_of_last_step(self.history)
        if start == 0 and self.continues_checkpoint(len(self.history)):
            *older, last = self.checkpoints
            return replace(
                self,
                base=last.base,
                history=last.history,
                sources=last.sources,
                checkpoints=tuple(older),
            )
        return replace(self, history=self.history[:start])

    def continues_checkpoint(self, end: int) -> bool:
        """Return whether the first operations belong to the step of the last checkpoint.

        Args:
            end: The number of these operations.
        """
        step = self.checkpoints[-1].step if self.checkpoints else None
        return step is not None and all(
            same_step(operation.step, step) for operation in self.history[:end]
        )

    def with_checkpoint(
        self, step: Step, base: ClassifierState, history: tuple[Operation, ...] = ()
    ) -> "StoredState":
        """Return a state from which undo returns to what was stored before a step.

        Args:
            step: The step.
            base: The classifier to store from now on.
            history: The operations since.
        """
        ours = [same_step(operation.step, step) for operation in self.history]
        before = self.history[: ours.index(True)] if True in ours else self.history
        checkpoints = self.checkpoints
        # A step has one checkpoint, however often it replaces the classifier.
        if before or not checkpoints or not same_step(checkpoints[-1].step, step):
            last = Checkpoint(step, self.base, before, self.sources)
            checkpoints = (*checkpoints, last)
        return self.with_base(base, history, checkpoints)

    def with_base(
        self,
        base: ClassifierState,
        history: tuple[Operation, ...] = (),
        checkpoints: tuple[Checkpoint, ...] = (),
    ) -> "StoredState":
        """Return a state with another classifier, another history and other checkpoints.

        Args:
            base: The classifier, which has learned the other operations of this state.
            history: The last operations of this state.
            checkpoints: The checkpoints.
        """
        return replace(self, base=base, history=history, checkpoints=checkpoints)

    def with_sources(self, added: Iterable[str]) -> "StoredState":
        """Return a state that knows that others were merged into it."""
        own, *others = dict.fromkeys((*self.sources, *added))
        return replace(self, sources=(own, *others[-(MAX_SOURCES - 1) :]))


def kept_checkpoints(checkpoints: tuple[Checkpoint, ...]) -> int:
    """Return how many checkpoints to keep: the last, and those before it while all are small."""
    sizes = np.cumsum([checkpoint.bytes for checkpoint in reversed(checkpoints)])
    return max(1, int((sizes <= CHECKPOINT_BYTES).sum()))
