"""The published SLDA, plainly: what our forms are measured against and must agree with.

`TorchSLDA` updates a full float32 covariance at each sample and takes its pseudo-inverse at the
first prediction after it, as the paper's method does. `float64_scores` is the same mathematics in
one batch, in float64, solved directly: the measure of agreement.
"""

import numpy as np
import torch
from numpy.typing import NDArray


class TorchSLDA:
    """Streaming LDA by a full covariance update a sample and a pseudo-inverse."""

    def __init__(self, width: int, classes: int, shrinkage: float = 1e-4) -> None:
        self.shrinkage = shrinkage
        self.means = torch.zeros(classes, width)
        self.counts = torch.zeros(classes)
        self.covariance = torch.zeros(width, width)
        self.samples = 0
        self.weights: torch.Tensor | None = None
        self.bias: torch.Tensor | None = None

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def learn(self, vector: torch.Tensor, row: int) -> None:
        deviation = vector - self.means[row]
        delta = torch.outer(deviation, deviation) * self.samples / (self.samples + 1)
        self.covariance = (self.samples * self.covariance + delta) / (self.samples + 1)
        self.means[row] += deviation / (self.counts[row] + 1)
        self.counts[row] += 1
        self.samples += 1
        self.weights = None

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def scores(self, vectors: torch.Tensor) -> torch.Tensor:
        if self.weights is None:
            identity = torch.eye(len(self.covariance))
            shrunk = (1 - self.shrinkage) * self.covariance + self.shrinkage * identity
            self.weights = torch.linalg.pinv(shrunk) @ self.means.T
            self.bias = -0.5 * (self.means.T * self.weights).sum(0)
        return vectors @ self.weights + self.bias


def float64_scores(
    vectors: NDArray[np.float32],
    rows: NDArray[np.int64],
    queries: NDArray[np.float32],
    shrinkage: float = 1e-4,
) -> NDArray[np.float64]:
    """The published SLDA's scores, in float64 from the deviations of the whole stream."""
    classes = int(rows.max()) + 1
    width = vectors.shape[1]
    means = np.zeros((classes, width))
    counts = np.zeros(classes)
    weighted = np.empty((len(vectors), width))
    for t, (vector, row) in enumerate(zip(vectors.astype(np.float64), rows, strict=True)):
        deviation = vector - means[row]
        means[row] += deviation / (counts[row] + 1)
        counts[row] += 1
        weighted[t] = np.sqrt(t / (t + 1)) * deviation
    covariance = weighted.T @ weighted / len(vectors)
    shrunk = (1 - shrinkage) * covariance + shrinkage * np.eye(width)
    weights = np.linalg.solve(shrunk, means.T)
    scores: NDArray[np.float64] = queries @ weights - 0.5 * (means.T * weights).sum(0)
    return scores
