"""A plain implementation of the published SLDA: the reference for speed and for results.

`TorchSLDA` updates a full float32 covariance at each sample and computes its pseudo-inverse at the
next prediction, as the paper's method does. `float64_scores` computes the same scores in one batch,
in float64, by solving directly: our scores must agree with these.
"""

import numpy as np
import torch
from numpy.typing import NDArray


class TorchSLDA:
    """Streaming LDA with a full covariance update per sample and a pseudo-inverse."""

    def __init__(self, width: int, classes: int, shrinkage: float = 1e-4) -> None:
        self.shrinkage = shrinkage
        self.means = torch.zeros(classes, width)
        self.counts = torch.zeros(classes)
        self.covariance = torch.zeros(width, width)
        self.samples = 0
        self.weights: torch.Tensor | None = None
        self.bias: torch.Tensor | None = None

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def learn(self, embedding: torch.Tensor, row: int) -> None:
        deviation = embedding - self.means[row]
        delta = torch.outer(deviation, deviation) * self.samples / (self.samples + 1)
        self.covariance = (self.samples * self.covariance + delta) / (self.samples + 1)
        self.means[row] += deviation / (self.counts[row] + 1)
        self.counts[row] += 1
        self.samples += 1
        self.weights = None

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def scores(self, embeddings: torch.Tensor) -> torch.Tensor:
        if self.weights is None:
            identity = torch.eye(len(self.covariance))
            shrunk = (1 - self.shrinkage) * self.covariance + self.shrinkage * identity
            self.weights = torch.linalg.pinv(shrunk) @ self.means.T
            self.bias = -0.5 * (self.means.T * self.weights).sum(0)
        return embeddings @ self.weights + self.bias


def float64_scores(
    embeddings: NDArray[np.float32],
    rows: NDArray[np.int64],
    queries: NDArray[np.float32],
    shrinkage: float = 1e-4,
) -> NDArray[np.float64]:
    """Return the scores of the published SLDA, in float64, from the whole stream at once."""
    classes = int(rows.max()) + 1
    width = embeddings.shape[1]
    means = np.zeros((classes, width))
    counts = np.zeros(classes)
    weighted = np.empty((len(embeddings), width))
    for t, (embedding, row) in enumerate(zip(embeddings.astype(np.float64), rows, strict=True)):
        deviation = embedding - means[row]
        means[row] += deviation / (counts[row] + 1)
        counts[row] += 1
        weighted[t] = np.sqrt(t / (t + 1)) * deviation
    covariance = weighted.T @ weighted / len(embeddings)
    shrunk = (1 - shrinkage) * covariance + shrinkage * np.eye(width)
    weights = np.linalg.solve(shrunk, means.T)
    scores: NDArray[np.float64] = queries @ weights - 0.5 * (means.T * weights).sum(0)
    return scores
