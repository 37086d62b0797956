"""A plain PyTorch implementation of every classifier: the references for speed and for results.

Each allocates all classes at the start, keeps full width x width matrices, and inverts them at each
prediction. Classes appear in the order 0, 1, 2...; a slice leaves out those to come.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import torch
from torch import Tensor, nn

from robocle._internal.randomness import keyed_rng

REPLAYED = 50


class PlainClassifier(Protocol):
    """The interface of a reference; rows appear in the order 0, 1, 2..."""

    def learn(self, embedding: Tensor, row: int) -> None: ...
    def scores(self, embeddings: Tensor) -> Tensor: ...


class PlainMeans:
    """Running class means. With nothing added, this is NCM."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        self.width = width
        self.dtype = dtype
        self.room = torch.zeros(classes, width, dtype=dtype)
        self.counts = torch.zeros(classes, dtype=dtype)
        self.seen = 0

    @property
    def means(self) -> Tensor:
        return self.room[: self.seen]

    def learn(self, embedding: Tensor, row: int) -> None:
        self.room[row] += (embedding - self.room[row]) / (self.counts[row] + 1)
        self.counts[row] += 1
        self.seen = max(self.seen, row + 1)

    def scores(self, embeddings: Tensor) -> Tensor:
        return -((embeddings[:, None] - self.means[None]) ** 2).sum(2)


class PlainSOvR(PlainMeans):
    def scores(self, embeddings: Tensor) -> Tensor:
        counts = self.counts[: self.seen]
        own = embeddings @ self.means.T
        sums = own * counts
        rest = (sums.sum(1, keepdim=True) - sums) / (counts.sum() - counts)
        return own / (own + rest)


class PlainNaiveBayes(PlainMeans):
    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        super().__init__(width, classes, dtype)
        self.squares = torch.zeros(classes, width, dtype=dtype)

    def learn(self, embedding: Tensor, row: int) -> None:
        deviation = embedding - self.room[row]
        super().learn(embedding, row)
        self.squares[row] += deviation * (embedding - self.room[row])

    def scores(self, embeddings: Tensor) -> Tensor:
        counts = self.counts[: self.seen, None]
        variances = (1 - 1e-4) * self.squares[: self.seen] / counts + 1e-4
        squares = (embeddings[:, None] - self.means[None]) ** 2
        return -0.5 * (squares / variances + variances.log()).sum(2)


class PlainPerceptron(PlainMeans):
    def learn(self, embedding: Tensor, row: int) -> None:
        self.seen = max(self.seen, row + 1)
        if self.counts[row] == 0:
            self.room[row] = embedding
        else:
            predicted = int((self.means @ embedding).argmax())
            if predicted != row:
                self.room[row] += embedding
                self.room[predicted] -= embedding
        self.counts[row] += 1

    def scores(self, embeddings: Tensor) -> Tensor:
        return embeddings @ self.means.T


