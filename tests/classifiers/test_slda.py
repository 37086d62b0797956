"""SLDA against batch formulas, in both forms of the scatter and across the change of form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.covariance import OAS
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from robocle.classifiers import classifier
from robocle.classifiers.scatter.scatter_sum import StoredSum
from robocle.classifiers.scatter.shrinkage import oracle_approximating
from robocle.classifiers.scatter.symmetric_factor import SymmetricFactor
from robocle.classifiers.slda import StreamingLDA
from robocle.classifiers.state import Vector

Floats = NDArray[np.float64]


def batch_scatter(embeddings: Floats, labels: list[str], scatter: str) -> Floats:
    """n * Sigma by the recursions of docs/paper-and-code.md, one sample at a time."""
    covariance = np.zeros((embeddings.shape[1],) * 2)
    seen: dict[str, list[Floats]] = {}
    for n, (embedding, label) in enumerate(zip(embeddings, labels, strict=True)):
        own = seen.setdefault(label, [])
        mean = np.mean(own, axis=0) if own else np.zeros_like(embedding)
        before = n if scatter == "published" else len(own)
        delta = before / (before + 1) * np.outer(embedding - mean, embedding - mean)
        covariance = (n * covariance + delta) / (n + 1)
        own.append(embedding)
    return covariance * len(embeddings)


def expected_scores(
    embeddings: Floats, labels: list[str], queries: Floats, clf: StreamingLDA
) -> Floats:
    """The scores by full matrices, in float64."""
    n, width = embeddings.shape
    names = list(dict.fromkeys(labels))
    means = np.array([embeddings[[x == name for x in labels]].mean(axis=0) for name in names])
    gains = np.ones(width)
    count = int(clf.blocks)
    if clf.scale == "blocks":
        power = (embeddings**2).reshape(n, count, -1).mean(axis=(0, 2))
        gains = np.repeat(1 / np.sqrt(power), width // count)
    covariance = batch_scatter(embeddings, labels, clf.scatter) / n * np.outer(gains, gains)
    freedom = n if clf.scatter == "published" else n - len(names)
    blocks = count if clf.covariance == "blocks" else 1
    scores = np.zeros((len(queries), len(names)))
    for block in np.split(np.arange(width), blocks):
        shrunk = shrink(covariance[np.ix_(block, block)], clf.shrinkage, freedom)
        scaled = means[:, block] * gains[block]
        weights = np.linalg.solve(shrunk, scaled.T)
        scores += queries[:, block] * gains[block] @ weights - 0.5 * (scaled.T * weights).sum(
            axis=0
        )
    return scores


def shrink(covariance: Floats, shrinkage: float | str, freedom: int) -> Floats:
    identity = np.eye(len(covariance))
    if not isinstance(shrinkage, str):
        return (1 - shrinkage) * covariance + shrinkage * identity
    p = len(covariance)
    trace, square = np.trace(covariance), np.trace(covariance @ covariance)
    if trace == 0:
        return identity
    rho = ((1 - 2 / p) * square + trace**2) / ((freedom + 1 - 2 / p) * (square - trace**2 / p))
    rho = min(1.0, rho)
    return np.asarray((1 - rho) * covariance + rho * trace / p * identity)


def stream(samples: int, width: int, labels: int, seed: int) -> tuple[Floats, list[str]]:
    """Sparse embeddings without negative values, in blocks of different scale, like moments."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, labels, samples)
    centres = rng.normal(0, 1, (labels, width))
    embeddings = np.maximum(centres[rows] + 0.7 * rng.normal(size=(samples, width)), 0)
    embeddings *= np.repeat([1, 0.3, 5], width // 3)
    return embeddings.astype(np.float32).astype(np.float64), [str(row) for row in rows]


SPECS = [
    f"slda:scatter={scatter},shrinkage={shrinkage},covariance={covariance},scale={scale},blocks=3"
    for scatter in ("exact", "published")
    for shrinkage in ("oas", 1e-4, 0.3)
    for covariance in ("full", "blocks")
    for scale in ("none", "blocks")
]


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(("samples", "form"), [(12, "compressed"), (150, "dense")])
def test_scores_equal_the_batch_formula_while_teaching_and_predicting_alternate(
    spec: str, samples: int, form: str
) -> None:
    embeddings, labels = stream(samples, 96, 5, seed=samples)
    queries = np.abs(embeddings[:9] + 0.2)
    clf = classifier(spec)
    assert isinstance(clf, StreamingLDA)
    for index, (embedding, label) in enumerate(zip(embeddings, labels, strict=True), start=1):
        clf.learn(embedding, label)
        if index == samples or (index > samples - 30 and index % 3):
            expected = expected_scores(embeddings[:index], labels[:index], queries, clf)
            found = clf.scores(queries)
            assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()
            assert (found.argmax(axis=1) == expected.argmax(axis=1)).all()
    assert clf.form == form


def test_learning_in_bulk_equals_predicting_after_each_sample() -> None:
    embeddings, labels = stream(700, 300, 6, seed=2)
    bulk, alternating = (classifier("slda:shrinkage=1e-4") for _ in range(2))
    assert isinstance(bulk, StreamingLDA)
    assert isinstance(alternating, StreamingLDA)
    forms = set()
    for embedding, label in zip(embeddings, labels, strict=True):
        bulk.learn(embedding, label)
        alternating.learn(embedding, label)
        alternating.scores(embedding[None])
        forms.add((bulk.form, alternating.form))
    # In bulk the dense form is used earlier: for a while only one of the two is dense.
    assert {("compressed", "compressed"), ("dense", "compressed"), ("dense", "dense")} <= forms
    expected = bulk.scores(embeddings)
    assert np.abs(alternating.scores(embeddings) - expected).max() <= 1e-5 * np.abs(expected).max()


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.sampled_from([6, 30, 96]),
    plan=st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=80),
    shrinkage=st.sampled_from(["oas", "1e-4", "0.5"]),
    scatter=st.sampled_from(["exact", "published"]),
)
def test_any_order_of_teaching_and_predicting_results_in_the_batch_scores(
    seed: int, width: int, plan: list[tuple[int, bool]], shrinkage: str, scatter: str
) -> None:
    rng = np.random.default_rng(seed)
    embeddings = np.abs(rng.normal(size=(len(plan), width)))
    embeddings[len(plan) // 2] = embeddings[0]  # a duplicate
    labels = [str(row) for row, _ in plan]
    clf = classifier(f"slda:scatter={scatter},shrinkage={shrinkage}")
    assert isinstance(clf, StreamingLDA)
    for embedding, (row, predict) in zip(embeddings, plan, strict=True):
        clf.learn(embedding, str(row))
        if predict:
            clf.scores(embedding[None])
    expected = expected_scores(embeddings, labels, embeddings, clf)
    assert np.abs(clf.scores(embeddings) - expected).max() <= 1e-5 * np.abs(expected).max()


def test_the_exact_scatter_predicts_the_same_labels_as_lda_in_scikit_learn() -> None:
    embeddings, labels = stream(400, 30, 5, seed=4)
    clf = classifier("slda:shrinkage=0.2")
    for embedding, label in zip(embeddings, labels, strict=True):
        clf.learn(embedding, label)
    within = batch_scatter(embeddings, labels, "exact") / len(embeddings)

    class Fixed:
        """The estimator that scikit-learn's LDA calls for the within-class covariance."""

        def fit(self, _: Floats) -> None:
            self.covariance_ = 0.8 * within + 0.2 * np.eye(30)

    priors = np.full(5, 0.2)
    reference = LinearDiscriminantAnalysis("lsqr", covariance_estimator=Fixed(), priors=priors)
    reference.fit(embeddings, labels)
    ours = np.array(clf.labels)[clf.scores(embeddings).argmax(axis=1)]
    assert (ours == reference.predict(embeddings)).all()


@pytest.mark.slow
def test_oas_shrinkage_equals_that_of_scikit_learn_for_wide_embeddings() -> None:
    embeddings = np.random.default_rng(0).normal(size=(50, 2000)) * np.linspace(0.5, 2, 2000)
    reference = OAS(assume_centered=True).fit(embeddings)
    scatter = embeddings.T @ embeddings
    found = oracle_approximating(50, 50, 2000, float(np.trace(scatter)), float((scatter**2).sum()))
    # scikit-learn omits the terms in 2/p of the published formula.
    assert 1 - found.share * 50 == pytest.approx(reference.shrinkage_, rel=2e-3)


@pytest.mark.parametrize("samples", [40, 400])
def test_the_cosine_score_is_the_cosine_between_whitened_deviations_from_the_centre(
    samples: int,
) -> None:
    embeddings, labels = stream(samples, 96, 5, seed=samples)
    queries = np.abs(embeddings[:9] + 0.2)
    clf = classifier("slda:score=cosine,shrinkage=0.1")
    for embedding, label in zip(embeddings, labels, strict=True):
        clf.learn(embedding, label)
    within = batch_scatter(embeddings, labels, "exact") / samples
    whiten = np.linalg.cholesky(np.linalg.inv(0.9 * within + 0.1 * np.eye(96)))
    means = np.array([embeddings[[x == name for x in labels]].mean(axis=0) for name in clf.labels])
    centre = means.mean(axis=0)
    towards = (means - centre) @ whiten
    whitened = (queries - centre) @ whiten
    cosines = whitened @ towards.T / np.linalg.norm(towards, axis=1)
    np.testing.assert_allclose(clf.scores(queries), cosines, rtol=1e-6, atol=1e-6)


def test_near_duplicate_frames_keep_the_compressed_basis_orthonormal() -> None:
    rng = np.random.default_rng(1)
    frame = np.abs(rng.normal(size=900))
    frames = np.array([frame + 1e-6 * rng.normal(size=900) for _ in range(40)], np.float32)
    labels = ["a", "b"] * 20
    clf = classifier("slda:scatter=published,shrinkage=1e-4")
    assert isinstance(clf, StreamingLDA)
    for embedding, label in zip(frames, labels, strict=True):
        clf.learn(embedding, label)
        clf.scores(embedding[None])
    basis = clf.state().arrays["0.basis"]
    assert np.abs(basis @ basis.T - np.eye(len(basis))).max() < 1e-10
    expected = expected_scores(frames.astype(np.float64), labels, frames.astype(np.float64), clf)
    assert np.abs(clf.scores(frames) - expected).max() <= 1e-5 * np.abs(expected).max()


def test_embeddings_that_cannot_be_divided_into_equal_blocks_are_refused() -> None:
    from robocle.errors import FeatureError

    with pytest.raises(FeatureError, match="into 3 equal blocks"):
        classifier("slda:blocks=3").learn(np.ones(10), "a")


@pytest.mark.parametrize("spec", ["slda:shrinkage=0.1", "ridge"])
def test_lessons_between_predictions_need_no_new_factorisation(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    clf = classifier(spec)
    for number in range(3000):
        clf.learn(rng.normal(size=20), f"object {number % 4}")
    clf.scores(rng.normal(size=(1, 20)))
    factorised: list[SymmetricFactor] = []
    compute = SymmetricFactor.__init__

    def counting(self: SymmetricFactor, stored: StoredSum, ridge: Vector) -> None:
        factorised.append(self)
        compute(self, stored, ridge)

    monkeypatch.setattr(SymmetricFactor, "__init__", counting)
    for number in range(10):
        clf.learn(rng.normal(size=20), f"object {number % 4}")
        clf.scores(rng.normal(size=(1, 20)))
    assert len(factorised) <= 2


def test_blocks_of_one_number_are_shrunk_completely() -> None:
    """There, the formula of OAS is a quotient of rounding errors."""
    rng = np.random.default_rng(0)
    clf = classifier("slda:shrinkage=stepped,covariance=blocks,score=cosine,blocks=3")
    for number in range(120):
        clf.learn(rng.normal(size=3), f"object {number % 3}")
        assert np.isfinite(clf.scores(rng.normal(size=(1, 3)))).all()
