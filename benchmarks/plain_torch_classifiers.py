"""Every classifier as one would write it in PyTorch: what ours are measured against and agree with.

Room for all classes from the start, full width x width matrices, inverses at each prediction. The
only cleverness is none; the only kindness, that a class not met yet is left out by a slice.
"""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from robocle.randomness import keyed_rng

REPLAYED = 50


class PlainClassifier(Protocol):
    """What a benchmark needs of a reference; rows are met in the order 0, 1, 2..."""

    def learn(self, vector: Tensor, row: int) -> None: ...
    def scores(self, vectors: Tensor) -> Tensor: ...


class PlainMeans:
    """Running class means; by themselves they are NCM."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        self.width = width
        self.dtype = dtype
        self.room = torch.zeros(classes, width, dtype=dtype)
        self.counts = torch.zeros(classes, dtype=dtype)
        self.met = 0

    @property
    def means(self) -> Tensor:
        return self.room[: self.met]

    def learn(self, vector: Tensor, row: int) -> None:
        self.room[row] += (vector - self.room[row]) / (self.counts[row] + 1)
        self.counts[row] += 1
        self.met = max(self.met, row + 1)

    def scores(self, vectors: Tensor) -> Tensor:
        return -((vectors[:, None] - self.means[None]) ** 2).sum(2)


class PlainSOvR(PlainMeans):
    def scores(self, vectors: Tensor) -> Tensor:
        counts = self.counts[: self.met]
        own = vectors @ self.means.T
        sums = own * counts
        rest = (sums.sum(1, keepdim=True) - sums) / (counts.sum() - counts)
        return own / (own + rest)


class PlainNaiveBayes(PlainMeans):
    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        super().__init__(width, classes, dtype)
        self.squares = torch.zeros(classes, width, dtype=dtype)

    def learn(self, vector: Tensor, row: int) -> None:
        deviation = vector - self.room[row]
        super().learn(vector, row)
        self.squares[row] += deviation * (vector - self.room[row])

    def scores(self, vectors: Tensor) -> Tensor:
        counts = self.counts[: self.met, None]
        variances = (1 - 1e-4) * self.squares[: self.met] / counts + 1e-4
        squares = (vectors[:, None] - self.means[None]) ** 2
        return -0.5 * (squares / variances + variances.log()).sum(2)


class PlainPerceptron(PlainMeans):
    def learn(self, vector: Tensor, row: int) -> None:
        self.met = max(self.met, row + 1)
        if self.counts[row] == 0:
            self.room[row] = vector
        else:
            answer = int((self.means @ vector).argmax())
            if answer != row:
                self.room[row] += vector
                self.room[answer] -= vector
        self.counts[row] += 1

    def scores(self, vectors: Tensor) -> Tensor:
        return vectors @ self.means.T


class PlainCentroids:
    """CBCL with threshold 17, 44 centroids, k = 1."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        self.places = torch.empty(0, width, dtype=dtype)
        self.owners = torch.empty(0, dtype=torch.long)
        self.sizes = torch.empty(0, dtype=dtype)
        self.counts = torch.zeros(classes, dtype=dtype)
        self.met = 0

    def learn(self, vector: Tensor, row: int) -> None:
        self.met = max(self.met, row + 1)
        self.counts[row] += 1
        own = torch.where(self.owners == row)[0]
        distances = torch.linalg.norm(self.places[own] - vector, dim=1)
        if len(own) and distances.min() < 17:
            nearest = own[distances.argmin()]
            self.sizes[nearest] += 1
            self.places[nearest] += (vector - self.places[nearest]) / self.sizes[nearest]
            return
        self.places = torch.cat([self.places, vector[None]])
        self.owners = torch.cat([self.owners, torch.tensor([row])])
        self.sizes = torch.cat([self.sizes, torch.ones(1, dtype=self.sizes.dtype)])
        if len(self.places) > 44:
            self.merge_nearest()

    def merge_nearest(self) -> None:
        distances = torch.cdist(self.places, self.places)
        distances[self.owners[:, None] != self.owners[None]] = torch.inf
        distances.fill_diagonal_(torch.inf)
        kept, dropped = divmod(int(distances.argmin()), len(distances))
        if torch.isinf(distances[kept, dropped]):
            return
        total = self.sizes[kept] + self.sizes[dropped]
        self.places[kept] = (
            self.sizes[kept] * self.places[kept] + self.sizes[dropped] * self.places[dropped]
        ) / total
        self.sizes[kept] = total
        rest = torch.arange(len(self.places)) != dropped
        self.places, self.owners = self.places[rest], self.owners[rest]
        self.sizes = self.sizes[rest]

    def scores(self, vectors: Tensor) -> Tensor:
        distances, nearest = torch.cdist(vectors, self.places).min(dim=1)
        scores = vectors.new_zeros(len(vectors), self.met)
        owners = self.owners[nearest]
        scores[torch.arange(len(vectors)), owners] = 1 / distances / self.counts[owners]
        return scores