class PlainCentroids:
    """CBCL with threshold 17, 44 centroids, k = 1."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        self.places = torch.empty(0, width, dtype=dtype)
        self.owners = torch.empty(0, dtype=torch.long)
        self.sizes = torch.empty(0, dtype=dtype)
        self.counts = torch.zeros(classes, dtype=dtype)
        self.seen = 0

    def learn(self, embedding: Tensor, row: int) -> None:
        self.seen = max(self.seen, row + 1)
        self.counts[row] += 1
        own = torch.where(self.owners == row)[0]
        distances = torch.linalg.norm(self.places[own] - embedding, dim=1)
        if len(own) and distances.min() < 17:
            nearest = own[distances.argmin()]
            self.sizes[nearest] += 1
            self.places[nearest] += (embedding - self.places[nearest]) / self.sizes[nearest]
            return
        self.places = torch.cat([self.places, embedding[None]])
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

    def scores(self, embeddings: Tensor) -> Tensor:
        distances, nearest = torch.cdist(embeddings, self.places).min(dim=1)
        scores = embeddings.new_zeros(len(embeddings), self.seen)
        owners = self.owners[nearest]
        scores[torch.arange(len(embeddings)), owners] = 1 / distances / self.counts[owners]
        return scores


class PlainFineTuning:
    """nn.Linear, cross-entropy and SGD; a new class is a new row, with no momentum."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        self.seen = 0
        self.layer = nn.Linear(width, 1, dtype=dtype)
        self.optimiser = torch.optim.SGD(self.layer.parameters())
        self.loss = nn.CrossEntropyLoss()

    def learn(self, embedding: Tensor, row: int) -> None:
        if row == self.seen:
            self.grow()
        self.step(embedding[None], torch.tensor([row]))

    def step(self, batch: Tensor, rows: Tensor) -> None:
        self.optimiser.zero_grad()
        self.loss(self.layer(batch), rows).backward()
        self.optimiser.step()

    def grow(self) -> None:
        old, momenta, rows = self.layer, self.optimiser.state, self.seen
        self.seen += 1
        self.layer = nn.Linear(old.in_features, self.seen, dtype=old.weight.dtype)
        # The same first weights as ours.
        first = keyed_rng(0, "softmax row", rows).normal(0, 0.01, old.in_features)
        with torch.no_grad():
            self.layer.weight[rows] = torch.tensor(first)
            self.layer.bias[rows] = 0
            self.layer.weight[:rows] = old.weight[:rows]
            self.layer.bias[:rows] = old.bias[:rows]
        self.optimiser = torch.optim.SGD(
            self.layer.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-5
        )
        for was, now in zip(old.parameters(), self.layer.parameters(), strict=True):
            buffer = torch.zeros_like(now)
            if rows:
                buffer[:rows] = momenta[was]["momentum_buffer"]
            self.optimiser.state[now]["momentum_buffer"] = buffer

    def scores(self, embeddings: Tensor) -> Tensor:
        with torch.no_grad():
            scores: Tensor = self.layer(embeddings)
        return scores


class PlainICaRL(PlainFineTuning):
    """Fine-tuning with replay, from a buffer of 1000 samples or of 2 per class."""

    def __init__(
        self, width: int, classes: int, dtype: torch.dtype, per_class: int | None = None
    ) -> None:
        super().__init__(width, classes, dtype)
        self.per_class = per_class
        self.stored: list[Tensor] = []
        self.owners: list[int] = []

    def learn(self, embedding: Tensor, row: int) -> None:
        if row == self.seen:
            self.grow()
        drawn = torch.randperm(len(self.stored))[:REPLAYED].tolist()
        batch = torch.stack([embedding] + [self.stored[place] for place in drawn])
        self.step(batch, torch.tensor([row] + [self.owners[place] for place in drawn]))
        self.store(embedding, row)

    def store(self, embedding: Tensor, row: int) -> None:
        if self.per_class:
            full, largest = self.owners.count(row) >= self.per_class, row
        else:
            full = len(self.stored) >= 1000
            largest = max(set(self.owners), key=self.owners.count) if full else row
        if full:
            places = [place for place, owner in enumerate(self.owners) if owner == largest]
            leaving = places[int(torch.randint(len(places), ()))]
            del self.stored[leaving], self.owners[leaving]
        self.stored.append(embedding)
        self.owners.append(row)


class PlainLDA(PlainMeans):
    """The exact within-class scatter, OAS shrinkage and a full inverse."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        super().__init__(width, classes, dtype)
        self.scatter = torch.zeros(width, width, dtype=dtype)

    def learn(self, embedding: Tensor, row: int) -> None:
        deviation = embedding - self.room[row]
        count = self.counts[row]
        self.scatter += count / (count + 1) * torch.outer(deviation, deviation)
        super().learn(embedding, row)

    def scores(self, embeddings: Tensor) -> Tensor:
        weights = torch.linalg.inv(self.shrunk()) @ self.means.T
        return embeddings @ weights - 0.5 * (self.means.T * weights).sum(0)

    def shrunk(self) -> Tensor:
        identity = torch.eye(self.width, dtype=self.dtype)
        covariance = self.scatter / self.counts.sum()
        freedom, p = float(self.counts.sum()) - self.seen, self.width
        trace, square = covariance.trace(), (covariance**2).sum()
        if trace == 0:
            return identity
        numerator = (1 - 2 / p) * square + trace**2
        rho = numerator / ((freedom + 1 - 2 / p) * (square - trace**2 / p))
        rho = rho.clamp(max=1)
        return (1 - rho) * covariance + rho * trace / p * identity


class PlainKernelLDA:
    """LDA on 2048 random Fourier features of the unit embeddings, gamma = 1."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype, features: int = 2048) -> None:
        gaussian = keyed_rng(0, "random features", width, features).normal(size=(width, features))
        phases = keyed_rng(0, "random phases", features).uniform(0, 2 * torch.pi, features)
        self.frequencies = torch.tensor(2**0.5 * gaussian, dtype=dtype)
        self.phases = torch.tensor(phases, dtype=dtype)
        self.inner = PlainLDA(features, classes, dtype)

    def bent(self, embeddings: Tensor) -> Tensor:
        unit = nn.functional.normalize(embeddings, dim=-1)
        scale = (2 / len(self.phases)) ** 0.5
        return scale * torch.cos(unit @ self.frequencies + self.phases)

    def learn(self, embedding: Tensor, row: int) -> None:
        self.inner.learn(self.bent(embedding), row)

    def scores(self, embeddings: Tensor) -> Tensor:
        return self.inner.scores(self.bent(embeddings))


