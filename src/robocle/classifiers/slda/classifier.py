"""Streaming linear discriminant analysis: class means and one covariance shared by all (eq. 3).

    scores = W z + b,   w_c = C^-1 m_c,   b_c = -1/2 m_c . w_c,   C the shrunk covariance

The path of a lesson through the code: the sample is added to the samples here, and to their sums
(`sums`). The next answer follows it by one rank-one rule per block (`following`, `solution`),
leaves samples out (`left_out`), and returns what predictions need (`answer`). Everything but the
samples, and the sums of those that are not kept, is computed again after any other change.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle._internal.blas import one_blas_thread
from robocle.blocks import Blocks, Layout
from robocle.classifiers.labels import UNKNOWN
from robocle.classifiers.samples import ClassifierState, Matrix, Sample, Vector, embedding_numbers
from robocle.classifiers.slda.answer import Answer
from robocle.classifiers.slda.estimates import Shrinkage
from robocle.classifiers.slda.following import Following, Settings
from robocle.classifiers.slda.left_out import LeaveOneOut
from robocle.classifiers.slda.sums import ScatterKind, Sums
from robocle.classifiers.streaming import StreamingClassifier
from robocle.classifiers.taught import Taught
from robocle.errors import FeatureError, SpecError, StateError
from robocle.spec import require_between, require_choice, require_number_or, require_whole
from robocle.types import Scores

Covariance = Literal["full", "blocks"]
Score = Literal["linear", "cosine"]

KEEP = 10_000
MAX_WORLD = 1000


class StreamingLDA(StreamingClassifier):
    """Linear discriminant analysis with streaming means and one shared covariance.

    Args:
        scatter: `exact`: the within-class scatter, as it would be computed from all samples at
            once. `published`: the update of the paper and of the public code.
        shrinkage: The weight of the identity in the covariance (1e-4 in the paper), or `oas`, which
            estimates it, or `stepped`: `oas` rounded to steps, between which answers follow each
            sample without a new solution.
        covariance: `full`, or `blocks`: zero between the pooling's blocks.
        score: `linear`: the paper's discriminant. `cosine`: the cosine between z and m_c under
            C^-1, relative to the mean of the class means. The linear score compares |m_c|^2 between
            classes, a length that few shots estimate badly.
        blocks: The number of blocks in an embedding, or their layout, such as 3+2x672. A learner
            sets it from its pooling and its backbone.
        keep: How many samples are kept. Beyond, the oldest of the largest class (of all with
            `published`) is folded into sums: means and one scatter per block. Forgetting a label
            then leaves its share of that scatter. 0: no sample is kept, as in the paper.
        earlier: The weight in the scores of the blocks from the earlier map, or `auto`, which
            estimates it from left-out samples.
        world: How many class means the world's mean counts as in the origin of the familiarity,
            from 0 to 1000, once `use_world` has set it. 0: no world is used.

    >>> clf = StreamingLDA(shrinkage=0.1)
    >>> for embedding in ([0, 0], [1, 0]):
    ...     clf.learn(embedding, "mug")
    >>> for embedding in ([0, 3], [1, 3]):
    ...     clf.learn(embedding, "pan")
    >>> clf.predict([[9, 1], [9, 2]])
    ['mug', 'pan']
    """

    FOLDS: ClassVar[bool] = True

    def __init__(
        self,
        scatter: ScatterKind = "exact",
        shrinkage: Shrinkage = "oas",
        covariance: Covariance = "full",
        score: Score = "linear",
        blocks: Layout = 1,
        keep: int = KEEP,
        earlier: float | Literal["auto"] = "auto",
        world: float = 0.0,
    ) -> None:
        super().__init__()
        require_choice("scatter", scatter, get_args(ScatterKind))
        require_choice("covariance", covariance, get_args(Covariance))
        require_choice("score", score, get_args(Score))
        require_number_or("shrinkage", shrinkage, 1e-9, 1, ("oas", "stepped"))
        require_whole("keep", keep, 0, 1_000_000_000)
        require_number_or("earlier", earlier, 0, 16, ("auto",))
        require_between("world", world, 0, MAX_WORLD)
        if world and (score != "cosine" or scatter != "exact"):
            raise SpecError(f"world={world} needs score=cosine and scatter=exact")
        self._layout = Blocks.parse(blocks)
        self._covariances = self._layout if covariance == "blocks" else Blocks(1)
        self.scatter: ScatterKind = scatter
        self.shrinkage: Shrinkage = shrinkage
        self.covariance = covariance
        self.score = score
        self.blocks = self._layout.option
        self.keep = keep
        self.earlier = earlier
        self.world = float(world)
        self._given: object = None  # what `use_world` was called with
        self._world_mean: Vector = np.empty(0)
        # The sums of samples that are not kept. With keep=0, the sums that `_following` adds to.
        self._folded: Sums | None = None
        self._members: list[list[str]] = []  # the ids of the samples of each class
        self._unknown = 0  # how many samples were taught as unknown
        self._following: Following | None = None  # None: to be computed from the samples

    def _reset(self) -> None:
        self._following = None

    def _learn(self, sample: Vector, row: int) -> None:
        """Do nothing: `_learn_next` adds the sample to the sums."""

    def _checked(self, embeddings: ArrayLike, axes: Literal[1, 2]) -> NDArray[Any]:
        checked = super()._checked(embeddings, axes)
        if self.width is None:
            self._layout.widths(checked.shape[-1])
        return checked

    def _learn_next(self, sample: Sample, current: bool) -> None:
        super()._learn_next(sample, current)
        if sample.label == UNKNOWN:
            self._unknown += 1
            if self._following is not None:
                self._following.learn_unknown(sample.embedding)
            return
        row = self._row_of[sample.label]
        if row == len(self._members):
            self._members.append([])
            if self._folded is not None:
                self._folded.require_classes(len(self._labels))
        self._members[row].append(sample.id)
        if self.keep == 0 and self._following is None:
            self._following = self._new_following()
        if self._following is not None:
            self._following.learn(sample, row)
        while len(self._taught) - self._unknown > self.keep:
            self._fold()

    def _fold(self) -> None:
        """Keep one sample less: what it adds to the sums remains."""
        if self.scatter == "published":  # it depends on the order of all samples
            folded = next(each for each in self._taught.values() if each.label != UNKNOWN)
        else:
            folded = self._taught[max(self._members, key=len)[0]]
        row = self._row_of[folded.label]
        if self.keep == 0 and self._following is not None:
            self._folded = self._following.sums
        else:
            self._folded = self._folded or self._new_sums()
            self._folded.require_classes(len(self._labels))
            self._folded.add(folded.embedding, row)
        del self._taught[folded.id]
        self._members[row].remove(folded.id)

    def _new_sums(self) -> Sums:
        return Sums(self._widths, self.scatter, self._origin)

    def _new_following(self) -> Following:
        """Return what follows the next lessons, with the sums of all samples that are kept."""
        if self.keep == 0:  # all sums are folded: those are the same
            sums = self._folded or self._new_sums()
        else:
            sums = self._folded.copy() if self._folded is not None else self._new_sums()
            for sample in self._taught.values():
                if sample.label != UNKNOWN:
                    sums.add(sample.embedding, self._row_of[sample.label])
        settings = Settings(
            self.shrinkage,
            self.earlier,
            self._covariances.last,
            self.score == "linear",
            self.world if self._uses_world else None,
            leaves_out=self.score == "cosine" and self.scatter == "exact" and self.keep > 0,
        )
        points = self._world_points(), self._unknown_points()
        return Following(settings, sums, self._taught, self._members, *points)

    @property
    def _widths(self) -> tuple[int, ...]:
        """The width of each block that has a covariance of its own."""
        return self._covariances.widths(self.width or 0)

    @property
    def forgets_exactly(self) -> bool:
        """Whether forgetting a label also removes its contribution to the covariance."""
        return self._folded is None

    def _replace(
        self, samples: Sequence[Sample], renamed: Mapping[str, str | None] | None = None
    ) -> None:
        if self._folded is None:
            return super()._replace(samples, renamed)
        labels, folded = self._labels, self._folded.copy()
        for old, new in (renamed or {}).items():
            if new is None:
                folded.counts[labels.index(old)] = 0
            else:
                folded.join(labels.index(old), labels.index(new))
        self._continue(samples, labels, folded)

    def merge(self, other: Taught) -> None:
        """Add what another classifier was taught; see `Taught.merge`."""
        self._require_mergeable(other)
        theirs = other._folded if isinstance(other, StreamingLDA) else None
        if theirs is None:
            return super().merge(other)
        labels = list(dict.fromkeys([*self._labels, *other._labels]))
        folded = (self._folded or theirs.nothing()).copy()
        folded.require_classes(len(labels))
        folded.merge(theirs, [labels.index(label) for label in other._labels])
        added = [each for each in other._taught.values() if each.id not in self._taught]
        self._continue([*self._taught.values(), *added], labels, folded)

    def _continue(self, samples: Sequence[Sample], labels: Sequence[str], folded: Sums) -> None:
        """Continue with other samples and folded sums, of those labels that have any."""
        taught = {sample.label for sample in samples}
        rows = [row for row, label in enumerate(labels) if folded.counts[row] or label in taught]
        folded.select(rows)
        arrays = folded.arrays() if rows else {}
        self.restore(ClassifierState(tuple(labels[row] for row in rows), tuple(samples), arrays))

    def state(self) -> ClassifierState:
        """Return everything that was taught; see `Taught.state`."""
        if self._folded is None:
            return super().state()
        return ClassifierState(self.labels, self.samples, self._folded.arrays())

    def _begin(self, state: ClassifierState, width: int | None) -> None:
        self._following = None
        self.width, self._members = width, [[] for _ in state.folded_counts]
        self._unknown = 0
        try:
            widths = self._widths if width else ()
        except FeatureError as error:
            raise StateError(f"state has embeddings of another layout: {error}") from error
        self._folded = Sums.of(state, widths, self.scatter, self._origin) if state.folded else None
        super()._begin(state, width)

    def _make_current(self) -> None:
        self._require_taught()
        if not self._is_current:
            self._following = None
            known = sum(map(len, self._members))
            if known + self._unknown != len(self._taught):  # after an interrupt
                self._begin(self.state(), self.width)
            self._is_current = True

    def use_world(self, pictures: ArrayLike) -> None:
        """Use embeddings of pictures of anything, to tell which pictures are familiar.

        They are neither learned nor stored in the state. Without the option `world`, nothing
        changes.

        Args:
            pictures: The embeddings (n, width).

        Raises:
            FeatureError: The embeddings are not made of real, finite numbers.
        """
        if not self.world or pictures is self._given:
            return
        found = embedding_numbers(pictures, 2)
        self._given = pictures
        # The caller may go on with its array.
        self._world_pictures = found.copy() if found.flags.writeable else found
        self._world_mean = self._world_pictures.mean(axis=0, dtype=np.float64)
        if self._folded is not None:
            self._folded.move(self._origin)
        self._following = None

    @property
    def _uses_world(self) -> bool:
        """Whether there is a world that fits the taught embeddings."""
        return self._world_pictures is not None and self._world_pictures.shape[1] == self.width

    @property
    def _origin(self) -> Vector:
        return self._world_mean if self._uses_world else np.zeros(self.width or 0)

    def _world_points(self) -> Matrix:
        if self._world_pictures is None or not self._uses_world:
            return np.empty((0, self.width or 0))
        return self._world_pictures - self._world_mean

    def _unknown_points(self) -> Matrix:
        """Return what was taught as unknown, relative to the origin."""
        found = [each.embedding for each in self._taught.values() if each.label == UNKNOWN]
        return np.array(found, np.float64).reshape(len(found), self.width or 0) - self._origin

    def _current(self) -> Following:
        """Return what has followed all lessons.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        self._make_current()
        if self._following is None:
            with one_blas_thread():
                self._following = self._new_following()
        return self._following

    def answer(self) -> Answer:
        """Return what predictions need, which is computed once after each change.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        following, self._following = self._current(), None  # an interrupt may leave it half changed
        found, self._following = following.answer(), following
        return found

    def _scores(self, embeddings: Matrix) -> Scores:
        return self.answer().scores(embeddings)

    def linear(self) -> tuple[Matrix, Vector]:
        """Return W and b with scores = W z + b; see `StreamingClassifier.linear`."""
        return self.answer().linear()

    def leave_out(self, ids: Sequence[str] | None = None) -> Iterator[LeaveOneOut]:
        """Yield leave-one-out scores in chunks; see `StreamingClassifier.leave_out`."""
        self._require_samples(ids or ())
        return self._current().leave_out(ids)

    def recognised_without(self, ids: Sequence[str]) -> list[int]:
        """Return how many more of at most 128 other samples are recognised without each sample."""
        self._require_samples(ids)
        return self._current().recognised_without(ids)
