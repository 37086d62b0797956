"""The rules that every classifier keeps, whatever its arithmetic.

The last ones are about changing what was taught, and about states and copies. What a classifier has
learned is determined by its samples and their order. A classifier may keep sums in place of old
samples. What then cannot be done exactly is refused with InexactError.
"""

import copy
import pickle
from collections.abc import Callable

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from robocle.classifiers import StreamingClassifier
from robocle.contract.checking import (
    WIDTH,
    GivenClassifier,
    Stream,
    require,
    require_equal,
    require_raises,
    rules_in,
    selected,
    stream,
    taught,
    teach,
    untaught,
)
from robocle.errors import (
    FeatureError,
    InexactError,
    LabelError,
    NothingTaughtError,
    UnknownSampleError,
)

SIZES = (3, 10, 60)
MORE = stream(20, labels=5, seed=9)  # taught later, with a new label
_BAD_EMBEDDINGS = (
    np.full(WIDTH, np.nan),
    np.full(WIDTH, np.inf),
    np.ones(WIDTH + 3),
    np.ones((2, WIDTH)),
    np.ones(0),
    3.0,
)


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


def a_removed_sample_was_never_taught(given: GivenClassifier) -> None:
    """`remove` leaves a classifier as if the samples had never been taught."""
    for size in SIZES:
        samples = stream(size)
        clf = _used(given, samples)
        removed = clf.samples[::3]
        clf.remove(sample.id for sample in removed)
        gone = {sample.embedding.tobytes() for sample in removed}
        rest = selected(samples, np.array([each.tobytes() not in gone for each in samples[0]]))
        _require_continues(clf, given, rest, "a removed sample leaves no trace")


def a_forgotten_label_was_never_taught(given: GivenClassifier) -> None:
    """If all samples are kept, `forget` leaves a classifier as if the label had not been taught."""
    for size in SIZES:
        samples = stream(size)
        clf = _used(given, samples)
        if not _keeps_all(clf):
            continue
        forgotten = samples[1][-1]
        clf.forget(forgotten)
        rest = selected(samples, np.array(samples[1]) != forgotten)
        _require_continues(clf, given, rest, "a forgotten label leaves no trace")


def joined_labels_were_taught_as_one(given: GivenClassifier) -> None:
    """`rename` to a label that exists makes one label of the two."""
    for size in SIZES:
        embeddings, labels = stream(size)
        clf = _used(given, (embeddings, labels))
        old, new = clf.labels[-1], clf.labels[0]
        if _is_made(clf, clf.rename, old, new):
            joined = [new if label == old else label for label in labels]
            _require_continues(clf, given, (embeddings, joined), "joined labels are one label")


def a_renamed_label_was_taught_under_its_new_name(given: GivenClassifier) -> None:
    """`rename` to a new name changes the name and nothing else."""
    embeddings, labels = stream(40)
    clf = _used(given, (embeddings, labels))
    old = clf.labels[2]
    clf.rename(old, "new name")
    require(clf.labels[2] == "new name", f"the new name in place of the old, not {clf.labels}")
    renamed = ["new name" if label == old else label for label in labels]
    _require_continues(clf, given, (embeddings, renamed), "a label is renamed everywhere")


def merged_classifiers_were_taught_all_samples(given: GivenClassifier) -> None:
    """`merge` adds the samples of another classifier, which does not change."""
    for size in SIZES:
        samples, others = stream(size), stream(size, labels=6, seed=1)
        clf, other = _used(given, samples), _used(given, others)
        if _is_made(clf, clf.merge, other):
            together = np.vstack([samples[0], others[0]]), samples[1] + others[1]
            _require_continues(clf, given, together, "merged classifiers know all samples")
        require_equal(other, taught(given, others), "the other classifier does not change")


def a_sample_that_both_have_is_merged_once(given: GivenClassifier) -> None:
    """Two classifiers that continue from one state can be merged."""
    for size in SIZES:
        embeddings, labels = stream(2 * size)
        clf = taught(given, (embeddings[:size], labels[:size]))
        other = copy.deepcopy(clf)
        teach(other, (embeddings[size:], labels[size:]))
        if not _keeps_all(other):
            continue
        clf.merge(other)
        _require_continues(clf, given, (embeddings, labels), "a sample that both have counts once")


def a_restored_classifier_continues_like_the_original(given: GivenClassifier) -> None:
    """`restore(state())` makes a classifier that learns and scores as the original does."""
    for size in (*SIZES, 200):
        samples = stream(size)
        restored = taught(given, MORE)  # what it was taught before is gone
        restored.restore(_used(given, samples).state())
        require(restored.labels == taught(given, samples).labels, "labels keep their order")
        _require_continues(restored, given, samples, "a restored classifier is like the original")


def a_copy_continues_like_the_original(given: GivenClassifier) -> None:
    """Copies by `pickle` and by `copy.deepcopy` learn and score on their own."""
    samples = stream(30)
    clf = _used(given, samples)
    for copied in (pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf)):
        _require_continues(copied, given, samples, "a copy is like the original")
    require_equal(clf, taught(given, samples), "the original does not learn what a copy is taught")


def an_untaught_classifier_can_be_stored(given: GivenClassifier) -> None:
    """The state of an untaught classifier restores to an untaught classifier."""
    restored = taught(given, stream(10))
    restored.restore(untaught(given).state())
    require(restored.labels == (), f"no labels, not {restored.labels}")
    restored.learn(np.ones(2 * WIDTH), "of another width")


def a_state_does_not_change_while_learning_continues(given: GivenClassifier) -> None:
    """What is learned later is not in the state."""
    samples = stream(10)
    clf = _used(given, samples)
    state = clf.state()
    for embedding, label in zip(*stream(60, seed=9), strict=True):
        clf.learn(embedding, label)
        clf.scores(embedding[None])
    clf.forget(clf.labels[0])
    restored = untaught(given)
    restored.restore(state)
    require_equal(restored, taught(given, samples), "a state never changes")


def _used(given: GivenClassifier, samples: Stream) -> StreamingClassifier:
    """Return a classifier that has learned samples and computed scores."""
    clf = taught(given, samples)
    clf.scores(samples[0])
    return clf


def _keeps_all(clf: StreamingClassifier) -> bool:
    return len(clf.samples) == sum(clf.counts.values())


def _is_made(clf: StreamingClassifier, change: Callable[..., None], *args: object) -> bool:
    """Make a change and return whether it was made. It may be refused if sums are kept."""
    try:
        change(*args)
    except InexactError:
        require(not _keeps_all(clf), "a classifier that keeps all its samples can be changed")
        return False
    return True


def _require_continues(
    clf: StreamingClassifier, given: GivenClassifier, samples: Stream, rule: str
) -> None:
    """Require that a classifier equals one that was taught samples, now and after further ones."""
    expected = taught(given, samples)
    if expected.labels:
        require_equal(clf, expected, rule)
    for each in (clf, expected):
        teach(each, MORE)
    require_equal(clf, expected, f"{rule}, also after further samples")


CLASSIFIER_CHECKS = rules_in(globals())
"""The rules, each a function of a spec, a class or an instance."""
