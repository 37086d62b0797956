"""The classifiers of the paper in plain float64, by the formulas of the code that it builds on.

https://github.com/tyler-hayes/Embedded-CL allocates all classes at the start and solves everything
anew at each prediction. These references do the same, written from its formulas. The index of a
class is its row; classes are first taught in the order 0, 1, 2... A class without samples has no
score there, so `scores` has one column per class taught. SQDA is not in that code: it follows
the paper's description.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Stored = tuple[bytes, int]
"""A stored sample and its class."""


class Reference(Protocol):
    """A classifier whose classes are numbers."""

    def learn(self, sample: Floats, row: int) -> None: ...
    def scores(self, queries: Floats) -> Floats: ...


class NearestMean:
    """NCM: minus the squared distance to the running mean."""

    def __init__(self, classes: int, width: int) -> None:
        self.means = np.zeros((classes, width))
        self.counts = np.zeros(classes)

    @property
    def seen(self) -> int:
        return int((self.counts > 0).sum())

    def learn(self, sample: Floats, row: int) -> None:
        self.means[row] += (sample - self.means[row]) / (self.counts[row] + 1)
        self.counts[row] += 1

    def scores(self, queries: Floats) -> Floats:
        return np.array([[-((q - m) ** 2).sum() for m in self.means[: self.seen]] for q in queries])


class OneVersusRest(NearestMean):
    """SOvR: p / (p + q), q by the count-weighted mean of the means of the other classes."""

    def scores(self, queries: Floats) -> Floats:
        scores = np.empty((len(queries), self.seen))
        for row in range(self.seen):
            p, q = queries @ self.means[row], np.zeros(len(queries))
            others = [other for other in range(self.seen) if other != row]
            for other in others:
                q += self.counts[other] / self.counts[others].sum() * (queries @ self.means[other])
            whole = p + q
            scores[:, row] = np.divide(p, whole, out=np.full_like(p, 0.5), where=whole != 0)
        return scores


class Perceptron(NearestMean):
    """The first sample of a class becomes its weights; later only mistakes change weights."""

    def learn(self, sample: Floats, row: int) -> None:
        self.counts[row] += 1
        if self.counts[row] == 1:
            self.means[row] = sample
            return
        predicted = int((self.means[: self.seen] @ sample).argmax())
        if predicted != row:
            self.means[row] += sample
            self.means[predicted] -= sample

    def scores(self, queries: Floats) -> Floats:
        return np.asarray(queries @ self.means[: self.seen].T)


class NaiveBayes(NearestMean):
    """SNB: a variance per class with n - 1, but the score of a variance that all classes share."""

    def __init__(self, classes: int, width: int, shrinkage: float = 1e-4) -> None:
        super().__init__(classes, width)
        self.shrinkage = shrinkage
        self.samples: list[list[Floats]] = [[] for _ in range(classes)]

    def learn(self, sample: Floats, row: int) -> None:
        super().learn(sample, row)
        self.samples[row].append(sample)

    def scores(self, queries: Floats) -> Floats:
        columns = []
        for row in range(self.seen):
            own = np.array(self.samples[row])
            variance = own.var(axis=0, ddof=1) if len(own) > 1 else np.zeros(own.shape[1])
            inverse = np.linalg.inv(
                (1 - self.shrinkage) * np.diag(variance) + self.shrinkage * np.eye(own.shape[1])
            )
            weights = inverse @ self.means[row]
            columns.append(queries @ weights - 0.5 * self.means[row] @ weights)
        return np.array(columns).T


class StreamingLda(NearestMean):
    """SLDA: the covariance first, by the mean before the sample and the count of all samples."""

    def __init__(self, classes: int, width: int, shrinkage: float = 1e-4) -> None:
        super().__init__(classes, width)
        self.shrinkage = shrinkage
        self.covariance = np.zeros((width, width))
        self.taught = 0

    def learn(self, sample: Floats, row: int) -> None:
        n, away = self.taught, sample - self.means[row]
        delta = n / (n + 1) * np.outer(away, away)
        self.covariance = (n * self.covariance + delta) / (n + 1)
        self.taught += 1
        super().learn(sample, row)

    def scores(self, queries: Floats) -> Floats:
        identity = np.eye(len(self.covariance))
        inverse = np.linalg.pinv((1 - self.shrinkage) * self.covariance + self.shrinkage * identity)
        means = self.means[: self.seen]
        weights = inverse @ means.T
        return np.asarray(queries @ weights - 0.5 * (means.T * weights).sum(axis=0))


class StreamingQda(NaiveBayes):
    """SQDA, by full covariances: each shrunk to the shared one, and both to the identity."""

    def __init__(
        self, classes: int, width: int, shared: float = 0.5, shrinkage: float = 1e-4
    ) -> None:
        super().__init__(classes, width, shrinkage)
        self.shared = shared

    def scores(self, queries: Floats) -> Floats:
        own = [np.array(samples) for samples in self.samples[: self.seen]]
        scatters = [(them - them.mean(axis=0)).T @ (them - them.mean(axis=0)) for them in own]
        common = np.sum(scatters, axis=0) / self.counts.sum()
        columns = []
        for them, scatter in zip(own, scatters, strict=True):
            mixed = (1 - self.shared) * scatter / len(them) + self.shared * common
            covariance = (1 - self.shrinkage) * mixed + self.shrinkage * np.eye(len(mixed))
            inverse = np.linalg.inv(covariance)
            squares = np.array([d @ inverse @ d for d in queries - them.mean(axis=0)])
            columns.append(-0.5 * (squares + np.linalg.slogdet(covariance).logabsdet))
        return np.array(columns).T


class Centroids:
    """CBCL: lists of centroids and their counts per class, merged by Ward's rule."""

    def __init__(self, classes: int, threshold: float, limit: int, k: int) -> None:
        self.threshold, self.limit, self.k = threshold, limit, k
        self.places: list[list[Floats]] = [[] for _ in range(classes)]
        self.sizes: list[list[float]] = [[] for _ in range(classes)]

    def learn(self, sample: Floats, row: int) -> None:
        places, sizes = self.places[row], self.sizes[row]
        near = [float(np.linalg.norm(place - sample)) for place in places]
        if near and min(near) < self.threshold:
            # The code takes the argmin of the one number min(near): always the first centroid.
            places[0] = (sizes[0] * places[0] + sample) / (sizes[0] + 1)
            sizes[0] += 1
        else:
            places.append(sample)
            sizes.append(1)
        if sum(len(each) for each in self.places) > self.limit:
            self.merge()

    def merge(self) -> None:
        """Merge the two nearest centroids of a class: the later one takes the place of both."""
        pairs = [
            (float(np.linalg.norm(places[one] - places[other])), row, one, other)
            for row, places in enumerate(self.places)
            for other in range(len(places))
            for one in range(other)
        ]
        if not pairs:
            return  # the code fails here; ours keeps one centroid per class
        _, row, one, other = min(pairs)
        places, sizes = self.places[row], self.sizes[row]
        total = sizes[one] + sizes[other]
        places[other] = (sizes[one] * places[one] + sizes[other] * places[other]) / total
        sizes[other] = total
        del places[one], sizes[one]

    def scores(self, queries: Floats) -> Floats:
        counts = [sum(sizes) for sizes in self.sizes if sizes]
        scores = np.zeros((len(queries), len(counts)))
        for query, votes in zip(queries, scores, strict=True):
            near = [
                (float(np.linalg.norm(place - query)), row)
                for row, places in enumerate(self.places)
                for place in places
            ]
            for distance, row in sorted(near)[: self.k]:
                votes[row] += 1 / distance
        return np.asarray(scores * np.array(counts))


