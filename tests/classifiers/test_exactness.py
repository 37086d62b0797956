"""Merging and forgetting are equivalent to teaching from scratch, by plain float64 formulas."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robocle.classifiers import StreamingClassifier, classifier
from robocle.classifiers.scatter import blocks, class_samples
from robocle.classifiers.slda import StreamingLDA
from robocle.classifiers.state import ClassifierState, StateArrays
from robocle.errors import FeatureError, InexactError

Floats = NDArray[np.float64]
Sample = tuple[Floats, str]
MERGING = [
    "ncm",
    "sovr",
    "snb",
    "sqda",
    "fecam",
    "ridge",
    "ridge:features=64",
    "klda:features=48",
    "slda",
    "slda:shrinkage=1e-4",
    "slda:scale=blocks,blocks=3",
    "slda:covariance=blocks,blocks=3",
    "slda:covariance=blocks,scale=blocks,blocks=3,shrinkage=0.1",
    "slda:shrinkage=stepped",
    "slda:shrinkage=stepped,score=cosine,covariance=blocks,blocks=3",
]
NOT_MERGING = ["slda:scatter=published", "cbcl", "perceptron", "finetune", "icarl"]


def samples_of(count: int, width: int, labels: int, seed: int) -> list[Sample]:
    """Sparse positive embeddings, as from a network; the second repeats the first."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 1, (labels, width))
    rows = rng.integers(0, labels, count)
    embeddings = np.maximum(centres[rows] + 0.7 * rng.normal(size=(count, width)), 0)
    if count > 1:
        embeddings[1] = embeddings[0]
    embeddings = embeddings.astype(np.float32).astype(np.float64)
    return [(embedding, f"object {row}") for embedding, row in zip(embeddings, rows, strict=True)]


def taught(spec: str, given: list[Sample]) -> StreamingClassifier:
    clf = classifier(spec)
    for embedding, label in given:
        clf.learn(embedding, label)
    return clf


def by_label(clf: StreamingClassifier, queries: Floats) -> dict[str, Floats]:
    return dict(zip(clf.labels, clf.scores(queries).T, strict=True))


def require_same(found: dict[str, Floats], expected: dict[str, Floats]) -> None:
    assert set(found) == set(expected)
    largest = max(float(np.abs(scores).max()) for scores in expected.values())
    for label, scores in expected.items():
        assert float(np.abs(found[label] - scores).max()) <= 1e-6 * largest


def reference(given: list[Sample], queries: Floats, clf: StreamingLDA) -> dict[str, Floats]:
    """The scores of slda's exact scatter from all samples at once, by full matrices."""
    embeddings = np.array([embedding for embedding, _ in given])
    names = list(dict.fromkeys(label for _, label in given))
    own = [np.array([v for v, label in given if label == name]) for name in names]
    means = np.array([rows.mean(axis=0) for rows in own])
    total = np.zeros((len(queries), len(names)))
    blocks = int(clf.blocks) if clf.covariance == "blocks" else 1
    for columns in np.split(np.arange(embeddings.shape[1]), blocks):
        centred = np.vstack(
            [rows[:, columns] - mean[columns] for rows, mean in zip(own, means, strict=True)]
        )
        covariance = centred.T @ centred / len(given)
        weights = np.linalg.solve(
            shrunk(covariance, clf.shrinkage, len(given) - len(names)), means[:, columns].T
        )
        total += queries[:, columns] @ weights - 0.5 * (means[:, columns].T * weights).sum(axis=0)
    return dict(zip(names, total.T, strict=True))


def shrunk(covariance: Floats, shrinkage: float | str, freedom: int) -> Floats:
    size = len(covariance)
    trace, square = np.trace(covariance), (covariance**2).sum()
    if not isinstance(shrinkage, str):
        return np.asarray((1 - shrinkage) * covariance + shrinkage * np.eye(size))
    if trace == 0:
        return np.eye(size)
    spread = (freedom + 1 - 2 / size) * (square - trace**2 / size)
    share = min(1.0, ((1 - 2 / size) * square + trace**2) / spread)
    return np.asarray((1 - share) * covariance + share * trace / size * np.eye(size))


