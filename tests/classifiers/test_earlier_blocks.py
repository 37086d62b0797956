"""Blocks of an earlier map: narrower, with a weight of their own, and as exact as the others."""

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.classifiers import StreamingClassifier, classifier
from robocle.classifiers.scatter.block_weights import CANDIDATES, PRIOR
from robocle.classifiers.slda import StreamingLDA
from robocle.errors import FeatureError, SpecError

Array = NDArray[np.float64]
LAYOUT, WIDTHS = "2+2x8", (16, 16, 8, 8)
WIDTH, LAST = sum(WIDTHS), 32
FIXED = f"slda:shrinkage=0.1,covariance=blocks,score=cosine,blocks={LAYOUT},earlier="
AUTO = f"slda:shrinkage=oas,covariance=blocks,score=cosine,blocks={LAYOUT},earlier=auto"


def labelled_samples(
    per_class: int, classes: int = 4, last: float = 1.0, earlier: float = 1.0, seed: int = 3
) -> list[tuple[Array, str]]:
    """Samples whose classes lie apart by these distances in the two maps; one class in turn."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, WIDTH))
    centres[:, :LAST] *= last
    centres[:, LAST:] *= earlier
    return [
        (centres[row] + rng.normal(size=WIDTH), f"object {row}")
        for _ in range(per_class)
        for row in range(classes)
    ]


def taught(spec: str, samples: list[tuple[Array, str]]) -> StreamingLDA:
    clf: StreamingClassifier = classifier(spec)
    for embedding, label in samples:
        clf.learn(embedding, label)
    assert isinstance(clf, StreamingLDA)
    return clf


def weight_of(clf: StreamingLDA) -> float:
    """The weight of the earlier blocks, by what they add to the scores.

    The covariance of each block is the same whatever its weight.
    """
    weights, _ = clf._scatters.solve(clf._regularisers(), [1.0] * len(WIDTHS))
    found, _ = clf._scatters.solve(clf._regularisers(), clf._answered().weights)
    return float(np.abs(found[:, LAST:]).sum() / np.abs(weights[:, LAST:]).sum())


def brute_force(
    samples: list[tuple[Array, str]], z: Array, share: float, ridge: float, weight: float
) -> Array:
    """Cosine scores from full matrices: (z - c) A (m - c) / |m - c|, A block by block."""
    labels = sorted({label for _, label in samples})
    own = [np.array([v for v, label in samples if label == name]) for name in labels]
    means = np.array([rows.mean(axis=0) for rows in own])
    centred = np.vstack([rows - mean for rows, mean in zip(own, means, strict=True)])
    inverse, start = np.zeros((WIDTH, WIDTH)), 0
    for number, width in enumerate(WIDTHS):
        block = slice(start, start + width)
        covariance = share * centred[:, block].T @ centred[:, block] + ridge * np.eye(width)
        inverse[block, block] = (1.0 if number < 2 else weight) * np.linalg.inv(covariance)
        start += width
    towards = means - means.mean(axis=0)
    lengths = np.sqrt(np.einsum("ij,jk,ik->i", towards, inverse, towards))
    scores: Array = (z - means.mean(axis=0)) @ inverse @ towards.T / lengths
    return scores


@pytest.mark.parametrize("weight", [0, 0.5, 4])
@pytest.mark.parametrize("per_class", [3, 40], ids=["compressed", "dense"])
def test_scores_weigh_the_earlier_blocks_as_the_formula_does(per_class: int, weight: float) -> None:
    samples = labelled_samples(per_class)
    clf = taught(f"{FIXED}{weight}", samples)
    z = np.random.default_rng(0).normal(size=(5, WIDTH))
    expected = brute_force(samples, z, 0.9 / len(samples), 0.1, weight)
    np.testing.assert_allclose(clf.scores(z), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("per_class", [3, 25], ids=["compressed", "dense"])
def test_a_sample_is_left_out_of_the_earlier_blocks_too(per_class: int) -> None:
    samples = labelled_samples(per_class)
    found = taught(f"{FIXED}2", samples).leave_one_out()
    assert found is not None
    in_order = [s for row in range(4) for s in samples if s[1] == f"object {row}"]
    assert len(found.scores) == len(in_order)
    for scores, left in list(zip(found.scores, in_order, strict=True))[:: max(1, per_class // 3)]:
        rest = [sample for sample in samples if sample is not left]
        expected = brute_force(rest, left[0], 0.9 / len(samples), 0.1, 2)
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-8)


def expected_weight(samples: list[tuple[Array, str]]) -> float:
    """The estimate by its definition, each sample left out by teaching all others."""
    losses = []
    for weight in CANDIDATES:
        margins, own = [], []
        for left in samples:
            rest = [sample for sample in samples if sample is not left]
            scores = brute_force(rest, left[0], 0.9 / len(samples), 0.1, float(weight))
            place = int(left[1].removeprefix("object "))
            own.append(scores[place])
            margins.append(np.delete(scores, place) - scores[place])
        scale = 0.1 * np.mean(np.abs(own))
        losses.append(np.log1p(np.exp(np.array(margins) / scale).sum(axis=1)).sum())
    posterior = PRIOR * np.exp(min(losses) - np.array(losses))
    return float((posterior @ np.sqrt(CANDIDATES) / posterior.sum()) ** 2)


@pytest.mark.parametrize(("last", "earlier"), [(1.0, 0.2), (0.4, 0.6), (0.2, 1.5)])
def test_the_weight_is_the_posterior_mean_over_left_out_samples(
    last: float, earlier: float
) -> None:
    samples = labelled_samples(4, last=last, earlier=earlier)
    clf = taught(f"{FIXED}auto", samples)
    assert weight_of(clf) == pytest.approx(expected_weight(samples), rel=1e-6)


def test_the_map_that_tells_the_labels_apart_gets_the_weight() -> None:
    in_last = weight_of(taught(AUTO, labelled_samples(6, classes=8, last=1, earlier=0.0)))
    in_earlier = weight_of(taught(AUTO, labelled_samples(6, classes=8, last=0.0, earlier=1)))
    assert in_last < 0.5
    assert in_earlier > 2


def test_one_picture_per_label_says_nothing_about_the_weight() -> None:
    prior = float((PRIOR @ np.sqrt(CANDIDATES) / PRIOR.sum()) ** 2)
    for samples in (labelled_samples(1), labelled_samples(5, classes=1)):
        clf = taught(AUTO, samples)
        clf.scores(samples[0][0][None])
        assert clf._answered().weights[-1] == pytest.approx(prior)


def test_the_weight_does_not_depend_on_the_order_of_lessons() -> None:
    samples = labelled_samples(5)
    weights = [weight_of(taught(AUTO, each)) for each in (samples, samples[::-1])]
    assert weights[0] == pytest.approx(weights[1], rel=1e-6)


@pytest.mark.parametrize("per_class", [3, 30], ids=["compressed", "dense"])
def test_merging_forgetting_and_storing_keep_estimated_weights_exact(per_class: int) -> None:
    samples = labelled_samples(per_class, last=0.5, earlier=0.5)
    queries = np.array([embedding for embedding, _ in samples[:6]])
    half = len(samples) // 2
    merged = taught(AUTO, samples[:half])
    merged.merge(taught(AUTO, samples[half:]))
    whole = taught(AUTO, samples)
    np.testing.assert_allclose(merged.scores(queries), whole.scores(queries), rtol=1e-5, atol=1e-6)
    again = classifier(AUTO)
    again.restore(whole.state())
    np.testing.assert_allclose(again.scores(queries), whole.scores(queries), rtol=1e-9)
    whole.forget("object 2")
    rest = taught(AUTO, [sample for sample in samples if sample[1] != "object 2"])
    np.testing.assert_allclose(whole.scores(queries), rest.scores(queries), rtol=1e-5, atol=1e-6)


def test_embeddings_without_an_earlier_map_are_learned_as_before() -> None:
    """A backbone that has none makes narrower embeddings."""
    samples = [(embedding[:4], label) for embedding, label in labelled_samples(3)]
    narrow, plain = (
        taught(AUTO, samples),
        taught("slda:covariance=blocks,score=cosine,blocks=2", []),
    )
    for embedding, label in samples:
        plain.learn(embedding, label)
    np.testing.assert_allclose(
        narrow.scores(samples[0][0][None]), plain.scores(samples[0][0][None])
    )


@pytest.mark.parametrize("earlier", ["-1", "17", "often"])
def test_a_weight_out_of_range_is_refused(earlier: str) -> None:
    with pytest.raises(SpecError, match="earlier"):
        classifier(f"{FIXED}{earlier}")


@pytest.mark.parametrize("layout", ["2+2", "0+2x8", "2+0x8", "2+2x0", "many", "65"])
def test_a_layout_that_is_none_is_refused(layout: str) -> None:
    with pytest.raises(SpecError, match="not a number of blocks"):
        classifier(f"slda:blocks={layout}")


def test_an_embedding_that_does_not_fit_the_layout_is_refused() -> None:
    with pytest.raises(FeatureError, match="width 49"):
        classifier(AUTO).learn(np.ones(49), "object")
