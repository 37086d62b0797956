"""Leave-one-out scores against means and scatter that are recomputed without the sample."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.classifiers import classifier
from robocle.classifiers.scatter.leave_one_out import MAX_SAMPLES, LeaveOneOut, chosen_samples
from robocle.classifiers.scatter.subsample import SUBSAMPLE
from robocle.classifiers.slda import StreamingLDA

Array = NDArray[np.float64]
WIDTH, CLASSES = 24, 4


def labelled_samples(
    samples: int, width: int = WIDTH, classes: int = CLASSES
) -> tuple[Array, list[int]]:
    rng = np.random.default_rng(3)
    rows = [index % classes for index in range(samples)]
    centres = 3 * rng.normal(size=(classes, width))
    return centres[rows] + rng.normal(size=(samples, width)), rows


def taught(spec: str, embeddings: Array, rows: list[int]) -> StreamingLDA:
    clf = classifier(spec)
    for embedding, row in zip(embeddings, rows, strict=True):
        clf.learn(embedding, f"object {row}")
    assert isinstance(clf, StreamingLDA)
    return clf


def leave_one_out(clf: StreamingLDA) -> LeaveOneOut:
    found = clf.leave_one_out()
    assert found is not None
    return found


def cosine_scores(z: Array, means: Array, inverse: Array) -> Array:
    centre = means.mean(axis=0)
    towards = means - centre
    lengths = np.sqrt(np.einsum("ij,jk,ik->i", towards, inverse, towards))
    scores: Array = (z - centre) @ inverse @ towards.T / lengths
    return scores


def without(embeddings: Array, rows: list[int], out: int, share: float, ridge: Array) -> Array:
    """The scores of a sample with means and scatter computed from all other samples."""
    kept = [index for index in range(len(rows)) if index != out]
    labels = np.array(rows)
    means = np.array(
        [embeddings[[i for i in kept if rows[i] == k]].mean(0) for k in range(CLASSES)]
    )
    deviations = embeddings[kept] - means[labels[kept]]
    covariance = share * deviations.T @ deviations + np.diag(ridge)
    return cosine_scores(embeddings[out], means, np.linalg.inv(covariance))


@pytest.mark.parametrize("samples", [20, 100], ids=["compressed", "dense"])
def test_a_sample_left_out_scores_as_if_it_had_never_been_taught(samples: int) -> None:
    embeddings, rows = labelled_samples(samples)
    clf = taught("slda:shrinkage=0.1,score=cosine", embeddings, rows)
    found = leave_one_out(clf)
    assert clf.form == ("dense" if samples == 100 else "compressed")
    order = [index for row in range(CLASSES) for index in range(row, samples, CLASSES)]
    assert len(found.rows) == samples
    for place, index in enumerate(order):
        expected = without(embeddings, rows, index, 0.9 / samples, np.full(WIDTH, 0.1))
        np.testing.assert_allclose(found.scores[place], expected, rtol=1e-6, atol=1e-8)


def test_with_one_covariance_per_block_the_sample_is_left_out_of_all() -> None:
    embeddings, rows = labelled_samples(20)
    spec = "slda:shrinkage=0.1,score=cosine,covariance=blocks,blocks=3"
    found = leave_one_out(taught(spec, embeddings, rows))
    labels = np.array(rows)
    kept = np.arange(1, 20)
    means = np.array([embeddings[kept][labels[kept] == k].mean(0) for k in range(CLASSES)])
    deviations = embeddings[kept] - means[labels[kept]]
    scatter = deviations.T @ deviations
    blocks = np.kron(np.eye(3), np.ones((WIDTH // 3, WIDTH // 3)))
    inverse = np.linalg.inv(0.9 / 20 * scatter * blocks + 0.1 * np.eye(WIDTH))
    expected = cosine_scores(embeddings[0], means, inverse)
    np.testing.assert_allclose(found.scores[0], expected, rtol=1e-6)


def best_without_class(
    embeddings: Array, rows: list[int], share: float, ridge: float, blocks: int = 1
) -> Array:
    """The best scores of all samples, each with means and scatter of the other classes only."""
    labels, width = np.array(rows), embeddings.shape[1]
    within = np.kron(np.eye(blocks), np.ones((width // blocks, width // blocks)))
    best = np.empty(len(rows))
    for left in set(rows):
        others = [k for k in sorted(set(rows)) if k != left]
        means = np.array([embeddings[labels == k].mean(axis=0) for k in others])
        deviations = np.vstack(
            [embeddings[labels == k] - mean for k, mean in zip(others, means, strict=True)]
        )
        covariance = share * deviations.T @ deviations * within + ridge * np.eye(width)
        for index in np.flatnonzero(labels == left):
            scores = cosine_scores(embeddings[index], means, np.linalg.inv(covariance))
            best[index] = scores.max()
    return best[np.argsort(labels, kind="stable")]


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("samples", [20, 22, 100], ids=["compressed", "unbalanced", "dense"])
def test_with_its_class_left_out_a_sample_scores_as_if_the_class_had_never_been_taught(
    samples: int, blocks: int
) -> None:
    """Means, centre and covariance are those of the other classes; the shrinkage is the same."""
    embeddings, rows = labelled_samples(samples)
    spec = f"slda:shrinkage=0.1,score=cosine,covariance=blocks,blocks={blocks}"
    found = leave_one_out(taught(spec, embeddings, rows))
    expected = best_without_class(embeddings, rows, 0.9 / samples, 0.1, blocks)
    np.testing.assert_allclose(found.class_left_out, expected, rtol=1e-8)


def test_the_only_sample_of_a_class_is_scored_by_the_other_classes() -> None:
    embeddings, rows = labelled_samples(7)
    found = leave_one_out(taught("slda:shrinkage=0.1,score=cosine", embeddings, rows))
    expected = best_without_class(embeddings, rows, 0.9 / 7, 0.1)
    np.testing.assert_allclose(found.class_left_out, expected, rtol=1e-8)


def test_classes_of_one_sample_each_are_left_out_of_the_means() -> None:
    embeddings, rows = labelled_samples(CLASSES)
    found = leave_one_out(taught("slda:score=cosine", embeddings, rows))
    expected = best_without_class(embeddings, rows, 0.0, 1.0)
    np.testing.assert_allclose(found.class_left_out, expected, rtol=1e-8)


@pytest.mark.parametrize("shrinkage", ["0.1", "oas"])
def test_dense_leave_one_out_scores_are_exact_after_every_further_sample(shrinkage: str) -> None:
    """The solution for predictions follows new samples with an error of up to 1e-6."""
    embeddings, rows = labelled_samples(130)
    spec = f"slda:shrinkage={shrinkage},score=cosine"
    clf = taught(spec, embeddings[:100], rows[:100])
    clf.scores(embeddings[:1])
    assert clf.form == "dense"
    for count in range(100, 130):
        clf.learn(embeddings[count], f"object {rows[count]}")
        clf.scores(embeddings[:1])
        found = leave_one_out(clf)
        fresh = leave_one_out(taught(spec, embeddings[: count + 1], rows[: count + 1]))
        np.testing.assert_allclose(found.scores, fresh.scores, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.class_left_out, fresh.class_left_out, rtol=1e-9)


@pytest.mark.parametrize("width", [24, 200], ids=["dense", "compressed"])
def test_with_estimated_shrinkage_unknown_scores_are_close_to_those_of_a_new_estimate(
    width: int,
) -> None:
    """The share and the ridge stay those of all classes; estimating them again changes little."""
    classes, spec = 10, "slda:score=cosine"
    embeddings, rows = labelled_samples(60, width=width, classes=classes)
    found = leave_one_out(taught(spec, embeddings, rows))
    again = np.empty(0)
    for left in range(classes):
        kept = [index for index in range(60) if rows[index] != left]
        clf = taught(spec, embeddings[kept], [rows[index] for index in kept])
        again = np.append(again, clf.scores(embeddings[left::classes]).max(axis=1))
    assert found.class_left_out.mean() == pytest.approx(again.mean(), rel=0.03)


def test_scores_are_finite_with_the_smallest_shrinkage() -> None:
    embeddings, rows = labelled_samples(20, width=200)
    found = leave_one_out(taught("slda:shrinkage=1e-9,score=cosine", embeddings, rows))
    assert np.isfinite(found.class_left_out).all()
    assert np.isfinite(found.scores).all()


def test_with_two_classes_none_can_be_left_out() -> None:
    found = leave_one_out(taught("slda:score=cosine", *labelled_samples(10, classes=2)))
    assert len(found.class_left_out) == 0
    assert len(found.scores) == 10


def test_the_only_sample_of_a_class_is_marked_as_a_singleton() -> None:
    embeddings, rows = labelled_samples(7)
    found = leave_one_out(taught("slda:score=cosine", embeddings, rows))
    assert found.singleton.tolist() == [False] * 6 + [True]
    assert np.isfinite(found.scores).all()


@pytest.mark.parametrize("width", [WIDTH, 200], ids=["dense", "compressed"])
@pytest.mark.parametrize("seed", range(6))
def test_after_merges_a_sample_left_out_scores_as_if_all_had_been_taught_in_turn(
    width: int, seed: int
) -> None:
    """A label may be new in any of the three, and have one sample there."""
    rng = np.random.default_rng(seed)
    embeddings, _ = labelled_samples(60, width=width)
    rows = [*range(CLASSES), *rng.integers(0, CLASSES, 56).tolist()]
    cuts = [0, *sorted(rng.choice(np.arange(CLASSES, 60), 2, replace=False).tolist()), 60]
    spec = "slda:shrinkage=0.1,score=cosine"
    whole = taught(spec, embeddings, rows)
    merged, *others = [
        taught(spec, embeddings[start:end], rows[start:end])
        for start, end in itertools.pairwise(cuts)
    ]
    for other in others:
        merged.merge(other)
    assert merged.counts == whole.counts
    found, order = leave_one_out(merged), np.argsort(rows, kind="stable")
    scores = [without(embeddings, rows, i, 0.9 / 60, np.full(width, 0.1)) for i in order]
    np.testing.assert_allclose(found.scores, scores, rtol=1e-6, atol=1e-8)
    unknown = best_without_class(embeddings, rows, 0.9 / 60, 0.1)
    np.testing.assert_allclose(found.class_left_out, unknown, rtol=1e-6)
    assert merged.forgets_exactly
    for clf in (whole, merged):
        clf.forget("object 1")
    query = rng.normal(size=(3, width))
    np.testing.assert_allclose(merged.scores(query), whole.scores(query), rtol=1e-6, atol=1e-8)


def test_merged_classifiers_score_as_many_samples_as_both_were_taught() -> None:
    embeddings, rows = labelled_samples(24)
    clf = taught("slda:score=cosine", embeddings[:12], rows[:12])
    clf.merge(taught("slda:score=cosine", embeddings[12:], rows[12:]))
    found = leave_one_out(clf)
    assert len(found.rows) == 24
    assert np.isfinite(found.scores).all()


def test_beyond_the_limit_of_class_factors_a_subsample_is_scored_and_stored() -> None:
    embeddings, rows = labelled_samples(400)
    clf = taught("slda:score=cosine", embeddings, rows)
    assert not clf.forgets_exactly
    found = leave_one_out(clf)
    assert 0 < len(found.rows) <= MAX_SAMPLES
    assert set(found.rows) == set(range(CLASSES))
    right = (found.scores.argmax(axis=1) == found.rows).mean()
    assert right > 0.9
    again = classifier("slda:score=cosine")
    again.restore(clf.state())
    assert isinstance(again, StreamingLDA)
    np.testing.assert_allclose(leave_one_out(again).scores, found.scores, rtol=1e-6)


def test_a_state_of_many_samples_holds_few_rows() -> None:
    state = taught("slda:score=cosine", *labelled_samples(2000)).state()
    assert len(state.arrays["0.sample_rows"]) <= SUBSAMPLE


def test_samples_learned_later_are_scored_too() -> None:
    embeddings, rows = labelled_samples(20)
    clf = taught("slda:score=cosine", embeddings, rows)
    before = leave_one_out(clf)
    assert leave_one_out(clf) is before
    clf.learn(embeddings[0] + 1, "object 0")
    assert len(leave_one_out(clf).rows) == 21


@pytest.mark.parametrize(
    "spec",
    [
        "slda",
        "slda:score=cosine,scatter=published",
        "ncm",
        "slda:score=cosine,scale=blocks,blocks=3",
    ],
)
def test_other_classifiers_have_no_leave_one_out_scores(spec: str) -> None:
    clf = classifier(spec)
    for embedding, row in zip(*labelled_samples(20), strict=True):
        clf.learn(embedding, str(row))
    assert clf.leave_one_out() is None


def test_chosen_samples_are_spread_over_the_classes_and_bounded() -> None:
    assert chosen_samples([2, 0, 1]) == [(0, 0), (0, 1), (2, 0)]
    chosen = chosen_samples([1000] * 10)
    assert len(chosen) <= MAX_SAMPLES
    assert {row for row, _ in chosen} == set(range(10))
    chosen = chosen_samples([5] * 1000)
    assert len(chosen) == MAX_SAMPLES
    rows = np.array([-1, *(row for row, _ in chosen), 1000])
    assert np.diff(rows).max() <= 3 * 1000 / MAX_SAMPLES


def test_a_further_class_replaces_at_most_one_of_the_chosen_ones() -> None:
    for classes in range(130, 400):
        before = {row for row, _ in chosen_samples([5] * classes)}
        after = {row for row, _ in chosen_samples([5] * (classes + 1))}
        assert len(before - after) <= 1


def test_with_many_classes_those_with_several_samples_come_first() -> None:
    chosen = chosen_samples([1, 5] * 200)
    assert len(chosen) == MAX_SAMPLES
    assert all(row % 2 for row, _ in chosen)
    mixed = [row for row, _ in chosen_samples([1] * 500 + [5] * 100)]
    assert len(mixed) == MAX_SAMPLES
    assert set(range(500, 600)) <= set(mixed)


def test_chunks_score_samples_of_every_class_as_if_each_were_scored_alone() -> None:
    classes = 2 * MAX_SAMPLES + 5
    embeddings, rows = labelled_samples(2 * classes, width=12, classes=classes)
    clf = taught("slda:score=cosine", embeddings, rows)
    chunks = list(clf.leave_one_out_of_all())
    assert all(len(chunk.rows) <= MAX_SAMPLES for chunk in chunks)
    assert np.concatenate([chunk.rows for chunk in chunks]).tolist() == list(range(classes))
    bounded = leave_one_out(clf)
    assert len(bounded.rows) == MAX_SAMPLES
    together = np.vstack([chunk.scores for chunk in chunks])
    np.testing.assert_allclose(together[bounded.rows], bounded.scores, rtol=1e-9, atol=1e-12)
    unknown = np.concatenate([chunk.class_left_out for chunk in chunks])
    np.testing.assert_allclose(unknown[bounded.rows], bounded.class_left_out, rtol=1e-9)


def test_a_chunk_holds_every_sample_of_its_classes() -> None:
    embeddings, rows = labelled_samples(3 * 90, width=12, classes=90)
    clf = taught("slda:score=cosine", embeddings, rows)
    assert [len(chunk.rows) for chunk in clf.leave_one_out_of_all()] == [90]
