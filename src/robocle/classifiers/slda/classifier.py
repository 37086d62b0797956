"""Streaming linear discriminant analysis: class means and one covariance shared by all (eq. 3).

    scores = W z + b,   w_c = C^-1 m_c,   b_c = -1/2 m_c . w_c,   C the shrunk covariance

The way of a lesson: a sample is added to the table of samples and to the sums (`sums`); the next
answer follows it by one rank-one rule per block (`solution`), shrinks the covariance (`shrinkage`),
leaves samples out (`left_out`), and returns what predictions need (`answer`). Everything but the
samples can be computed again from them, and is after any other change.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robocle.blas import one_blas_thread
from robocle.blocks import Blocks, Layout
from robocle.classifiers.embedding_numbers import embedding_numbers
from robocle.classifiers.samples import Matrix, Sample, Vector
from robocle.classifiers.slda.answer import Answer, MeanProducts
from robocle.classifiers.slda.earlier_map import estimated_weight, prior_weight, require_weight
from robocle.classifiers.slda.left_out import MOST, LeaveOneOut, LeftOut, chosen
from robocle.classifiers.slda.shrinkage import Shrinkage, Shrunk, require_shrinkage, shrunk
from robocle.classifiers.slda.solution import Solution
from robocle.classifiers.slda.sums import Lesson, ScatterKind, Sums
from robocle.classifiers.state import ClassifierState
from robocle.classifiers.streaming import StreamingClassifier
from robocle.errors import FeatureError, InexactError, NothingTaughtError, SpecError, StateError
from robocle.spec import require_between, require_choice, require_whole
from robocle.types import Embeddings, Scores

Covariance = Literal["full", "blocks"]
Score = Literal["linear", "cosine"]

KEEP = 10_000
MAX_WORLD = 1000
MOST_LESSONS = 32  # after more lessons without an answer, everything is computed again


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
        keep: How many samples are kept. Beyond, the oldest of the largest class is folded into
            sums: means and one scatter per block. Forgetting a label then leaves its share of that
            scatter. 0: no sample is kept, as in the paper.
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
        require_shrinkage(shrinkage)
        require_whole("keep", keep, 0, 1_000_000_000)
        require_weight(earlier)
        require_between("world", world, 0, MAX_WORLD)
        if world and (score != "cosine" or scatter != "exact"):
            raise SpecError(f"world={world} needs score=cosine and scatter=exact")
        self._layout = Blocks.parse(blocks)
        self.scatter: ScatterKind = scatter
        self.shrinkage: Shrinkage = shrinkage
        self.covariance = covariance
        self.score = score
        self.blocks = self._layout.option
        self.keep = keep
        self.earlier = earlier
        self.world = float(world)
        self._pictures: Embeddings | None = None  # of the world
        self._folded: Sums | None = None  # the sums of samples that are not kept
        self._members: list[list[str]] = []  # the ids of the samples of each class
        self._reset()

    def _reset(self) -> None:
        self._sums: Sums | None = None  # of all samples; None: to be computed from them
        self._lessons: list[Lesson] = []  # since the last answer
        self._solution: Solution | None = None  # None: to be computed from the sums
        self._answer: Answer | None = None

    def _add_row(self) -> None:
        """Do nothing: `_add_to_sums` adds a class."""

    def _learn(self, sample: Vector, row: int) -> None:
        """Do nothing: `_learn_next` adds the sample to the sums."""

    def _checked(self, embeddings: ArrayLike, axes: Literal[1, 2]) -> NDArray[Any]:
        checked = super()._checked(embeddings, axes)
        if self.width is None:
            self._layout.widths(checked.shape[-1])
        return checked

    def _learn_next(self, sample: Sample, current: bool) -> None:
        super()._learn_next(sample, current)
        row = self._row_of[sample.label]
        if row == len(self._members):
            self._members.append([])
        self._members[row].append(sample.id)
        self._answer = None
        if self.keep == 0 or self._sums is not None:
            self._add_to_sums(sample, row)
        while len(self._taught) > self.keep:
            self._fold()

    def _add_to_sums(self, sample: Sample, row: int) -> None:
        if self._sums is None:
            self._sums = self._folded or self._new_sums()
        lesson = self._sums.add(sample.embedding, row)
        if self._solution is not None:
            self._lessons.append(lesson)
            if len(self._lessons) > MOST_LESSONS:
                self._lessons, self._solution = [], None

    def _fold(self) -> None:
        """Keep one sample less: what it adds to the sums remains."""
        if self.scatter == "published":  # it depends on the order of all samples
            folded = next(iter(self._taught.values()))
        else:
            folded = self._taught[max(self._members, key=len)[0]]
        row = self._row_of[folded.label]
        if self.keep == 0:
            self._folded = self._sums
        else:
            self._folded = self._folded or self._new_sums()
            self._folded.add(folded.embedding, row)
        del self._taught[folded.id]
        self._members[row].remove(folded.id)

    def _new_sums(self) -> Sums:
        return Sums(self._widths, self.scatter, self._origin)

    @property
    def _widths(self) -> tuple[int, ...]:
        """The width of each block that has a covariance of its own."""
        width = self.width or 0
        return self._layout.widths(width) if self.covariance == "blocks" else (width,)

    @property
    def _last(self) -> int:
        """How many of these blocks are from the last map."""
        return self._layout.last if self.covariance == "blocks" else 1

    @property
    def forgets_exactly(self) -> bool:
        """Whether forgetting a label also removes its contribution to the covariance."""
        return self._folded is None

    def _replace(
        self, samples: Sequence[Sample], renamed: Mapping[str, str | None] | None = None
    ) -> None:
        if self._folded is None:
            return super()._replace(samples, renamed)
        labels, folded = self._labels.copy(), self._copy_of_folded()
        for old, new in (renamed or {}).items():
            row = labels.index(old)
            if new is None:
                folded.without(row)
            else:
                self._require_exact("joined")
                folded.join(row, labels.index(new))
            del labels[row]
        self._continue(samples, labels, folded)

    def merge(self, other: StreamingClassifier) -> None:
        """Add what another classifier was taught; see `StreamingClassifier.merge`."""
        assert isinstance(other, StreamingLDA) or type(other) is not type(self)
        self._require_mergeable(other)
        theirs = other._folded if isinstance(other, StreamingLDA) else None
        if theirs is None:
            return super().merge(other)
        self._require_exact("merged")
        labels = list(dict.fromkeys([*self._labels, *other._labels]))
        folded = self._copy_of_folded(len(labels), theirs.widths)
        folded.merge(theirs, [labels.index(label) for label in other._labels[: len(theirs.counts)]])
        added = [each for each in other._taught.values() if each.id not in self._taught]
        self._continue([*self._taught.values(), *added], labels, folded)

    def _copy_of_folded(self, classes: int = 0, widths: tuple[int, ...] = ()) -> Sums:
        """Return the folded sums, with at least as many classes."""
        if self._folded is None:
            found = Sums(widths, self.scatter, np.zeros(sum(widths)))
        else:
            found = self._folded.copy()
        found.require_classes(max(classes, len(self._labels)))
        return found

    def _continue(self, samples: Sequence[Sample], labels: Sequence[str], folded: Sums) -> None:
        """Continue with other samples and folded sums, of those labels that have any."""
        taught = {sample.label for sample in samples}
        rows = [row for row, label in enumerate(labels) if folded.counts[row] or label in taught]
        folded.select(rows)
        arrays = folded.arrays() if rows else {}
        self.restore(ClassifierState(tuple(labels[row] for row in rows), tuple(samples), arrays))

    def _require_exact(self, done: str) -> None:
        if self.scatter == "published":
            raise InexactError(
                f"sums of the published scatter cannot be {done}: they depend on the order of all "
                "samples; use scatter=exact"
            )

    def state(self) -> ClassifierState:
        """Return everything that was taught; see `StreamingClassifier.state`."""
        if self._folded is None:
            return super().state()
        folded = self._copy_of_folded().arrays()
        return ClassifierState(self.labels, self.samples, folded)

    def _begin(self, state: ClassifierState, width: int | None) -> None:
        self._reset()
        self.width, self._members = width, [[] for _ in state.folded_counts]
        try:
            widths = self._widths if width else ()
        except FeatureError as error:
            raise StateError(f"state has embeddings of another layout: {error}") from error
        self._folded = Sums.of(state, widths, self.scatter, self._origin) if state.folded else None
        super()._begin(state, width)

    def _make_current(self) -> None:
        if not (self._labels or self._taught):
            raise NothingTaughtError
        if not self._is_current:
            self._reset()
            self._is_current = True

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "world": self._pictures}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        """Continue from what was pickled or copied."""
        super().__setstate__(saved)
        if saved["world"] is not None:
            self.use_world(saved["world"])

    def use_world(self, pictures: ArrayLike) -> None:
        """Use embeddings of pictures of anything, to tell which pictures are familiar.

        They are neither learned nor stored in the state. Without the option `world`, nothing
        changes.

        Args:
            pictures: The embeddings (n, width).

        Raises:
            FeatureError: The embeddings are not made of real, finite numbers.
        """
        if not self.world or pictures is self._pictures:
            return
        self._pictures = np.asarray(embedding_numbers(pictures, 2))
        self._world_mean = self._pictures.mean(axis=0, dtype=np.float64)
        if self._folded is not None:
            self._folded.move(self._origin)
        self._reset()

    @property
    def _uses_world(self) -> bool:
        """Whether there is a world that fits the taught embeddings."""
        return self._pictures is not None and self._pictures.shape[1] == self.width

    @property
    def _origin(self) -> Vector:
        return self._world_mean if self._uses_world else np.zeros(self.width or 0)

    def _scores(self, embeddings: Matrix) -> Scores:
        return self.answer().scores(embeddings)

    def linear(self) -> tuple[Matrix, Vector]:
        """Return W and b with scores = W z + b; see `StreamingClassifier.linear`."""
        return self.answer().linear()

    def answer(self) -> Answer:
        """Return what predictions need, which is computed once after each change.

        Raises:
            NothingTaughtError: Nothing has been taught yet.
        """
        self._make_current()
        if self._answer is None:
            with one_blas_thread():
                self._answer = self._new_answer()
        return self._answer

    def _new_answer(self) -> Answer:
        sums = self._all_sums()
        shrinks = [
            shrunk(each, self.shrinkage, sums.samples, sums.freedom, sums.largest)
            for each in sums.scatters
        ]
        solution = self._followed(sums, shrinks)
        scales, last = np.array([each.scale for each in shrinks]), self._last
        self._scales = scales
        left_out = self._left_out(solution, self._chosen) if self._leaves_out else None
        maps = np.ones(1)
        if len(shrinks) > last:
            maps = np.array([1.0, self._earlier_weight(left_out)])
        weights = scales * np.where(np.arange(len(scales)) < last, 1.0, maps[-1])
        squares, totals = weights @ solution.squares, weights @ solution.totals
        return Answer(
            origin=sums.origin,
            widths=sums.widths,
            blocks=solution.views(),
            weights=weights,
            means=MeanProducts(squares, totals / len(squares)),
            world=self.world if self._uses_world else None,
            is_linear=self.score == "linear",
            world_towards=solution.world_products(weights),
            left_out=left_out,
            maps=maps,
        )

    def _all_sums(self) -> Sums:
        """Return the sums of all samples."""
        if self._sums is None and self.keep == 0:
            self._sums = self._folded
        if self._sums is None:
            sums = self._copy_of_folded() if self._folded is not None else self._new_sums()
            samples = self._taught.values()
            sums.extend((sample.embedding, self._row_of[sample.label]) for sample in samples)
            self._sums = sums
        assert self._sums is not None
        return self._sums

    def _followed(self, sums: Sums, shrinks: Sequence[Shrunk]) -> Solution:
        """Return the solution after all lessons: it follows them where the ridge is the same."""
        known, lessons, means = self._solution, self._lessons, sums.means.view
        self._solution, self._lessons = None, []  # an interrupt must not leave them half changed
        solution = known or Solution(means, sums.widths, self._world_points())
        ridges = [each.relative for each in shrinks]
        followed = [
            number for number, ridge in enumerate(ridges) if solution.has_ridge(number, ridge)
        ]
        for lesson in lessons:
            if lesson.row == solution.classes:
                solution.add_class()
            for number in followed:
                solution.follow(number, lesson)
        if len(followed) == len(ridges):  # at most one factorisation per lesson
            any(solution.renew(number, sums.scatters[number]) for number in followed)
        if self._leaves_out:
            self._chosen = self._track(solution, chosen(list(map(len, self._members))))
        for number in set(range(len(ridges))) - set(followed):
            solution.build(number, sums.scatters[number], ridges[number], means)
        self._solution = solution
        return solution

    def leave_out(self, ids: Sequence[str] | None = None) -> Iterator[LeaveOneOut]:
        """Yield leave-one-out scores in chunks; see `StreamingClassifier.leave_out`."""
        answer, solution = self.answer(), self._solution
        if not self._leaves_out or solution is None:
            return
        if ids is None:
            places = chosen(list(map(len, self._members)), max(MOST, len(self._members)))
        else:
            wanted = set(ids)
            places = [
                (row, index)
                for row, members in enumerate(self._members)
                for index, id in enumerate(members)
                if id in wanted
            ]
        for start in range(0, len(places), MOST):
            with one_blas_thread():
                others = solution.with_other_points()
                tracked = self._track(others, places[start : start + MOST])
                found = answer.scored(self._left_out(others, tracked))
            yield found

    def recognised_without(self, ids: Sequence[str]) -> list[int]:
        """Return how many more of the other samples are recognised without each sample.

        The others are at most 128, evenly chosen.
        """
        self.answer()
        solution, sums = self._solution, self._all_sums()
        if not self._leaves_out or solution is None:
            return super().recognised_without(ids)
        with one_blas_thread():
            right = self._recognised(solution, {})
            return [self._gained(id, solution, sums, right) for id in ids]

    def _gained(self, id: str, solution: Solution, sums: Sums, right: dict[str, bool]) -> int:
        """Return how many more of the chosen samples are recognised without a sample."""
        row = self._row_of[self._taught[id].label]
        count = self._counts[row]
        deviation = self._taught[id].embedding - sums.origin - sums.means.view[row]
        removal = Lesson(row, deviation, -count / (count - 1), -1 / (count - 1))
        without = self._recognised(solution.after(removal), {row: count - 1})
        return sum(without[other] - right[other] for other in right if other != id)

    def _recognised(self, solution: Solution, counts: dict[int, int]) -> dict[str, bool]:
        """Return whether each of the chosen samples is recognised when it is left out.

        Args:
            solution: The products.
            counts: The number of samples of classes where it differs from what was taught.
        """
        before, answer = self._counts, self.answer()
        self._counts = [counts.get(row, count) for row, count in enumerate(before)]
        try:
            left_out = self._left_out(solution, self._chosen)
        finally:
            self._counts = before
        best = answer.scored(left_out).scores.argmax(axis=1)
        right = (best == left_out.rows) | left_out.singleton
        return dict(zip(left_out.ids, right.tolist(), strict=True))

    def _world_points(self) -> Embeddings:
        if self._pictures is None or not self._uses_world:
            return np.empty((0, self.width or 0), np.float32)
        return np.asarray(self._pictures - self._world_mean, np.float32)

    @property
    def _leaves_out(self) -> bool:
        """Whether there are leave-one-out scores."""
        return self.score == "cosine" and self.scatter == "exact" and self.keep > 0

    def _track(self, solution: Solution, places: list[tuple[int, int]]) -> dict[str, int]:
        """Let a solution follow the products of samples, given by class and index.

        Returns:
            The class of each sample by its id, ascending.
        """
        rows = {self._members[row][index]: row for row, index in places}
        samples = {id: self._taught[id] for id in rows}
        solution.track(samples, list(rows.values()), self._all_sums())
        return rows

    def _left_out(self, solution: Solution, samples: dict[str, int]) -> LeftOut:
        """Leave samples out that the solution follows."""
        counts, rows = np.array(self._counts, np.float64), np.array(list(samples.values()), int)
        last, prior = self._last, prior_weight()
        return LeftOut(solution, list(samples), rows, counts, self._scales, last, prior)

    def _earlier_weight(self, left_out: LeftOut | None) -> float:
        if not isinstance(self.earlier, str):
            return float(self.earlier)
        return estimated_weight(left_out, sum(count for count in self._counts if count > 1))