class PlainFineTuning:
    """nn.Linear, cross-entropy and SGD; a new class is a new row, with no momentum."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        self.layer = nn.Linear(width, 0, dtype=dtype)
        self.optimiser = torch.optim.SGD(self.layer.parameters(), lr=0.001)
        self.loss = nn.CrossEntropyLoss()

    def learn(self, vector: Tensor, row: int) -> None:
        if row == self.layer.out_features:
            self.grow()
        self.step(vector[None], torch.tensor([row]))

    def step(self, batch: Tensor, rows: Tensor) -> None:
        self.optimiser.zero_grad()
        self.loss(self.layer(batch), rows).backward()
        self.optimiser.step()

    def grow(self) -> None:
        old, momenta = self.layer, self.optimiser.state
        row, width = old.out_features, old.in_features
        first = keyed_rng(0, "softmax row", row).normal(0, 0.01, width)  # the same as ours
        self.layer = nn.Linear(width, row + 1, dtype=old.weight.dtype)
        with torch.no_grad():
            self.layer.weight.copy_(torch.cat([old.weight, torch.tensor(first)[None]]))
            self.layer.bias.copy_(torch.cat([old.bias, torch.zeros(1)]))
        self.optimiser = torch.optim.SGD(
            self.layer.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-5
        )
        for was, now in zip(old.parameters(), self.layer.parameters(), strict=True):
            buffer = torch.zeros_like(now)
            if row:
                buffer[:row] = momenta[was]["momentum_buffer"]
            self.optimiser.state[now]["momentum_buffer"] = buffer

    @torch.no_grad()
    def scores(self, vectors: Tensor) -> Tensor:
        scores: Tensor = self.layer(vectors)
        return scores


class PlainICaRL(PlainFineTuning):
    """Fine-tuning with replay, from a buffer of 1000 or of 2 a class."""

    def __init__(
        self, width: int, classes: int, dtype: torch.dtype, per_class: int | None = None
    ) -> None:
        super().__init__(width, classes, dtype)
        self.per_class = per_class
        self.stored: list[Tensor] = []
        self.owners: list[int] = []

    def learn(self, vector: Tensor, row: int) -> None:
        if row == self.layer.out_features:
            self.grow()
        drawn = torch.randperm(len(self.stored))[:REPLAYED].tolist()
        batch = torch.stack([vector] + [self.stored[place] for place in drawn])
        self.step(batch, torch.tensor([row] + [self.owners[place] for place in drawn]))
        self.store(vector, row)

    def store(self, vector: Tensor, row: int) -> None:
        if self.per_class:
            full, largest = self.owners.count(row) >= self.per_class, row
        else:
            full = len(self.stored) >= 1000
            largest = max(set(self.owners), key=self.owners.count) if full else row
        if full:
            places = [place for place, owner in enumerate(self.owners) if owner == largest]
            leaving = places[int(torch.randint(len(places), ()))]
            del self.stored[leaving], self.owners[leaving]
        self.stored.append(vector)
        self.owners.append(row)


class PlainLDA(PlainMeans):
    """The exact within-class scatter, OAS shrinkage and a full inverse."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        super().__init__(width, classes, dtype)
        self.scatter = torch.zeros(width, width, dtype=dtype)

    def learn(self, vector: Tensor, row: int) -> None:
        deviation = vector - self.room[row]
        count = self.counts[row]
        self.scatter += count / (count + 1) * torch.outer(deviation, deviation)
        super().learn(vector, row)

    def scores(self, vectors: Tensor) -> Tensor:
        weights = torch.linalg.inv(self.shrunk()) @ self.means.T
        return vectors @ weights - 0.5 * (self.means.T * weights).sum(0)

    def shrunk(self) -> Tensor:
        identity = torch.eye(self.width, dtype=self.dtype)
        covariance = self.scatter / self.counts.sum()
        freedom, p = float(self.counts.sum()) - self.met, self.width
        trace, square = covariance.trace(), (covariance**2).sum()
        if trace == 0:
            return identity
        numerator = (1 - 2 / p) * square + trace**2
        rho = numerator / ((freedom + 1 - 2 / p) * (square - trace**2 / p))
        rho = rho.clamp(max=1)
        return (1 - rho) * covariance + rho * trace / p * identity


