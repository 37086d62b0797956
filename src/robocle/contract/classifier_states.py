"""The rules for what a classifier stores and restores."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from robocle.classifiers import ClassifierState, StreamingClassifier, classifier
from robocle.classifiers.state import OneRowPerLabel, RowsCountedBy, size_of
from robocle.contract.checking import require, require_raises
from robocle.contract.classifier_streams import stream, taught
from robocle.errors import StateError


def a_restored_classifier_continues_like_the_original(spec: str) -> None:
    """`restore(state())` gives a classifier that learns and scores as the original does."""
    for samples in (3, 10, 200):
        embeddings, labels = stream(samples + 20)
        first = taught(spec, (embeddings[:samples], labels[:samples]))
        second = classifier(spec)
        second.restore(first.state())
        for embedding, label in zip(embeddings[samples:], labels[samples:], strict=True):
            first.learn(embedding, label)
            second.learn(embedding, label)
        require(first.labels == second.labels, "a restored classifier has the same labels")
        require(first.counts == second.counts, "a restored classifier has the same counts")
        assert_allclose(first.scores(embeddings), second.scores(embeddings), rtol=1e-7)


def an_untaught_classifier_can_be_stored(spec: str) -> None:
    """The state of an untaught classifier restores to an untaught classifier."""
    restored = classifier(spec)
    restored.restore(classifier(spec).state())
    require(restored.labels == (), f"no labels, not {restored.labels}")


def a_state_does_not_change_while_learning_continues(spec: str) -> None:
    """The arrays of `state()` are copies, not views of what is still learned."""
    clf = taught(spec, stream(10))
    state = clf.state()
    before = {name: array.copy() for name, array in state.arrays.items()}
    for embedding, label in zip(*stream(60, seed=9), strict=True):
        clf.learn(embedding, label)
        clf.scores(embedding[None])
    for name, array in before.items():
        assert_array_equal(state.arrays[name], array)


def an_incomplete_state_is_refused_and_changes_nothing(spec: str) -> None:
    """`restore` raises StateError when an array is missing, and leaves the classifier as it was."""
    samples = stream(10)
    clf = taught(spec, samples)
    expected = clf.scores(samples[0])
    state = taught(spec, stream(30, seed=8)).state()
    for missing in state.arrays:
        rest = {name: array for name, array in state.arrays.items() if name != missing}
        incomplete = type(state)(state.labels, rest)
        require_raises(StateError, f"a state without {missing!r}", clf.restore, incomplete)
    assert_array_equal(clf.scores(samples[0]), expected)


def the_state_does_not_grow_with_the_samples(spec: str) -> None:
    """The size of a state is bounded, however many samples are taught."""
    few, many = (
        size_of(taught(spec, stream(samples)).state().arrays)
        for samples in (2200, 2600)  # beyond every bound of the built-in classifiers
    )
    require(few == many, f"a state of constant size, not {few} and then {many} bytes")


def declared_owners_fit_their_arrays(spec: str) -> None:
    """An array with one row per label has that many rows; counted rows add up to their counts."""
    for samples in (1, 10, 300):
        clf = taught(spec, stream(samples))
        arrays, owners = clf.state().arrays, clf.array_owners()
        for name in arrays.keys() & owners.keys():
            match owners[name]:
                case OneRowPerLabel():
                    require(len(arrays[name]) == len(clf.labels), f"{name!r} has a row per label")
                case RowsCountedBy(counts):
                    added_up = len(arrays[name]) == arrays[counts].sum()
                    require(added_up, f"{name!r} has as many rows as {counts!r} states")


def a_damaged_label_can_be_forgotten(spec: str) -> None:
    """Where forgetting is exact, it needs none of the rows that a label owns.

    This is how a damaged state file is recovered: the damaged rows are zero, arrays that can be
    computed from others are, and then the label is forgotten.
    """
    for samples in (10, 60):
        clf = taught(spec, stream(samples))
        if not clf.forgets_exactly:
            continue
        damaged = classifier(spec)
        damaged.restore(_with_zeros_for(clf, row=1))
        damaged.forget(clf.labels[1])
        clf.forget(clf.labels[1])
        queries = stream(20, seed=7)[0]
        assert_allclose(damaged.scores(queries), clf.scores(queries), rtol=1e-6, atol=1e-6)


def _with_zeros_for(clf: StreamingClassifier, row: int) -> ClassifierState:
    """Return the state of a classifier with zeros in all rows that one label owns."""
    state, owners = clf.state(), clf.array_owners()
    arrays = dict(state.arrays)
    others = np.arange(len(state.labels)) != row
    for name, array in state.arrays.items():
        match owners.get(name):
            case OneRowPerLabel():
                arrays[name] = array * others[:, None]
            case RowsCountedBy(counts):
                arrays[name] = array * np.repeat(others, state.arrays[counts])[:, None]
    for name, array in arrays.items():
        rebuilt = clf.rebuilt_array(name, arrays)
        arrays[name] = array if rebuilt is None else rebuilt
    return ClassifierState(state.labels, arrays)


STATE_CHECKS = (
    a_restored_classifier_continues_like_the_original,
    an_untaught_classifier_can_be_stored,
    a_state_does_not_change_while_learning_continues,
    an_incomplete_state_is_refused_and_changes_nothing,
    the_state_does_not_grow_with_the_samples,
    declared_owners_fit_their_arrays,
    a_damaged_label_can_be_forgotten,
)
"""The rules, each a function of a spec."""