class PlainRidge(PlainMeans):
    """The normal equations, solved in full at each prediction."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        super().__init__(width, classes, dtype)
        self.gram = torch.zeros(width, width, dtype=dtype)

    def learn(self, embedding: Tensor, row: int) -> None:
        self.gram += torch.outer(embedding, embedding)
        self.room[row] += embedding
        self.seen = max(self.seen, row + 1)

    def scores(self, embeddings: Tensor) -> Tensor:
        ridge = self.gram.trace() / self.width
        identity = torch.eye(self.width, dtype=self.dtype)
        return embeddings @ torch.linalg.solve(self.gram + ridge * identity, self.means.T)


class PlainScatters(PlainMeans):
    """A full scatter matrix per class."""

    def __init__(self, width: int, classes: int, dtype: torch.dtype) -> None:
        super().__init__(width, classes, dtype)
        self.scatters = torch.zeros(classes, width, width, dtype=dtype)

    def learn(self, embedding: Tensor, row: int) -> None:
        deviation = embedding - self.room[row]
        count = self.counts[row]
        self.scatters[row] += count / (count + 1) * torch.outer(deviation, deviation)
        super().learn(embedding, row)


class PlainQDA(PlainScatters):
    """One covariance per class, half of it the shared one, and 1e-4 of the identity."""

    def scores(self, embeddings: Tensor) -> Tensor:
        shared = self.scatters.sum(0) / self.counts.sum()
        columns = []
        for row in range(self.seen):
            own = self.scatters[row] / self.counts[row]
            covariance = (1 - 1e-4) * (0.5 * own + 0.5 * shared)
            covariance += 1e-4 * torch.eye(self.width, dtype=self.dtype)
            deviations = embeddings - self.room[row]
            squares = (deviations @ torch.linalg.inv(covariance) * deviations).sum(1)
            columns.append(-0.5 * (squares + torch.linalg.slogdet(covariance).logabsdet))
        return torch.stack(columns, dim=1)


class PlainFeCAM(PlainScatters):
    """Shrunk, normalised covariances on power-transformed embeddings."""

    def learn(self, embedding: Tensor, row: int) -> None:
        super().learn(embedding.abs().sqrt() * embedding.sign(), row)

    def scores(self, embeddings: Tensor) -> Tensor:
        transformed = embeddings.abs().sqrt() * embeddings.sign()
        columns = []
        for row in range(self.seen):
            covariance = self.shrunk(self.scatters[row] / self.counts[row])
            deviations = covariance.diagonal().sqrt()
            correlation = covariance / torch.outer(deviations, deviations)
            away = transformed - self.room[row]
            columns.append(-(away @ torch.linalg.inv(correlation) * away).sum(1))
        return torch.stack(columns, dim=1)

    def shrunk(self, covariance: Tensor) -> Tensor:
        identity = torch.eye(self.width, dtype=self.dtype)
        variance = covariance.diagonal().mean()
        if variance == 0:
            return identity
        pairs = self.width * (self.width - 1)
        between = ((covariance.sum() - covariance.trace()) / pairs).clamp(min=0)
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
    "icarl:per_class=2": partial(PlainICaRL, per_class=2),
    "ridge": PlainRidge,
    "fecam": PlainFeCAM,
    "klda": PlainKernelLDA,
}
