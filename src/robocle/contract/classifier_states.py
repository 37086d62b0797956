"""The rules for changing what was taught, and for states and copies.

What a classifier has learned is determined by its samples and their order. A classifier may keep
sums in place of old samples. What then cannot be done exactly is refused with InexactError.
"""

import copy
import pickle
from collections.abc import Callable

import numpy as np

from robocle.classifiers import StreamingClassifier
from robocle.contract.checking import (
    WIDTH,
    GivenClassifier,
    Stream,
    require,
    require_equal,
    rules_in,
    selected,
    stream,
    taught,
    teach,
    untaught,
)
from robocle.errors import InexactError

SIZES = (3, 10, 60)
MORE = stream(20, labels=5, seed=9)  # taught later, with a new label


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


STATE_CHECKS = rules_in(globals())
"""The rules, each a function of a spec, a class or an instance."""
