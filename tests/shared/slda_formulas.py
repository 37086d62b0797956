"""SLDA by plain formulas: dense matrices in float64, computed from all samples at once.

Nothing here follows a lesson or updates an inverse. A sample is left out by computing everything
from the others, with the share and the ridge of all samples.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robocle.classifiers.samples import Sample
from robocle.classifiers.slda import StreamingLDA
from slda_samples import World, assert_close

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
CANDIDATES = [0, 0.125, 0.25, 0.5, 1, 2, 4]  # weights of the earlier map
PRIOR = [1, 1, 1, 1, 1, 0.5, 0.25]


class Formulas:
    """What a classifier with these options must compute from these samples.

    Args:
        clf: A classifier with the options; what it was taught does not matter.
        samples: The samples, in the order in which they were taught.
        world: The pictures of the world; None for none.
    """

    def __init__(self, clf: StreamingLDA, samples: Sequence[Sample], world: World = None) -> None:
        self.clf = clf
        self.ids = [sample.id for sample in samples]
        self.labels = list(dict.fromkeys(sample.label for sample in samples))
        self.rows = np.array([self.labels.index(sample.label) for sample in samples])
        self.points = np.array([sample.embedding for sample in samples], np.float64)
        self.counts = np.bincount(self.rows)
        self.weight_of_world = clf.world if world is not None else 0.0
        width = self.points.shape[1]
        self.world_mean = np.zeros(width) if world is None else world.astype(np.float64).mean(0)
        self.blocks, self.last = _blocks(str(clf.blocks), width, clf.covariance)
        self._without: dict[str, tuple[int, Floats, Floats, Floats]] = {}
        everything = self.scatter(np.ones(len(samples), bool))
        self.shrunk = [self._shrunk(everything[np.ix_(block, block)]) for block in self.blocks]

    def means(self, kept: Flags) -> Floats:
        sums = np.zeros((len(self.labels), self.points.shape[1]))
        np.add.at(sums, self.rows[kept], self.points[kept])
        return np.asarray(sums / np.bincount(self.rows[kept])[:, None])

    def scatter(self, kept: Flags) -> Floats:
        if self.clf.scatter == "exact":
            apart = self.points[kept] - self.means(kept)[self.rows[kept]]
            return np.asarray(apart.T @ apart)
        total = np.zeros((self.points.shape[1],) * 2)
        for before, (point, row) in enumerate(zip(self.points, self.rows, strict=True)):
            own = self.points[:before][self.rows[:before] == row]
            apart = point - (own.mean(axis=0) if len(own) else 0.0)
            total += before / (before + 1) * np.outer(apart, apart)
        return total

    def _shrunk(self, scatter: Floats) -> tuple[float, float]:
        """Return the share of the scatter and the ridge."""
        samples, width, shrinkage = len(self.points), len(scatter), self.clf.shrinkage
        if not isinstance(shrinkage, str):
            return (1 - shrinkage) / samples, shrinkage
        trace, square = float(np.trace(scatter)), float((scatter**2).sum())
        longest = float(((self.points - self.world_mean) ** 2).sum(axis=1).max())
        if trace <= 1e-24 * samples * longest:
            return 0.0, 1.0
        freedom = samples - (len(self.labels) if self.clf.scatter == "exact" else 0)
        spread = (freedom + 1 - 2 / width) * (square - trace**2 / width)
        rho = ((1 - 2 / width) * square + trace**2) / spread if spread > 0 and width > 1 else 1.0
        share, ridge = (1 - min(1.0, rho)) / samples, min(1.0, rho) * trace / samples / width
        if shrinkage == "stepped" and share > 0:
            relative = math.sqrt(2) ** round(2 * math.log2(ridge / share))
            share = trace / (trace + relative * width) / samples
            ridge = share * relative
        return share, ridge

    def maps(self, kept: Flags) -> Floats:
        """Return the inverse of the shrunk covariance in each map: zero outside its blocks."""
        scatter = self.scatter(kept)
        found = np.zeros((2, *scatter.shape))
        for number, (block, (share, ridge)) in enumerate(
            zip(self.blocks, self.shrunk, strict=True)
        ):
            place = np.ix_(block, block)
            covariance = share * scatter[place] + ridge * np.eye(len(block))
            found[int(number >= self.last)][place] = np.linalg.inv(covariance)
        return found

    def cosines(self, z: Floats, means: Floats, inverse: Floats, world: float) -> Floats:
        """Return (z - f) A (m - f) / |m - f|, where the world's mean has a weight in f."""
        lengths = self.lengths(means, inverse, world)
        origin = self.origin(means, world)
        along = (z - origin) @ inverse @ (means - origin).T
        return np.asarray(along / np.where(lengths > 0, lengths, np.inf))

    def lengths(self, means: Floats, inverse: Floats, world: float) -> Floats:
        """Return |m - f|, or 0 if that is rounding error."""
        apart, points = means - self.origin(means, world), means - self.world_mean
        squares = (apart @ inverse * apart).sum(axis=1)
        largest = (points @ inverse * points).sum(axis=1).max()
        return np.sqrt(np.where(squares > 1e-12 * largest, squares, 0))

    def origin(self, means: Floats, world: float) -> Floats:
        """Return the mean of the class means and the world's mean, which has a weight."""
        return np.asarray((means.sum(axis=0) + world * self.world_mean) / (len(means) + world))

    def everything(self, earlier: float) -> tuple[Floats, Floats]:
        """Return the class means and the inverse, with this weight of the earlier map."""
        kept = np.ones(len(self.points), bool)
        return self.means(kept), np.tensordot([1, earlier], self.maps(kept), 1)

    def scores(self, z: Floats, earlier: float) -> Floats:
        """Return the scores of queries."""
        means, inverse = self.everything(earlier)
        if self.clf.score == "linear":
            return np.asarray(z @ inverse @ means.T - np.diag(means @ inverse @ means.T) / 2)
        return self.cosines(z, means, inverse, 0)

    def familiarity(self, z: Floats, earlier: float) -> Floats:
        """Return the familiarity of queries."""
        scores = self.cosines(z, *self.everything(earlier), self.weight_of_world)
        return np.asarray(scores.max(axis=1))

    def without(self, id: str) -> tuple[int, Floats, Floats, Floats]:
        """Return the row of a sample, its embedding, and the means and maps without it."""
        if id not in self._without:
            place, kept = self.ids.index(id), np.ones(len(self.points), bool)
            row = int(self.rows[place])
            kept[place] = self.counts[row] == 1  # the only sample of a label stays
            self._without[id] = row, self.points[place], self.means(kept), self.maps(kept)
        return self._without[id]

    def leave_one_out(
        self, ids: Sequence[str], earlier: float, columns: Flags | None = None
    ) -> tuple[Floats, Floats, Floats]:
        """Return scores, familiarity, and familiarity for others of samples that are left out.

        Args:
            ids: The samples.
            earlier: The weight of the earlier map.
            columns: (samples, classes): what each sample is scored for; None for everything.
        """
        scores, familiarity, others = [], [], []
        scored = np.ones((len(ids), len(self.labels)), bool) if columns is None else columns
        for mask, (row, z, means, maps) in zip(scored, map(self.without, ids), strict=True):
            inverse, world = np.tensordot([1, earlier], maps, 1), self.weight_of_world
            scores.append(np.where(mask, self.cosines(z, means, inverse, 0), -np.inf))
            familiarity.append(self.cosines(z, means, inverse, world)[mask].max())
            if len(means) > (1 if world else 2):
                rest = self.cosines(z, np.delete(means, row, 0), inverse, world)
                others.append(rest[np.delete(mask, row)].max())
        return np.array(scores), np.array(familiarity), np.array(others)

    def earlier_weight(self, ids: Sequence[str], columns: Flags | None = None) -> float:
        """Return the weight of the earlier map that these samples suggest, left out."""
        if not isinstance(self.clf.earlier, str):
            return self.clf.earlier
        single = {id for id, row in zip(self.ids, self.rows, strict=True) if self.counts[row] == 1}
        mask = np.ones((len(ids), len(self.labels)), bool) if columns is None else columns
        mask = mask[[id not in single for id in ids]]
        ids = [id for id in ids if id not in single]
        posterior = np.array(PRIOR)
        if ids and len(self.labels) > 1:
            alike = min(self.counts[self.counts > 1].sum() / len(ids), 4)
            losses = np.array([self._loss(ids, mask, weight) for weight in CANDIDATES])
            posterior = posterior * np.exp(alike * (losses.min() - losses))
        return float((posterior @ np.sqrt(CANDIDATES) / posterior.sum()) ** 2)

    def _loss(self, ids: Sequence[str], columns: Flags, weight: float) -> float:
        """Return the negative log likelihood of the labels, each among the 32 best others."""
        own, others = [], []
        for mask, (row, z, means, maps) in zip(columns, map(self.without, ids), strict=True):
            scores = self.cosines(z, means, maps[0] + weight * maps[1], 0)
            own.append(scores[row])
            others.append(np.sort(np.delete(scores, row)[np.delete(mask, row)])[-32:])
        scale = max(0.1 * float(np.mean(np.abs(own))), 1e-300)
        margins = [(best - mine) / scale for mine, best in zip(own, others, strict=True)]
        return sum(float(np.logaddexp.reduce([0.0, *each])) for each in margins)


