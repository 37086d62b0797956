"""Online iCaRL: its steps against PyTorch, and invariants of its buffer."""

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from parity import Batch, recorded_batches, stored_samples
from robocle.classifiers import StreamingClassifier, classifier
from robocle.classifiers.icarl import OnlineICaRL

Floats = NDArray[np.float64]
Order = Callable[[int, int], list[tuple[Floats, str]]]
WIDTH = 8


@pytest.fixture
def batches() -> Iterator[list[Batch]]:
    """Every batch that a layer learns from, in order."""
    with recorded_batches() as recorded:
        yield recorded


def stream(samples: int, classes: int, seed: int = 0) -> list[tuple[Floats, str]]:
    """Every embedding is different, so that a stored one can be identified."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, classes, samples)
    return [(rng.normal(row, 1, WIDTH), str(row)) for row in rows]


def class_by_class(samples: int, classes: int) -> list[tuple[Floats, str]]:
    return sorted(stream(samples, classes), key=lambda pair: pair[1])


def buffer(clf: StreamingClassifier) -> dict[tuple[float, ...], str]:
    """The stored samples and their labels."""
    return {tuple(np.frombuffer(sample)): clf.labels[row] for sample, row in stored_samples(clf)}


@pytest.mark.parametrize("spec", ["icarl:buffer=30", "icarl:per_class=2,rate=0.05", "icarl"])
def test_every_step_equals_that_of_pytorch_on_the_same_batch(
    spec: str, batches: list[Batch]
) -> None:
    torch = pytest.importorskip("torch")
    clf = classifier(spec)
    layer = torch.nn.Linear(WIDTH, 5, dtype=torch.float64)
    optimiser = torch.optim.SGD(
        layer.parameters(), lr=0.05 if "rate" in spec else 0.001, momentum=0.9, weight_decay=1e-5
    )
    for row in range(5):  # all classes first: test_finetune.py tests how a layer grows
        clf.learn(np.full(WIDTH, row + 0.5), str(row))
    assert isinstance(clf, OnlineICaRL)
    clf._make_current()
    momenta = clf._layer._momenta.copy()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(clf._layer._weights[:, :-1]))
        layer.bias.copy_(torch.tensor(clf._layer._weights[:, -1]))
    for parameter, columns in ((layer.weight, np.s_[:, :-1]), (layer.bias, np.s_[:, -1])):
        momentum = torch.tensor(np.ascontiguousarray(momenta[columns]))
        optimiser.state[parameter]["momentum_buffer"] = momentum
    queries = torch.tensor(np.eye(WIDTH))
    for embedding, label in stream(70, 5):
        clf.learn(embedding, label)
        samples, rows = batches[-1]
        optimiser.zero_grad()
        loss = torch.nn.CrossEntropyLoss()(layer(torch.tensor(samples)), torch.tensor(rows))
        loss.backward()
        optimiser.step()
        np.testing.assert_allclose(clf.scores(queries), layer(queries).detach(), atol=1e-12)


@pytest.mark.parametrize("spec", ["icarl", "icarl:buffer=20", "icarl:per_class=2"])
def test_a_batch_is_the_new_sample_and_up_to_fifty_stored_ones(
    spec: str, batches: list[Batch]
) -> None:
    clf = classifier(spec)
    for embedding, label in stream(200, 6):
        stored = buffer(clf) if clf.labels else {}
        clf.learn(embedding, label)
        clf.scores(embedding[None])
        samples, rows = batches[-1]
        assert len(samples) == 1 + min(50, len(stored))
        np.testing.assert_array_equal(samples[0], embedding)
        assert clf.labels[rows[0]] == label
        replayed = [tuple(sample.tolist()) for sample in samples[1:]]
        assert len(set(replayed)) == len(replayed)
        assert [stored[sample] for sample in replayed] == [clf.labels[row] for row in rows[1:]]


@pytest.mark.parametrize("size", [1, 7, 40])
@pytest.mark.parametrize("order", [stream, class_by_class])
def test_a_full_buffer_replaces_a_sample_of_the_largest_class(size: int, order: Order) -> None:
    clf = classifier(f"icarl:buffer={size}")
    stored: dict[tuple[float, ...], str] = {}
    for embedding, label in order(200, 5):
        clf.learn(embedding, label)
        after = buffer(clf)
        assert after[tuple(embedding.tolist())] == label
        gone = stored.keys() - after.keys()
        assert len(gone) == (len(stored) == size)
        for sample in gone:
            sizes = Counter(stored.values())
            assert sizes[stored[sample]] == max(sizes.values())
        stored = after
        assert len(stored) <= size


def test_per_class_stores_that_many_samples_of_each_class() -> None:
    clf = classifier("icarl:per_class=2")
    for embedding, label in stream(120, 6):
        clf.learn(embedding, label)
        sizes = Counter(buffer(clf).values())
        assert sizes == {name: min(2, count) for name, count in clf.counts.items()}


def test_the_buffer_has_early_and_late_samples_of_a_class() -> None:
    clf, pairs = classifier("icarl:buffer=100"), stream(400, 1)
    for embedding, label in pairs:
        clf.learn(embedding, label)
    kept = buffer(clf)
    places = [n for n, (embedding, _) in enumerate(pairs) if tuple(embedding.tolist()) in kept]
    assert min(places) < 200
    assert np.median(places) > 250  # the last samples had the fewest chances to be replaced


def test_the_samples_of_a_forgotten_class_are_removed_from_the_buffer() -> None:
    clf = classifier("icarl:buffer=30")
    for embedding, label in stream(100, 4):
        clf.learn(embedding, label)
    clf.forget("2")
    assert len(buffer(clf)) == 30
    assert set(buffer(clf).values()) == {"0", "1", "3"}


def test_a_label_without_stored_samples_can_be_taught_again() -> None:
    clf = classifier("icarl:buffer=2")
    for index, label in enumerate("abcdaacbd"):
        clf.learn(np.full(WIDTH, index), label)
        assert len(buffer(clf)) <= 2