class Softmax:
    """FT: a softmax over all classes from the start; SGD with momentum and weight decay."""

    def __init__(self, weights: Floats, rate: float = 0.001) -> None:
        """Take the initial weights, one row per class; the code draws them from N(0, 0.01)."""
        self.weights, self.biases = weights.copy(), np.zeros(len(weights))
        self.momenta, self.bias_momenta = np.zeros_like(weights), np.zeros(len(weights))
        self.rate = rate
        self.seen = 0

    def step(self, batch: Floats, rows: list[int]) -> None:
        weights, biases = np.zeros_like(self.weights), np.zeros_like(self.biases)
        for sample, row in zip(batch, rows, strict=True):
            logits = self.weights @ sample + self.biases
            errors = np.exp(logits - logits.max())
            errors /= errors.sum()
            errors[row] -= 1
            weights += np.outer(errors, sample) / len(rows)
            biases += errors / len(rows)
        self.momenta = 0.9 * self.momenta + weights + 1e-5 * self.weights
        self.bias_momenta = 0.9 * self.bias_momenta + biases + 1e-5 * self.biases
        self.weights = self.weights - self.rate * self.momenta
        self.biases = self.biases - self.rate * self.bias_momenta
        self.seen = max(self.seen, *(row + 1 for row in rows))

    def learn(self, sample: Floats, row: int) -> None:
        self.step(sample[None], [row])

    def scores(self, queries: Floats) -> Floats:
        return np.asarray(queries @ self.weights[: self.seen].T + self.biases[: self.seen])


class Replay(Softmax):
    """iCaRL as the code has it. What it draws at random is given, and checked to be possible."""

    def __init__(self, weights: Floats, limit: int, rate: float = 0.001) -> None:
        super().__init__(weights, rate)
        self.limit = limit
        self.stored: list[Stored] = []

    def replay(self, batch: Floats, rows: list[int], stored_after: list[Stored]) -> None:
        """Learn the first sample of a batch; the rest of it was drawn from the buffer."""
        drawn = [(sample.tobytes(), row) for sample, row in zip(batch[1:], rows[1:], strict=True)]
        assert len(drawn) == len(set(drawn)) == min(50, len(self.stored))
        assert set(drawn) <= set(self.stored)
        self.step(batch, rows)
        self.stored.append((batch[0].tobytes(), rows[0]))
        removed = set(self.stored) - set(stored_after)
        assert len(removed) == (len(self.stored) >= self.limit)
        sizes = np.bincount([row for _, row in self.stored])
        assert all(row == sizes.argmax() for _, row in removed)
        self.stored = [each for each in self.stored if each not in removed]
        assert set(self.stored) == set(stored_after)