@pytest.mark.parametrize("spec", MERGING)
@pytest.mark.parametrize("counts", [(9, 7), (40, 3), (3, 40), (40, 40)])
def test_two_merged_classifiers_equal_one_that_was_taught_everything(
    spec: str, counts: tuple[int, int]
) -> None:
    everything = samples_of(sum(counts), 24, 5, seed=1)
    first = taught(spec, everything[: counts[0]])
    second = taught(spec, everything[counts[0] :])
    queries = np.array([embedding for embedding, _ in everything])
    before = by_label(second, queries)
    first.merge(second)
    together = taught(spec, everything)
    assert first.counts == together.counts
    require_same(by_label(first, queries), by_label(together, queries))
    for label, scores in by_label(second, queries).items():
        np.testing.assert_array_equal(scores, before[label])


@pytest.mark.parametrize("spec", MERGING)
@pytest.mark.parametrize("count", [6, 16, 120])
def test_a_forgotten_label_leaves_no_trace(spec: str, count: int) -> None:
    everything = samples_of(count, 24, 4, seed=2)
    clf = taught(spec, everything)
    assert clf.forgets_exactly
    name = everything[-1][1]
    clf.forget(name)
    rest = [sample for sample in everything if sample[1] != name]
    queries = np.array([embedding for embedding, _ in everything])
    require_same(by_label(clf, queries), by_label(taught(spec, rest), queries))


@pytest.mark.parametrize("spec", MERGING)
def test_merging_with_nothing_changes_nothing(spec: str) -> None:
    everything = samples_of(12, 24, 3, seed=3)
    queries = np.array([embedding for embedding, _ in everything])
    full, empty = taught(spec, everything), classifier(spec)
    expected = by_label(full, queries)
    full.merge(classifier(spec))
    empty.merge(full)
    require_same(by_label(full, queries), expected)
    require_same(by_label(empty, queries), expected)


def test_a_classifier_merged_with_itself_equals_one_taught_twice() -> None:
    everything = samples_of(12, 24, 3, seed=4)
    queries = np.array([embedding for embedding, _ in everything])
    clf = taught("slda", everything)
    clf.merge(clf)
    require_same(by_label(clf, queries), by_label(taught("slda", everything * 2), queries))


@pytest.mark.parametrize("spec", NOT_MERGING)
def test_classifiers_that_depend_on_the_order_of_samples_do_not_merge(spec: str) -> None:
    clf = taught(spec, samples_of(8, 24, 2, seed=5))
    counts = clf.counts
    with pytest.raises(InexactError, match="cannot be merged"):
        clf.merge(taught(spec, samples_of(8, 24, 4, seed=6)))
    assert clf.counts == counts


def test_only_classifiers_with_equal_options_and_widths_can_be_merged() -> None:
    clf = taught("slda", samples_of(8, 24, 2, seed=5))
    with pytest.raises(InexactError, match="only equal classifiers can be merged"):
        clf.merge(taught("ncm", samples_of(8, 24, 2, seed=5)))
    with pytest.raises(InexactError, match="only equal classifiers can be merged"):
        clf.merge(taught("slda:shrinkage=0.5", samples_of(8, 24, 2, seed=5)))
    with pytest.raises(FeatureError, match="width 48"):
        clf.merge(taught("slda", samples_of(8, 48, 2, seed=5)))


def test_beyond_the_limit_of_class_factors_forgetting_is_not_exact() -> None:
    clf = taught("slda", samples_of(300, 24, 3, seed=7))
    assert not clf.forgets_exactly
    clf.forget("object 1")
    assert len(clf.labels) == 2


def test_the_basis_keeps_no_direction_of_a_forgotten_label() -> None:
    everything = samples_of(40, 300, 4, seed=8)
    clf = taught("slda", everything)
    clf.forget("object 2")
    rest = [embedding for embedding, label in everything if label != "object 2"]
    assert isinstance(clf, StreamingLDA)
    basis = StateArrays(clf._scatters.forms[0].state())["basis"]
    assert len(basis) == np.linalg.matrix_rank(np.array(rest))
    assert np.abs(basis @ basis.T - np.eye(len(basis))).max() < 1e-10