class PlainKernelLDA:
    """LDA on 2048 random Fourier features of the unit vectors, gamma = 1."""

    def __init__(
        self, width: int, classes: int, dtype: torch.dtype, features: int = 2048
    ) -> None:
        gaussian = keyed_rng(0, "random features", width, features).normal(size=(width, features))
        phases = keyed_rng(0, "random phases", features).uniform(0, 2 * torch.pi, features)
        self.frequencies = torch.tensor(2**0.5 * gaussian, dtype=dtype)
        self.phases = torch.tensor(phases, dtype=dtype)
        self.inner = PlainLDA(features, classes, dtype)

    def bent(self, vectors: Tensor) -> Tensor:
        unit = nn.functional.normalize(vectors, dim=-1)
        scale = (2 / len(self.phases)) ** 0.5
        return scale * torch.cos(unit @ self.frequencies + self.phases)

    def learn(self, vector: Tensor, row: int) -> None:
        self.inner.learn(self.bent(vector), row)

    def scores(self, vectors: Tensor) -> Tensor:
        return self.inner.scores(self.bent(vectors))


class PlainRidge(PlainMeans):
    """The normal equations, solved in full at each prediction."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        super().__init__(width, classes, dtype)
        self.gram = torch.zeros(width, width, dtype=dtype)

    def learn(self, vector: Tensor, row: int) -> None:
        self.gram += torch.outer(vector, vector)
        self.room[row] += vector
        self.met = max(self.met, row + 1)

    def scores(self, vectors: Tensor) -> Tensor:
        ridge = self.gram.trace() / self.width
        identity = torch.eye(self.width, dtype=self.dtype)
        return vectors @ torch.linalg.solve(self.gram + ridge * identity, self.means.T)


class PlainScatters(PlainMeans):
    """A full scatter matrix a class."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        super().__init__(width, classes, dtype)
        self.scatters = torch.zeros(classes, width, width, dtype=dtype)

    def learn(self, vector: Tensor, row: int) -> None:
        deviation = vector - self.room[row]
        count = self.counts[row]
        self.scatters[row] += count / (count + 1) * torch.outer(deviation, deviation)
        super().learn(vector, row)


class PlainQDA(PlainScatters):
    """One covariance a class, half of it the shared one, and 1e-4 of the identity."""

    def scores(self, vectors: Tensor) -> Tensor:
        shared = self.scatters.sum(0) / self.counts.sum()
        columns = []
        for row in range(self.met):
            own = self.scatters[row] / self.counts[row]
            covariance = (1 - 1e-4) * (0.5 * own + 0.5 * shared)
            covariance += 1e-4 * torch.eye(self.width, dtype=self.dtype)
            deviations = vectors - self.room[row]
            squares = (deviations @ torch.linalg.inv(covariance) * deviations).sum(1)
            columns.append(-0.5 * (squares + torch.linalg.slogdet(covariance).logabsdet))
        return torch.stack(columns, dim=1)


class PlainFeCAM(PlainScatters):
    """Shrunk, normalised covariances on power-transformed vectors."""

    def learn(self, vector: Tensor, row: int) -> None:
        super().learn(vector.abs().sqrt() * vector.sign(), row)

    def scores(self, vectors: Tensor) -> Tensor:
        transformed = vectors.abs().sqrt() * vectors.sign()
        columns = []
        for row in range(self.met):
            covariance = self.shrunk(self.scatters[row] / self.counts[row])
            deviations = covariance.diagonal().sqrt()
            correlation = covariance / torch.outer(deviations, deviations)
            away = transformed - self.room[row]
            columns.append(-(away @ torch.linalg.inv(correlation) * away).sum(1))
        return torch.stack(columns, dim=1)

    def shrunk(self, covariance: Tensor) -> Tensor:
        identity = torch.eye(self.width, dtype=self.dtype)
        variance = covariance.diagonal().mean()
        pairs = self.width * (self.width - 1)
        between = (covariance.sum() - covariance.trace()) / pairs
        return covariance + 10 * variance * identity + 10 * between * (1 - identity)


PLAIN: dict[str, Callable[[int, int, torch.dtype], PlainClassifier]] = {
    "slda": PlainLDA,
    "ncm": PlainMeans,
    "sqda": PlainQDA,
    "snb": PlainNaiveBayes,
    "sovr": PlainSOvR,
    "cbcl": PlainCentroids,
    "perceptron": PlainPerceptron,
    "finetune": PlainFineTuning,
    "icarl:buffer=1000": PlainICaRL,
    "icarl:per_class=2": lambda *sizes: PlainICaRL(*sizes, per_class=2),
    "ridge": PlainRidge,
    "fecam": PlainFeCAM,
    "klda": PlainKernelLDA,
}
