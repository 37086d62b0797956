"""The rules that every classifier keeps, whatever its arithmetic."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from robocle.contract.checking import (
    WIDTH,
    GivenClassifier,
    require,
    require_raises,
    rules_in,
    stream,
    taught,
    untaught,
)
from robocle.contract.classifier_states import STATE_CHECKS
from robocle.errors import FeatureError, LabelError, NothingTaughtError, UnknownSampleError


def labels_keep_the_order_of_their_first_sample(given: GivenClassifier) -> None:
    """`labels` and `counts` list the labels in the order in which they were first taught."""
    clf = untaught(given)
    for label in ("b", "a", "b", "c", "a"):
        clf.learn(np.ones(WIDTH), label)
    require(clf.labels == ("b", "a", "c"), f"labels in order of teaching, not {clf.labels}")
    require(clf.counts == {"b": 2, "a": 2, "c": 1}, f"one count per sample, not {clf.counts}")


def scores_have_one_row_per_embedding_and_one_column_per_label(given: GivenClassifier) -> None:
    """`scores` returns finite numbers of shape (n, labels)."""
    samples = stream(30)
    scores = taught(given, samples).scores(samples[0][:7])
    require(scores.shape == (7, 4), f"scores of shape (7, 4), not {scores.shape}")
    require(bool(np.isfinite(scores).all()), "scores are finite")


def separated_classes_are_recognised(given: GivenClassifier) -> None:
    """From two samples per class on, classes that lie far apart are told apart."""
    clf = untaught(given)
    rng = np.random.default_rng(3)
    centres = 10 * np.eye(4).repeat(WIDTH // 4, axis=1) + 1
    for shot in range(5):
        for row, centre in enumerate(centres):
            clf.learn(centre + rng.normal(0, 0.5, WIDTH), f"{row}")
        found = clf.scores(centres).argmax(axis=1)
        right = bool((found == np.arange(4)).all())
        require(shot == 0 or right, f"separated classes are recognised after {shot + 1} shots")


def one_sample_of_one_label_can_be_scored(given: GivenClassifier) -> None:
    """One taught sample is enough for scores."""
    clf = untaught(given)
    clf.learn(np.arange(WIDTH), "only")
    shape = clf.scores(np.ones((3, WIDTH))).shape
    require(shape == (3, 1), f"scores of shape (3, 1), not {shape}")


def equal_samples_keep_scores_finite(given: GivenClassifier) -> None:
    """The same embedding under two labels does not break the arithmetic."""
    clf = taught(given, (np.ones((20, WIDTH), np.float32), ["a", "b"] * 10))
    finite = bool(np.isfinite(clf.scores(np.ones((1, WIDTH)))).all())
    require(finite, "scores are finite when all samples are equal")


def extreme_values_keep_scores_finite(given: GivenClassifier) -> None:
    """Very large, very small, denormal and zero embeddings have finite scores."""
    embeddings, labels = stream(12)
    for scale in (1e30, 1e-30, 1e-42, 0.0):
        extreme = (embeddings.astype(np.float64) * scale).astype(np.float32)
        scores = taught(given, (extreme, labels)).scores(extreme)
        require(bool(np.isfinite(scores).all()), f"scores are finite for values around {scale:g}")


def scoring_does_not_change_what_is_learned(given: GivenClassifier) -> None:
    """Scores are the same whether or not `scores` was called between samples."""
    samples = stream(120)
    scored = untaught(given)
    for embedding, label in zip(*samples, strict=True):
        scored.learn(embedding, label)
        scored.scores(embedding[None])
    queries = samples[0][:20]
    expected = taught(given, samples).scores(queries)
    assert_allclose(scored.scores(queries), expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def an_array_may_be_used_for_the_next_sample(given: GivenClassifier) -> None:
    """A program may write each embedding into the same array: what was learned stays as it was."""
    embeddings, labels = stream(20)
    reusing, array = untaught(given), np.empty(WIDTH)
    for embedding, label in zip(embeddings, labels, strict=True):
        array[:] = embedding
        reusing.learn(array, label)
    array[:] = 0
    expected = taught(given, (embeddings, labels)).scores(embeddings)
    assert_allclose(
        reusing.scores(embeddings), expected, rtol=0, atol=1e-6 * np.abs(expected).max()
    )


def an_embedding_scores_the_same_alone_and_in_a_batch(given: GivenClassifier) -> None:
    """Rows of a batch do not influence each other."""
    samples = stream(40)
    clf = taught(given, samples)
    together = clf.scores(samples[0][:6])
    alone = np.vstack([clf.scores(embedding[None]) for embedding in samples[0][:6]])
    assert_allclose(alone, together, rtol=1e-9, atol=1e-9 * np.abs(together).max())


def a_forgotten_label_is_gone(given: GivenClassifier) -> None:
    """`forget` removes a label and its column; teaching continues afterwards."""
    samples = stream(40)
    clf = taught(given, samples)
    labels = clf.labels
    clf.forget(labels[1])
    require(set(clf.labels) == {*labels} - {labels[1]}, "a forgotten label is no longer listed")
    require(clf.scores(samples[0]).shape == (40, 3), "a forgotten label has no column")
    clf.learn(samples[0][0], "new")
    require(clf.scores(samples[0]).shape == (40, 4), "a new label after forgetting has a column")


def every_label_can_be_forgotten(given: GivenClassifier) -> None:
    """A classifier whose labels are all forgotten behaves like an untaught one."""
    clf = taught(given, stream(10))
    for label in clf.labels:
        clf.forget(label)
    query = np.ones((1, WIDTH))
    require_raises(NothingTaughtError, "scoring without labels", clf.scores, query)
    clf.learn(np.ones(WIDTH), "again")
    require(clf.scores(query).shape == (1, 1), "teaching works after everything was forgotten")


def invalid_input_is_refused_and_changes_nothing(given: GivenClassifier) -> None:
    """Bad embeddings raise FeatureError, bad labels LabelError, and the scores stay the same."""
    samples = stream(20)
    clf = taught(given, samples)
    expected = clf.scores(samples[0])
    for bad in _BAD_EMBEDDINGS:
        require_raises(FeatureError, f"the embedding {bad!r}", clf.learn, bad, "new")
    for name in ("", "  ", "x" * 10_000, "two\nlines", "nul\0"):
        require_raises(LabelError, f"the label {name[:9]!r}", clf.learn, np.ones(WIDTH), name)
    require_raises(FeatureError, "scoring a single row", clf.scores, np.ones(WIDTH))
    require_raises(LabelError, "forgetting an unknown label", clf.forget, "never taught")
    require_raises(UnknownSampleError, "removing an unknown sample", clf.remove, ["no id"])
    assert_array_equal(clf.scores(samples[0]), expected)


def scores_before_teaching_are_refused(given: GivenClassifier) -> None:
    """`scores` of an untaught classifier raises NothingTaughtError."""
    new = untaught(given)
    require_raises(NothingTaughtError, "untaught scores", new.scores, np.ones((1, WIDTH)))


def predictions_follow_the_scores(given: GivenClassifier) -> None:
    """`predict` returns the best label, `predict_proba` positive numbers that sum to 1."""
    samples = stream(30)
    clf = taught(given, samples)
    best = clf.scores(samples[0]).argmax(axis=1)
    expected = [clf.labels[row] for row in best]
    require(clf.predict(samples[0]) == expected, "predict returns the label with the best score")
    probabilities = clf.predict_proba(samples[0])
    require(bool((probabilities >= 0).all()), "probabilities are not negative")
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_array_equal(probabilities[np.arange(len(best)), best], probabilities.max(axis=1))


def one_by_one_equals_learn_and_predict(given: GivenClassifier) -> None:
    """`learn_one` and `predict_one` take dicts whose features are in any order."""
    embeddings, labels = stream(30)
    expected, clf = taught(given, (embeddings, labels)), untaught(given)
    require(clf.predict_one(embeddings[0]) is None, "an untaught classifier predicts None")
    for index, (embedding, label) in enumerate(zip(embeddings, labels, strict=True)):
        features = list(enumerate(embedding.tolist()))
        learned = clf.learn_one(dict(features[::-1] if index else features), label)
        require(learned is clf, "learn_one returns the classifier")
    assert_array_equal(clf.scores(embeddings), expected.scores(embeddings))
    sample = dict(list(enumerate(embeddings[3].tolist()))[::-1])
    require(clf.predict_one(sample) == clf.predict(embeddings[3:4])[0], "predict_one is predict")
    found = clf.predict_proba_one(sample)
    require(tuple(found) == clf.labels, f"one probability per label, not {list(found)}")
    assert_array_equal(list(found.values()), expected.predict_proba(embeddings[3:4])[0])


_BAD_EMBEDDINGS = (
    np.full(WIDTH, np.nan),
    np.full(WIDTH, np.inf),
    np.ones(WIDTH + 3),
    np.ones((2, WIDTH)),
    np.ones(0),
    3.0,
)

CLASSIFIER_CHECKS = (*rules_in(globals()), *STATE_CHECKS)
"""The rules, each a function of a spec, a class or an instance."""