@pytest.mark.slow
@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.sampled_from([64, 96, 192]),
    spec=st.sampled_from(
        ["slda", "slda:shrinkage=1e-4", "slda:covariance=blocks,blocks=2,shrinkage=oas"]
    ),
    plan=st.lists(
        st.one_of(
            st.tuples(st.just("teach"), st.integers(1, 20)),
            st.tuples(st.just("forget"), st.integers(0, 4)),
            st.tuples(st.just("merge"), st.integers(1, 30)),
            st.tuples(st.just("predict"), st.just(1)),
            st.tuples(st.just("store"), st.just(1)),
        ),
        min_size=2,
        max_size=12,
    ),
)
def test_any_order_of_merging_and_forgetting_gives_the_scores_of_the_formulas(
    seed: int, width: int, spec: str, plan: list[tuple[str, int]]
) -> None:
    follow(spec, width, plan, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "spec"), [
    (1280, "slda"),
    (3840, "slda:covariance=blocks,blocks=3"),
    (3840, "slda:shrinkage=1e-4"),
])  # fmt: skip
def test_wide_embeddings_merge_and_forget_exactly(width: int, spec: str) -> None:
    plan = [("teach", 30), ("merge", 25), ("forget", 1), ("store", 1), ("merge", 10), ("forget", 3)]
    follow(spec, width, plan, seed=9)


def follow(spec: str, width: int, plan: list[tuple[str, int]], seed: int) -> None:
    """Carry out the plan, and compare with the formulas on the remaining samples."""
    clf = classifier(spec)
    left: list[Sample] = []
    fresh = iter(samples_of(30 * len(plan), width, 5, seed))
    for verb, number in plan:
        if verb in ("teach", "merge"):
            new = [next(fresh) for _ in range(number)]
            clf = follow_teaching(clf, spec, verb, new)
            left += new
        elif verb == "forget" and f"object {number}" in clf.labels and clf.forgets_exactly:
            clf.forget(f"object {number}")
            left = [sample for sample in left if sample[1] != f"object {number}"]
        elif verb == "predict" and left:
            clf.scores(left[0][0][None])
        elif verb == "store":
            again = classifier(spec)
            again.restore(clf.state())
            clf = again
    if left:
        assert isinstance(clf, StreamingLDA)
        queries = np.array([embedding for embedding, _ in left[:10]])
        require_same(by_label(clf, queries), reference(left, queries, clf))


def follow_teaching(
    clf: StreamingClassifier, spec: str, verb: str, new: list[Sample]
) -> StreamingClassifier:
    if verb == "merge":
        clf.merge(taught(spec, new))
        return clf
    for embedding, label in new:
        clf.learn(embedding, label)
    return clf


def assert_embeddings(clf: StreamingClassifier, lessons: list[tuple[Any, str]]) -> None:
    """Check that a state has the embeddings of one label after another."""
    expected = [z for name in clf.labels for z, label in lessons if label == name]
    np.testing.assert_allclose(clf.state().arrays["embeddings"], expected, atol=1e-12)


@pytest.mark.parametrize("spec", ["slda", "slda:blocks=2,covariance=blocks"])
def test_a_further_state_computes_only_the_embeddings_taught_since(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lessons = [(z.astype(np.float32), label) for z, label in samples_of(60, 96, 4, seed=9)]
    clf, computed = classifier(spec), list[int]()
    compute = class_samples.float32_if_exact

    def counted(exact: NDArray[np.float64]) -> NDArray[np.float32] | None:
        computed.append(len(exact))
        return compute(exact)

    monkeypatch.setattr(blocks, "float32_if_exact", counted)
    for number, (embedding, label) in enumerate(lessons):
        clf.learn(embedding, label)
        if number in (0, 10, 11, 40, 59):
            found, copied = clf.state().arrays["embeddings"], copy.deepcopy(clf)
            assert_embeddings(clf, lessons[: number + 1])
            assert copied.state().arrays["embeddings"] is found
    assert sorted(set(computed)) == [1, 10, 19, 29]
    clf.forget("object 1")
    assert_embeddings(clf, [lesson for lesson in lessons if lesson[1] != "object 1"])


def test_a_state_and_its_classifier_cannot_be_changed_through_each_other() -> None:
    lessons = [(z.astype(np.float32), label) for z, label in samples_of(20, 96, 4, seed=9)]
    clf = taught("slda", [(z.astype(np.float64), label) for z, label in lessons])
    with pytest.raises(ValueError, match="read-only"):
        clf.state().arrays["embeddings"][0] = 0
    arrays = {name: array.copy() for name, array in clf.state().arrays.items()}
    again = classifier("slda")
    again.restore(ClassifierState(clf.labels, arrays))
    arrays["embeddings"][:] = 0
    assert_embeddings(again, lessons)