def _blocks(layout: str, width: int, covariance: str) -> tuple[list[NDArray[np.int64]], int]:
    """Return the columns of each block, and how many blocks are from the last map."""
    if covariance == "full":
        return [np.arange(width)], 1
    last, _, earlier = layout.partition("+")
    number, _, narrow = earlier.partition("x")
    start = width - int(number or 0) * int(narrow or 0)
    blocks = np.split(np.arange(start), int(last))
    return [*blocks, *(np.split(np.arange(start, width), int(number)) if number else [])], int(last)


def assert_formulas(clf: StreamingLDA, samples: Sequence[Sample], world: World = None) -> None:
    """Check everything that a classifier answers against the formulas.

    The classifier chooses which samples it leaves out and, with many labels, what for.
    """
    formulas, answer, left = Formulas(clf, samples, world), clf.answer(), clf.answer().leave_one_out
    assert list(clf.labels) == formulas.labels
    assert list(clf.counts.values()) == formulas.counts.tolist()
    columns = left.scores > -np.inf if left is not None else None
    assert columns is None or columns.all() or len(clf.labels) > 256
    earlier = formulas.earlier_weight(left.ids if left is not None else [], columns)
    has_earlier = len(formulas.blocks) > formulas.last
    assert_close(answer.maps, np.array([1.0, earlier][: 1 + has_earlier]), 1e-6)
    queries = np.random.default_rng(7).normal(0.5, 0.7, (6, formulas.points.shape[1]))
    scores, familiarity = answer.scores_and_familiarity(queries)
    expected = formulas.scores(queries, earlier)
    assert_close(scores, expected, 1e-6)
    best = expected[np.arange(len(queries)), scores.argmax(axis=1)]
    assert_close(best, expected.max(axis=1), 1e-6)  # the labels are equal, apart from ties
    weights, bias = clf.linear()
    assert_close(queries @ weights.T + bias, scores, 1e-6)
    if clf.score == "cosine":
        assert_close(familiarity, formulas.familiarity(queries, earlier), 1e-6)
        of_all, weight = formulas.everything(earlier), formulas.weight_of_world
        assert_close(answer.lengths, formulas.lengths(*of_all, 0), 1e-6)
        assert_close(answer.familiarity_lengths, formulas.lengths(*of_all, weight), 1e-6)
    if world is not None:
        assert answer.world_familiarity is not None
        familiar = formulas.familiarity(world.astype(np.float64), earlier)
        assert_close(answer.world_familiarity, familiar, 5e-7)  # in float32
    if left is not None:
        wanted = formulas.leave_one_out(left.ids, earlier, columns)
        found = left.scores, left.familiarity, answer.for_others
        for mine, theirs in zip(found, wanted, strict=True):
            assert_close(mine, theirs, 1e-6)
        rows = [formulas.rows[formulas.ids.index(id)] for id in left.ids]
        assert left.rows.tolist() == rows == sorted(rows)
        assert left.singleton.tolist() == (formulas.counts[rows] == 1).tolist()
