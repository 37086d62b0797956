"""Familiarity with a world, against formulas written out in full width."""

import copy
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle import FeatureError, SpecError
from robocle.classifiers import classifier
from robocle.classifiers.slda import StreamingLDA

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
WIDTH, WEIGHT = 24, 4.0
SPEC = "slda:shrinkage=0.1,score=cosine,covariance=blocks,blocks=2,world=4"
WITHIN = np.kron(np.eye(2), np.ones((WIDTH // 2, WIDTH // 2)))
WORLD = np.random.default_rng(5).normal(2, 1, size=(9, WIDTH)).astype(np.float32)


def labelled_samples(samples: int, classes: int) -> tuple[Array, Rows]:
    rng = np.random.default_rng(3)
    rows = np.sort(np.arange(samples) % classes)
    centres = 3 * rng.normal(size=(classes, WIDTH))
    return centres[rows] + rng.normal(size=(samples, WIDTH)), rows


def taught(embeddings: Array, rows: Rows, spec: str = SPEC) -> StreamingLDA:
    clf = classifier(spec)
    assert isinstance(clf, StreamingLDA)
    clf.use_world(WORLD)
    for embedding, row in zip(embeddings, rows, strict=True):
        clf.learn(embedding, f"object {row}")
    return clf


def familiarity(clf: StreamingLDA, z: NDArray[Any]) -> Array:
    found = clf.familiarity()
    assert found is not None
    return found.best(z, clf.scores(z))


def expected_scores(
    z: Array, embeddings: Array, rows: Rows, share: float, weight: float = WEIGHT
) -> Array:
    """Return (z - c) A (m_j - c) / |m_j - c| by a batch formula.

    The world's mean has a weight in c: with WEIGHT, the best are the familiarity; with 0, these are
    the scores.
    """
    kinds = sorted(set(rows.tolist()))
    means = np.array([embeddings[rows == kind].mean(axis=0) for kind in kinds])
    deviations = embeddings - means[np.searchsorted(kinds, rows)]
    inverse = np.linalg.inv(share * deviations.T @ deviations * WITHIN + 0.1 * np.eye(WIDTH))
    world = WORLD.mean(axis=0, dtype=np.float64)
    origin = (means.sum(axis=0) + weight * world) / (len(kinds) + weight)
    towards = means - origin
    lengths = np.sqrt(np.einsum("ij,jk,ik->i", towards, inverse, towards))
    scores: Array = (z - origin) @ inverse @ towards.T / np.where(lengths > 1e-9, lengths, np.inf)
    return scores


SIZES = pytest.mark.parametrize(("samples", "classes"), [(1, 1), (4, 1), (6, 2), (12, 4), (100, 4)])


@SIZES
def test_the_worlds_mean_is_in_the_origin_of_the_familiarity_alone(
    samples: int, classes: int
) -> None:
    embeddings, rows = labelled_samples(samples, classes)
    z = np.random.default_rng(7).normal(size=(5, WIDTH))
    clf = taught(embeddings, rows)
    expected = expected_scores(z, embeddings, rows, 0.9 / samples).max(axis=1)
    np.testing.assert_allclose(familiarity(clf, z), expected, rtol=1e-6, atol=1e-8)
    expected = expected_scores(z, embeddings, rows, 0.9 / samples, weight=0)
    np.testing.assert_allclose(clf.scores(z), expected, rtol=1e-6, atol=1e-8)


@SIZES
def test_the_familiarity_follows_each_sample(samples: int, classes: int) -> None:
    """It is the same as that of a classifier that solves anew, sample by sample."""
    embeddings, rows = labelled_samples(samples, classes)
    z = np.random.default_rng(7).normal(size=(5, WIDTH))
    spec = SPEC.replace("shrinkage=0.1", "shrinkage=stepped")
    clf = taught(embeddings[:0], rows[:0], spec)
    for count, (embedding, row) in enumerate(zip(embeddings, rows, strict=True), 1):
        clf.learn(embedding, f"object {row}")
        anew = taught(embeddings[:count], rows[:count], spec)
        np.testing.assert_allclose(familiarity(clf, z), familiarity(anew, z), rtol=1e-7)
        weights, bias = anew.linear()
        found = anew.familiarity()
        assert found is not None
        w, b = found.linear(weights, bias)
        np.testing.assert_allclose((z @ w.T + b).max(axis=1), familiarity(clf, z), rtol=1e-7)


def test_following_a_dense_solution_keeps_the_worlds_mean() -> None:
    embeddings, rows = labelled_samples(100, 4)
    clf = taught(embeddings[:80], rows[:80], SPEC)
    z = np.random.default_rng(7).normal(size=(5, WIDTH))
    assert clf.form == "dense"
    for count in range(80, 100):
        clf.learn(embeddings[count], f"object {rows[count]}")
        expected = expected_scores(z, embeddings[: count + 1], rows[: count + 1], 0.9 / (count + 1))
        np.testing.assert_allclose(familiarity(clf, z), expected.max(axis=1), rtol=1e-5, atol=1e-6)


@SIZES
def test_a_sample_left_out_scores_as_if_it_had_never_been_taught(
    samples: int, classes: int
) -> None:
    embeddings, rows = labelled_samples(samples, classes)
    found = taught(embeddings, rows).leave_one_out()
    assert found is not None
    assert found.scores.shape == (samples, classes)
    for index in np.flatnonzero(~found.singleton):
        kept = np.arange(samples) != index
        left = embeddings[index], embeddings[kept], rows[kept], 0.9 / samples
        expected = expected_scores(*left, weight=0)
        np.testing.assert_allclose(found.scores[index], expected, rtol=1e-6, atol=1e-8)
        expected = expected_scores(*left).max()
        np.testing.assert_allclose(found.familiarity[index], expected, rtol=1e-6, atol=1e-8)


@SIZES
def test_with_a_world_no_class_is_left_out(samples: int, classes: int) -> None:
    found = taught(*labelled_samples(samples, classes)).leave_one_out()
    assert found is not None
    assert len(found.class_left_out) == 0


def test_the_scores_of_the_world_are_those_of_its_pictures() -> None:
    clf = taught(*labelled_samples(12, 4))
    found = clf.world_familiarity()
    assert found is not None
    np.testing.assert_allclose(found, familiarity(clf, WORLD), rtol=1e-4)


def test_a_merged_classifier_has_the_same_origin_as_one_that_was_taught_everything() -> None:
    embeddings, rows = labelled_samples(12, 4)
    merged = taught(embeddings[:6], rows[:6])
    merged.merge(taught(embeddings[6:], rows[6:]))
    expected = familiarity(taught(embeddings, rows), WORLD)
    np.testing.assert_allclose(familiarity(merged, WORLD), expected, rtol=1e-6)


def test_forgetting_and_copying_keep_the_world() -> None:
    embeddings, rows = labelled_samples(12, 4)
    clf = copy.deepcopy(taught(embeddings, rows))
    clf.forget("object 3")
    expected = familiarity(taught(embeddings[rows < 3], rows[rows < 3]), WORLD)
    np.testing.assert_allclose(familiarity(clf, WORLD), expected, rtol=1e-6)


def test_the_state_does_not_hold_the_world() -> None:
    clf = taught(*labelled_samples(12, 4))
    plain = classifier(SPEC)
    plain.restore(clf.state())
    for name, array in clf.state().arrays.items():
        np.testing.assert_array_equal(plain.state().arrays[name], array)


def test_without_the_option_a_world_changes_nothing() -> None:
    embeddings, rows = labelled_samples(12, 4)
    spec = SPEC.replace("world=4", "world=0")
    clf, plain = taught(embeddings, rows, spec), classifier(spec)
    for embedding, row in zip(embeddings, rows, strict=True):
        plain.learn(embedding, f"object {row}")
    np.testing.assert_array_equal(clf.scores(WORLD), plain.scores(WORLD))
    assert clf.world_familiarity() is None
    assert clf.familiarity() is None


def test_a_world_of_another_width_does_not_count() -> None:
    clf = classifier(SPEC)
    assert isinstance(clf, StreamingLDA)
    clf.use_world(np.ones((3, WIDTH + 2)))
    clf.learn(np.ones(WIDTH), "mug")
    assert clf.world_familiarity() is None


@pytest.mark.parametrize(
    "spec", ["slda:world=10", "slda:score=cosine,world=-1", "slda:score=cosine,world=1e9"]
)
def test_options_that_do_not_fit_are_refused(spec: str) -> None:
    with pytest.raises(SpecError, match="world"):
        classifier(spec)


def test_a_world_that_is_not_finite_is_refused() -> None:
    clf = classifier(SPEC)
    assert isinstance(clf, StreamingLDA)
    with pytest.raises(FeatureError):
        clf.use_world([[np.nan] * WIDTH])


def test_the_weight_of_the_earlier_map_does_not_depend_on_the_world() -> None:
    """What all classes have in common, relative to the world, says nothing about the labels."""
    embeddings, rows = labelled_samples(40, 5)
    specs = (f"slda:score=cosine,covariance=blocks,blocks=1+1x12,world={k}" for k in (0, 4))
    weights = [taught(embeddings, rows, spec)._answered().weights for spec in specs]
    assert weights[0] == pytest.approx(weights[1])
