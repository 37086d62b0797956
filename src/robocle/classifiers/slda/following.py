"""From samples to answers: the sums of all samples and their solution, which follow each lesson.

A lesson is added to the sums at once. The next answer brings the solution up to date: where the
ridge of a block is the same, it follows the lesson by one rank-one rule; otherwise that block is
built again. Samples are then left out, which estimates the weight of the earlier map.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robocle._internal.blas import one_blas_thread
from robocle.classifiers.samples import Matrix, Sample
from robocle.classifiers.slda.answer import Answer
from robocle.classifiers.slda.estimates import (
    PRIOR_WEIGHT,
    Shrinkage,
    Shrunk,
    estimated_weight,
    shrunk,
)
from robocle.classifiers.slda.left_out import LeaveOneOut, LeftOut, chosen
from robocle.classifiers.slda.solution import MOST, Solution
from robocle.classifiers.slda.sums import SampleChange, Sums

MOST_LESSONS = 32  # after more lessons without an answer, the solution is computed again


@dataclass(frozen=True)
class Settings:
    """What answers depend on beside the samples."""

    shrinkage: Shrinkage
    earlier: float | str
    """The weight of the blocks from the earlier map, or `auto`."""
    last: int
    """How many of the blocks are from the last map."""
    is_linear: bool
    """Whether the scores are the paper's."""
    world: float | None
    """How many class means the world's mean counts as; None without a world."""
    leaves_out: bool
    """Whether there are leave-one-out scores."""


