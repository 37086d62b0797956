"""Mahalanobis++ and TEEN against their formulas with full matrices."""

import copy
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

import array_lessons
from robocle.classifiers import StreamingClassifier

Floats = NDArray[np.float64]
RNG = np.random.default_rng(0)
SAMPLES, LABELS = RNG.normal(1, 2, (30, 8)), [str(number % 4) for number in range(30)]
QUERIES = RNG.normal(1, 3, (20, 8))
WORLD = RNG.normal(0, 1, (50, 8))


def taught(spec: str) -> StreamingClassifier:
    return array_lessons.taught(spec, SAMPLES, LABELS)


def unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def means(rows: Floats) -> Floats:
    return np.array([rows[[each == name for each in LABELS]].mean(axis=0) for name in "0123"])


@pytest.mark.parametrize("shrinkage", [1e-3, 0.1])
def test_scores_are_mahalanobis_distances_of_normalised_embeddings(shrinkage: float) -> None:
    rows, queries = np.sqrt(8) * unit(SAMPLES), np.sqrt(8) * unit(QUERIES)
    centres = means(rows)
    deviations = rows - centres[[int(label) for label in LABELS]]
    covariance = (1 - shrinkage) * deviations.T @ deviations / len(rows) + shrinkage * np.eye(8)
    inverse = np.linalg.inv(covariance)
    expected = [[-0.5 * (q - m) @ inverse @ (q - m) for m in centres] for q in queries]
    found = taught(f"mahalanobis:shrinkage={shrinkage}").scores(QUERIES)
    constant = -0.5 * np.linalg.slogdet(covariance)[1]  # the same for all labels and pictures
    np.testing.assert_allclose(found, np.array(expected) + constant, rtol=1e-6)


def calibrated(world: float, temperature: float) -> Floats:
    centres, pictures = unit(means(SAMPLES)), unit(WORLD)
    weights = np.exp(temperature * centres @ pictures.T)
    weights /= weights.sum(axis=1, keepdims=True)
    return (1 - world) * centres + world * weights @ pictures


@pytest.mark.parametrize("world", [0.0, 0.3, 1.0])
def test_means_move_towards_similar_pictures_of_the_world(world: float) -> None:
    clf = taught(f"teen:world={world},temperature=5")
    clf.use_world(WORLD)
    expected = unit(QUERIES) @ unit(calibrated(world, 5)).T
    np.testing.assert_allclose(clf.scores(QUERIES), expected, rtol=1e-9)


def test_without_a_world_of_the_same_width_the_score_is_the_cosine_with_the_mean() -> None:
    clf, expected = taught("teen"), unit(QUERIES) @ unit(means(SAMPLES)).T
    for _ in range(2):
        np.testing.assert_allclose(clf.scores(QUERIES), expected, rtol=1e-9)
        clf.use_world(WORLD[:, :5])


def test_copies_keep_the_world() -> None:
    clf = taught("teen")
    clf.use_world(WORLD)
    for other in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        np.testing.assert_array_equal(other.scores(QUERIES), clf.scores(QUERIES))
