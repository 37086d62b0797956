"""Fine-tuning against PyTorch's layer, loss and optimiser, step by step in float64."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle._internal.randomness import keyed_rng
from robocle.classifiers import StreamingClassifier, classifier

Floats = NDArray[np.float64]
WIDTH = 10
torch: Any = None


@pytest.fixture(autouse=True)
def _pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Import PyTorch for each test, so that each is counted as skipped without it."""
    monkeypatch.setitem(globals(), "torch", pytest.importorskip("torch"))


class GrowingLayer:
    """nn.Linear with SGD; a new class adds a row to both, with zero momentum."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.weight = torch.empty(0, WIDTH, dtype=torch.float64)
        self.bias = torch.empty(0, dtype=torch.float64)
        self.momenta = [torch.zeros_like(self.weight), torch.zeros_like(self.bias)]

    def grow(self, first: list[float]) -> None:
        row = torch.tensor([first], dtype=torch.float64)
        zero = torch.zeros(1, dtype=torch.float64)
        self.weight, self.bias = torch.cat([self.weight, row]), torch.cat([self.bias, zero])
        self.momenta = [
            torch.cat([self.momenta[0], torch.zeros_like(row)]),
            torch.cat([self.momenta[1], zero]),
        ]

    def step(self, batch: list[list[float]], rows: list[int]) -> None:
        layer = torch.nn.Linear(WIDTH, len(self.weight), dtype=torch.float64)
        with torch.no_grad():
            layer.weight.copy_(self.weight)
            layer.bias.copy_(self.bias)
        optimiser = torch.optim.SGD(
            layer.parameters(), lr=self.rate, momentum=0.9, weight_decay=1e-5
        )
        for parameter, momentum in zip(layer.parameters(), self.momenta, strict=True):
            optimiser.state[parameter]["momentum_buffer"] = momentum
        logits = layer(torch.tensor(batch, dtype=torch.float64))
        torch.nn.CrossEntropyLoss()(logits, torch.tensor(rows)).backward()
        optimiser.step()
        self.weight, self.bias = layer.weight.detach(), layer.bias.detach()


def layer_of(clf: StreamingClassifier) -> tuple[Floats, Floats]:
    """The weights and the biases, by scores: these are W z + b."""
    width = clf.width or 0
    biases = clf.scores(np.zeros((1, width)))[0]
    return (clf.scores(np.eye(width)) - biases).T, biases


@pytest.mark.parametrize("rate", [0.001, 0.1])
@pytest.mark.parametrize("seed", [0, 7])
def test_every_step_equals_that_of_pytorch(rate: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    clf = classifier(f"finetune:rate={rate},seed={seed}")
    layer = GrowingLayer(rate)
    rows = [0, 0, 1, 0, 1, 2, 2, *rng.integers(0, 3, 20), 3, *rng.integers(0, 4, 20)]
    for row in rows:
        embedding = rng.normal(row, 1, WIDTH)
        if str(row) not in clf.labels:
            layer.grow(keyed_rng(seed, "softmax row", int(row)).normal(0, 0.01, WIDTH).tolist())
        clf.learn(embedding, str(row))
        layer.step([embedding.tolist()], [clf.labels.index(str(row))])
        weights, biases = layer_of(clf)
        np.testing.assert_allclose(weights, layer.weight, atol=1e-12)
        np.testing.assert_allclose(biases, layer.bias, atol=1e-12)


def test_initial_weights_are_small_and_random_and_initial_biases_are_zero() -> None:
    clf = classifier("finetune:rate=1e-9")
    for label in range(20):
        clf.learn(np.zeros(2000), str(label))
    weights, biases = layer_of(clf)
    assert weights.std() == pytest.approx(0.01, rel=0.02)
    assert abs(weights.mean()) < 2e-4
    assert np.abs(biases).max() < 1e-7