class Following:
    """Follows the lessons of a classifier.

    Args:
        settings: What answers depend on beside the samples.
        sums: The sums of all samples.
        samples: The samples that are kept, by id. The caller adds those of later lessons.
        members: Their ids, per class. The caller adds those of later lessons.
        world: The pictures of the world, relative to their mean; they may be none.
        unknown: What was taught as unknown, relative to the same mean.
    """

    def __init__(
        self,
        settings: Settings,
        sums: Sums,
        samples: Mapping[str, Sample],
        members: Sequence[Sequence[str]],
        world: Matrix,
        unknown: Matrix,
    ) -> None:
        self.sums = sums
        self._settings = settings
        self._samples = samples
        self._members = members
        self._world = world
        self._unknown = unknown[-MOST:]
        self._lessons: list[SampleChange] = []  # since the last answer
        self._solution: Solution | None = None  # None: to be computed from the sums
        self._answer: Answer | None = None
        self._scales = np.empty(0)  # of A in each block
        self._chosen: dict[str, int] = {}  # the samples to leave out, and their classes

    def learn(self, sample: Sample, row: int) -> None:
        """Add a sample."""
        lesson = self.sums.add(sample.embedding, row, sample.id)
        self._answer = None
        if self._solution is not None:
            self._lessons.append(lesson)
            if len(self._lessons) > MOST_LESSONS:
                self._lessons, self._solution = [], None

    def learn_unknown(self, embedding: NDArray[Any]) -> None:
        """Add a sample that is none of the classes. The last ones count, MOST of them."""
        point = embedding - self.sums.origin
        gone = len(self._world) if len(self._unknown) == MOST else None  # the oldest one
        self._unknown = np.vstack([self._unknown, point])[-MOST:]
        self._answer = None
        if self._solution is not None:
            self._solution.replace_picture(gone, point)

    def answer(self) -> Answer:
        """Return what predictions need, which is computed once after each lesson."""
        if self._answer is None:
            with one_blas_thread():
                self._answer = self._new_answer()
        return self._answer

    def _new_answer(self) -> Answer:
        sums, settings = self.sums, self._settings
        shrinks = [
            shrunk(each, settings.shrinkage, sums.samples, sums.freedom, sums.largest)
            for each in sums.scatters
        ]
        solution = self._followed(shrinks)
        self._scales = scales = np.array([each.scale for each in shrinks])
        left_out = self._left_out(solution, self._chosen) if settings.leaves_out else None
        maps, earlier = np.ones(1), settings.earlier
        if len(shrinks) > settings.last:
            if isinstance(earlier, str):
                earlier = estimated_weight(left_out, sum(n for n in sums.counts if n > 1))
            maps = np.array([1.0, earlier])
        weights = scales * np.where(np.arange(len(scales)) < settings.last, 1.0, maps[-1])
        return Answer(
            origin=sums.origin,
            parts=sums.parts,
            blocks=solution.views(),
            weights=weights,
            means=solution.mean_products(weights),
            world=settings.world,
            is_linear=settings.is_linear,
            towards=solution.world_products(weights),
            pictures=len(self._world),
            left_out=left_out,
            maps=maps,
        )

    def _followed(self, shrinks: Sequence[Shrunk]) -> Solution:
        """Return the solution after all lessons."""
        sums, known, lessons = self.sums, self._solution, self._lessons
        self._solution, self._lessons = None, []  # an interrupt must not leave them half changed
        # Without a world, points are relative to 0: float32 would lose what tells classes apart.
        pictures, has_world = np.vstack([self._world, self._unknown]), len(self._world) > 0
        solution = known or Solution(sums.means.view, sums.widths, pictures, has_world)
        ridges = [each.ridge for each in shrinks]
        followed = solution.require_ridges(ridges)
        for lesson in lessons:
            if lesson.row == solution.classes:
                solution.add_class()
            for number in followed:
                solution.follow(number, lesson)
        if len(followed) == len(ridges):  # at most one factorisation per lesson
            any(solution.renew(number, sums.scatters[number]) for number in followed)
        if self._settings.leaves_out:
            self._chosen = self._track(solution, chosen(list(map(len, self._members))))
        for number in set(range(len(ridges))).difference(followed):
            solution.build(number, sums.scatters[number], ridges[number], sums.means.view)
        self._solution = solution
        return solution

    def _track(self, solution: Solution, places: list[tuple[int, int]]) -> dict[str, int]:
        """Let a solution follow the products of samples, given by class and index.

        Returns:
            The class of each sample by its id, ascending.
        """
        rows = {self._members[row][index]: row for row, index in places}
        samples = {id: self._samples[id] for id in rows}
        solution.track(samples, list(rows.values()), self.sums)
        return rows

    def _left_out(
        self, solution: Solution, samples: Mapping[str, int], removed: int | None = None
    ) -> LeftOut:
        """Leave samples out that the solution follows.

        Args:
            solution: The solution.
            samples: The class of each sample by its id.
            removed: The class of which the solution has one sample less.
        """
        counts, rows = np.array(self.sums.counts, float), np.array(list(samples.values()), int)
        if removed is not None:
            counts[removed] -= 1
        last, scales = self._settings.last, self._scales
        return LeftOut(solution, list(samples), rows, counts, scales, last, PRIOR_WEIGHT)

    def leave_out(self, ids: Sequence[str] | None) -> Iterator[LeaveOneOut]:
        """Yield leave-one-out scores in chunks; see `StreamingClassifier.leave_out`."""
        answer, solution = self.answer(), self._solution
        if not self._settings.leaves_out or solution is None:
            return
        places = chosen(list(map(len, self._members)), max(MOST, len(self._members)))
        if ids is not None:
            rows = enumerate(self._members)
            place_of = {id: (row, index) for row, own in rows for index, id in enumerate(own)}
            places = sorted(place_of[id] for id in set(ids) if id in place_of)
        for start in range(0, len(places), MOST):
            with one_blas_thread():
                others = solution.with_other_points()
                tracked = self._track(others, places[start : start + MOST])
                found = answer.scored(self._left_out(others, tracked))
            yield found

    def recognised_without(self, ids: Sequence[str]) -> list[int]:
        """Return how many more of the chosen samples are recognised without each sample.

        The shrinkage and the weight of the earlier map stay as they are.
        """
        self.answer()
        if not self._settings.leaves_out or self._solution is None:
            return [0] * len(ids)
        with one_blas_thread():
            right = self._recognised(self._solution, self._chosen)
            return [self._gained(id, self._solution, right) for id in ids]

    def _gained(self, id: str, solution: Solution, right: Mapping[str, bool]) -> int:
        row = next(row for row, members in enumerate(self._members) if id in members)
        count = self.sums.counts[row]
        if count < 2:  # its label would be forgotten, which does not help to recognise it
            return 0
        deviation = self._samples[id].embedding - self.sums.origin - self.sums.means.view[row]
        removal = SampleChange(row, deviation, -count / (count - 1), -1 / (count - 1))
        others = {other: row for other, row in self._chosen.items() if other != id}
        without = self._recognised(solution.after(removal), others, removed=row)
        return sum(without[other] - right[other] for other in others)

    def _recognised(
        self, solution: Solution, samples: Mapping[str, int], removed: int | None = None
    ) -> dict[str, bool]:
        """Return whether each of some samples is recognised when it is left out."""
        left_out = self._left_out(solution, samples, removed)
        best = self.answer().scored(left_out).scores.argmax(axis=1)
        right = (best == left_out.rows) | left_out.singleton
        return dict(zip(left_out.ids, right.tolist(), strict=True))
