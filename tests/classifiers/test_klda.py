"""KLDA: its features against the Gaussian kernel, and its scores against SLDA on the features."""

import numpy as np
import pytest
from numpy.typing import NDArray

from array_lessons import taught
from robocle.classifiers.shared import fourier_features, rectified_features

Floats = NDArray[np.float64]


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_products_of_fourier_features_converge_to_the_gaussian_kernel(
    gamma: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    embeddings = rng.normal(size=(30, 12)) * rng.uniform(0.1, 100, (30, 1))
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    kernel = np.exp(-gamma * ((unit[:, None] - unit[None]) ** 2).sum(axis=2))
    errors = []
    for features in (500, 32_000):
        mapped = fourier_features(embeddings, features, gamma, seed)
        errors.append(np.abs(mapped @ mapped.T - kernel).max())
    assert errors[0] < 0.25
    assert errors[1] < 0.03  # 64 times the features: the error falls to about an eighth


def test_features_depend_on_the_seed_and_the_direction_alone() -> None:
    embeddings = np.random.default_rng(0).normal(size=(5, 9))
    first = fourier_features(embeddings, 40, 1.0, seed=3)
    np.testing.assert_array_equal(first, fourier_features(embeddings, 40, 1.0, seed=3))
    np.testing.assert_allclose(first, fourier_features(7 * embeddings, 40, 1.0, seed=3), atol=1e-12)
    np.testing.assert_allclose(
        first[2], fourier_features(embeddings[2], 40, 1.0, seed=3), atol=1e-12
    )
    assert (first != fourier_features(embeddings, 40, 1.0, seed=4)).any()


def test_rectified_features_are_projections_without_their_negative_part() -> None:
    embeddings = np.random.default_rng(0).normal(size=(2000, 9))
    projected = rectified_features(embeddings, 50, seed=0)
    both = projected - rectified_features(-embeddings, 50, seed=0)  # max(p, 0) - max(-p, 0) = p
    assert projected.min() == 0
    weights, rest, *_ = np.linalg.lstsq(embeddings, both, rcond=None)
    assert rest.max() < 1e-20
    assert weights.std() == pytest.approx(1 / 3, rel=0.1)  # N(0, 1) over the root of the width


@pytest.mark.parametrize(("samples", "features"), [(12, 64), (150, 64), (60, 2048)])
def test_scores_are_those_of_slda_on_the_features(samples: int, features: int) -> None:
    rng = np.random.default_rng(samples)
    rows = rng.integers(0, 4, samples)
    embeddings = np.abs(rng.normal(size=(4, 20))[rows] + rng.normal(size=(samples, 20)))
    labels = [str(row) for row in rows]
    mapped = fourier_features(embeddings, features, 0.7, 5)
    found = taught(f"klda:features={features},gamma=0.7,seed=5", embeddings, labels).scores(
        embeddings
    )
    expected = taught("slda", mapped, labels).scores(mapped)
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()
