"""Sketches estimate how similar pictures are, and remember which were taught."""

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.images.gate import QualityGate
from robocle.images.sketches import AT_ONCE, SAME, Similar, Sketches, sketch, sketches_of

WIDTH = 600
Embedding = NDArray[np.float32]


def embeddings(count: int, seed: int = 0) -> list[Embedding]:
    return list(np.random.default_rng(seed).random((count, WIDTH), np.float32))


def apart(start: Embedding, distance: float, seed: int) -> Embedding:
    """Return an embedding whose direction has this distance from that of another."""
    unit = start / np.linalg.norm(start)
    other = np.random.default_rng(seed).normal(size=WIDTH)
    other -= (other @ unit) * unit
    angle = 2 * np.arcsin(distance / 2)
    turned = np.cos(angle) * unit + np.sin(angle) * other / np.linalg.norm(other)
    found: Embedding = (7 * turned).astype(np.float32)
    return found


def distance(one: Embedding, other: Embedding) -> float:
    near = Sketches().added([sketch(one)], ["mug"]).nearest(sketch(other))
    assert near is not None
    return near.distance


@pytest.mark.parametrize("true", [0.1, 0.25, 0.5, 1.0])
def test_the_distance_of_sketches_estimates_that_of_the_embeddings(true: float) -> None:
    (start,) = embeddings(1)
    found = [distance(start, apart(start, true, seed)) for seed in range(200)]
    assert np.mean(found) == pytest.approx(true, rel=0.04)
    assert np.std(found) < 0.13 * true


def test_embeddings_that_differ_by_rounding_are_the_same_picture() -> None:
    rng = np.random.default_rng(1)
    for embedding in embeddings(50):
        assert distance(embedding, embedding) == 0
        noise = 1 + 1e-4 * rng.normal(size=WIDTH).astype(np.float32)
        assert distance(embedding, 3 * embedding * noise) < SAME


def test_the_sketch_of_zeros_and_of_numbers_that_are_not_finite_is_defined() -> None:
    assert not sketch(np.zeros(8)).any()
    assert sketch(np.array([np.nan, np.inf, 1.0])).tolist() == sketch(np.eye(3)[2]).tolist()
    assert sketch(np.ones((8, 1))).tolist() == sketch(np.ones(8)).tolist()
    assert sketch(np.full(8, 1e300)).tolist() == sketch(np.ones(8)).tolist()


def test_the_nearest_picture_is_found_with_its_label() -> None:
    taught = embeddings(30)
    rows = [sketch(each) for each in taught]
    sketches = Sketches().added(rows[:10], ["mug"] * 10).added(rows[10:], ["pan"] * 20)
    assert sketches.nearest(rows[3]) == Similar(0.0, "mug")
    assert sketches.nearest(rows[12]) == Similar(0.0, "pan")
    assert Sketches().nearest(rows[0]) is None


def test_sketches_that_are_computed_together_are_those_of_each_picture() -> None:
    many = embeddings(2 * AT_ONCE + 1)
    for together, each in zip(sketches_of(many), many, strict=True):
        assert np.abs(together.astype(int) - sketch(each)).max() <= 1  # rounded


# ---- the gate


def gate(taught: Sketches | None = None) -> QualityGate:
    return QualityGate("warn", lambda label: None, taught or Sketches())


def advice(checks: QualityGate, embedding: Embedding, label: str) -> str:
    return " ".join(map(str, checks.check((), embedding, label)))


def test_alternating_pictures_are_noticed_although_consecutive_ones_differ() -> None:
    one, other = embeddings(2)
    checks = gate()
    assert advice(checks, one, "mug") == advice(checks, other, "mug") == ""
    for again in (one, other):
        assert advice(checks, again, "mug").startswith(
            "near-duplicate of a picture already taught as 'mug' (difference 0.00, must be at "
        )


def test_the_same_picture_under_another_label_is_noticed() -> None:
    (one,) = embeddings(1)
    checks = gate(Sketches().added([sketch(one)], ["mug"]))
    expected = "the same picture was taught as 'mug': teach it under one label only"
    assert advice(checks, one, "cup") == expected
    assert advice(gate(), apart(one, 0.1, 0), "cup") == ""
    for seed in range(100):
        assert advice(checks, apart(one, 0.45, seed), f"object {seed}") == ""
    near = gate(Sketches().added([sketch(one)], ["mug"]))
    assert advice(near, apart(one, 0.1, 0), "cup") == f"almost {expected}"
