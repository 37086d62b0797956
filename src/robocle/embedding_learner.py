"""A learner that is taught embeddings: everything that changes it, and the file it is kept in.

`robocle.embedding_predictor` has what it predicts. `robocle.Learner` adds the pipeline that embeds
pictures.
"""

from contextlib import AbstractContextManager
from typing import Self

from numpy.typing import ArrayLike

from robocle.classifiers.labels import never_taught, require_label, spelling_of
from robocle.embedding import Embedding, values_for
from robocle.embedding_predictor import EmbeddingPredictor
from robocle.errors import AlreadyMergedError, StateError, UnknownSampleError
from robocle.store import Forget, Remove, Rename, Teach, stored_embedding
from robocle.store.reading import FilePath, state_path


class EmbeddingLearner(EmbeddingPredictor):
    """Learns labelled embeddings one at a time and recognises new ones.

    Several threads may use a learner. Changes are made one after another. Predictions run beside
    each other and beside a change; each sees the learner before or after it. A forked process may
    go on with a learner in memory; only the process that opened a file may change it.

    Args:
        state: What was learned, and the file it is kept in, if any.
    """

    def teach_embedding(self, embedding: Embedding | ArrayLike, label: str) -> None:
        """Learn a picture that has already been embedded.

        Args:
            embedding: What `embed_for_teaching` returned, or an array of your own.
            label: What the picture shows.

        Raises:
            FeatureError: The embedding was made for prediction, has a different width, or has a
                value beyond 1e30.
            LabelError: The label cannot be used.
            StateError: The change cannot be written to the learner's file.
        """
        values = stored_embedding(values_for("teaching", embedding))
        label = require_label(label)
        with self._state.exclusive():
            self._state.do(Teach(spelling_of(label, self.labels) or label, values))

    def forget(self, label: str) -> None:
        """Forget a label. This can be undone until `purge` is called.

        Raises:
            UnknownLabelError: The label was never taught.
            StateError: The change cannot be written to the learner's file.
        """
        with self._state.exclusive():
            self._state.do(Forget(self._known(label)))

    def remove(self, *ids: str) -> None:
        """Remove taught pictures, as if they had never been taught. This can be undone.

        Args:
            ids: The ids of the pictures, as `samples` has them, or the first digits of an id that
                no other picture begins with.

        Raises:
            UnknownSampleError: There is no such picture, or more than one. Nothing is removed.
            StateError: The change cannot be written to the learner's file.

        Example:
            >>> from robocle import Learner
            >>> learner = Learner(pooling="avg")
            >>> learner.teach_embedding([0.9, 0.1], "mug")
            >>> learner.teach_embedding([0.2, 0.8], "mug")
            >>> with learner.step():
            ...     learner.remove(learner.samples[0].id)
            >>> learner.counts, learner.undo(), learner.counts
            ({'mug': 1}, 'removing 1 picture', {'mug': 2})
        """
        with self._state.exclusive():
            with self._state.classifier() as classifier:
                known = [sample.id for sample in classifier.samples]
            found = tuple(dict.fromkeys(_whole_id(id, known) for id in ids))
            if found:
                self._state.do(Remove(found))

    def rename(self, label: str, new: str) -> None:
        """Rename a label. If the new name is a label already, the two become one.

        Raises:
            UnknownLabelError: The label was never taught.
            LabelError: The new name cannot be used.
            InexactError: The two have sums of the published scatter, which cannot be joined.
            StateError: The change cannot be written to the learner's file.
        """
        new = require_label(new)
        with self._state.exclusive():
            old = self._known(label)
            existing = spelling_of(new, [each for each in self.labels if each != old])
            if old != new:
                self._state.do(Rename(old, existing or new))

    def _known(self, label: str) -> str:
        """Return the label as it is spelled in the state."""
        known = spelling_of(label, self.labels)
        if known is None:
            raise never_taught(label, self.labels)
        return known

    def step(
        self, description: str | None = None, *, token: str | None = None
    ) -> AbstractContextManager[None]:
        """Return a context in which all operations are one step, which `undo` undoes as a whole.

        Each operation is still written when its call returns. If an error ends the context early,
        the operations before it stay, as one step. A step within a step is part of it.

        Args:
            description: What `undo` says that it undid; None describes the operations.
            token: Steps with the same token that follow each other are undone together, even if
                the learner was closed in between: pictures that arrive one by one are one step.

        Example:
            >>> from robocle import Learner
            >>> learner = Learner(pooling="avg")
            >>> with learner.step("a first lesson"):
            ...     learner.teach_embedding([0.9, 0.1], "mug")
            ...     learner.teach_embedding([0.2, 0.8], "pan")
            >>> learner.undo(), learner.labels
            ('a first lesson', ())
        """
        return self._state.step(description, token)

    @property
    def steps(self) -> list[str]:
        """What can be undone, the last step first, such as "teaching 3 pictures of 'mug'"."""
        return self._state.steps

    @property
    def undoable(self) -> int:
        """How many steps can be undone."""
        return len(self.steps)

    def undo(self) -> str:
        """Undo the last step: a change such as `teach`, `teach_many` or `merge`, or a `step`.

        Returns:
            A description of what was undone, such as "teaching 'mug'".

        Raises:
            NothingToUndoError: No step can be undone.
            StateError: The change cannot be written to the learner's file.
        """
        return self._state.undo()

    def purge(self) -> None:
        """Delete the undo history, and with it everything that was forgotten or undone.

        Raises:
            StateError: The change cannot be written to the learner's file.
        """
        self._state.purge()

    def merge(self, other: "EmbeddingLearner", *, again: bool = False) -> None:
        """Add what another learner with the same parts has learned.

        Args:
            other: The other learner; it does not change.
            again: Whether to merge it even if both have pictures in common. Those that are kept
                count once, those that are folded into sums twice.

        Raises:
            AlreadyMergedError: The other learner was merged before, or one is a copy of the other.
            StateError: The other learner has different parts, or the change cannot be written to
                the learner's file.
            InexactError: Classifiers of this kind cannot be merged.
        """
        if not isinstance(other, EmbeddingLearner):
            raise StateError(f"only a learner can be merged, not {other!r}: load it first")
        self.parts.require_mergeable(other.parts)
        if not again and self._state.overlaps(other._state):
            raise AlreadyMergedError
        self._state.merge(other._state, f"merging {other._size()}")

    def save(self, path: FilePath) -> None:
        """Write everything that was learned to a file, atomically.

        The undo history is written to the learner's own file only.

        Args:
            path: The state file to create or replace.

        Raises:
            StateAccessError: The file cannot be written.
        """
        self._state.write(state_path(path))

    def close(self) -> None:
        """Compact the journal and release the lock. A learner in memory has nothing to close."""
        self._state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _whole_id(start: str, known: list[str]) -> str:
    """Return the id that begins with these digits."""
    found = [id for id in known if id.startswith(start)] if start else []
    if len(found) != 1 and start not in known:
        raise UnknownSampleError(start, len(found))
    return start if start in known else found[0]
