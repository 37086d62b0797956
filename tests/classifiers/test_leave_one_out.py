"""Leave-one-out scores: which samples are chosen, all in chunks, and what a sample does to others.

The scores themselves are compared with formulas in `test_slda`.
"""

import copy
import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robocle
from robocle.classifiers import CLASSIFIERS
from robocle.classifiers.samples import Sample
from robocle.classifiers.slda import StreamingLDA
from robocle.classifiers.slda.left_out import LeaveOneOut, chosen
from slda_formulas import Formulas
from slda_samples import (
    DEFAULT,
    assert_close,
    assert_same,
    samples_of,
    taught,
    teach,
    world_of,
)

MOST = 128  # samples that are left out after each lesson
WIDTH, WORLD = 24, world_of(24)
SPEC = f"{DEFAULT},blocks=2+1x8"
FIXED = "slda:shrinkage=0.1,score=cosine,covariance=blocks,blocks=2+1x8,earlier=0.5"


def leave_one_out(clf: StreamingLDA) -> LeaveOneOut:
    found = clf.answer().leave_one_out
    assert found is not None
    return found


@pytest.mark.parametrize("spec", [SPEC, "slda:shrinkage=1e-9,score=cosine"])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("labels", [1, 2, 4])
def test_every_sample_of_few_is_left_out_and_a_singleton_is_marked(
    spec: str, count: int, labels: int
) -> None:
    samples = samples_of(count, WIDTH, labels)
    clf = taught(spec, samples)
    found, others = leave_one_out(clf), clf.answer().for_others
    own = {sample.id: sample.label for sample in samples}
    assert {id: clf.labels[row] for id, row in zip(found.ids, found.rows, strict=True)} == own
    assert found.singleton.tolist() == [clf.counts[own[id]] == 1 for id in found.ids]
    assert np.isfinite(found.scores).all()
    assert len(others) == (count if len(clf.labels) > 2 else 0)
    assert np.isfinite(others).all()


@pytest.mark.parametrize("spec", ["slda", "slda:score=cosine,scatter=published", "ncm", "sqda"])
def test_other_classifiers_have_no_leave_one_out_scores(spec: str) -> None:
    clf = robocle.classifier(spec)
    for sample in samples_of(20, WIDTH, 4):
        clf.learn(sample.embedding, sample.label, id=sample.id)
    answer = clf.answer()
    assert answer is None or answer.leave_one_out is None
    assert list(clf.leave_out()) == []
    assert clf.recognised_without([sample.id for sample in clf.samples]) == [0] * 20


@given(st.lists(st.integers(0, 30), max_size=300))
def test_chosen_samples_are_balanced_over_the_classes_and_bounded(counts: list[int]) -> None:
    found = chosen(counts)
    assert found == sorted(set(found))
    assert len(found) <= MOST
    assert all(0 <= index < counts[row] for row, index in found)
    number = np.bincount([row for row, _ in found], minlength=len(counts))
    if len(counts) <= MOST:
        each = MOST // max(len(counts), 1)
        assert number.tolist() == [min(count, each) for count in counts]
    else:  # a class with one sample is the last choice: it cannot be left out
        several = [row for row, count in enumerate(counts) if count > 1]
        single = [row for row, count in enumerate(counts) if count == 1]
        assert number[several].sum() == min(MOST, len(several))
        assert number[single].sum() == min(MOST - number[several].sum(), len(single))


def test_chosen_classes_are_evenly_spaced_and_a_further_one_replaces_at_most_one() -> None:
    before: set[int] = set()
    for classes in range(130, 500):
        rows = [row for row, _ in chosen([5] * classes)]
        assert len(rows) == MOST
        assert np.diff([-1, *rows, classes]).max() <= 3.5 * classes / MOST
        assert len(before - set(rows)) <= 1
        before = set(rows)


def test_chunks_score_some_samples_of_every_label() -> None:
    labels = 2 * MOST + 5
    samples = [
        Sample(str(row), each.embedding + shot, f"{shot} {row}")
        for shot in range(2)
        for row, each in enumerate(samples_of(labels, 12, 9))
    ]
    clf = taught("slda:score=cosine", samples)
    chunks, found = list(clf.leave_out()), leave_one_out(clf)
    assert [len(chunk.ids) for chunk in chunks] == [MOST, MOST, 5]
    assert np.concatenate([chunk.rows for chunk in chunks]).tolist() == list(range(labels))
    scores = {id: row for chunk in chunks for id, row in zip(chunk.ids, chunk.scores, strict=True)}
    assert_close(np.array([scores[id] for id in found.ids]), found.scores)


def test_every_sample_can_be_left_out_in_chunks_of_bounded_size() -> None:
    samples, clf = samples_of(300, WIDTH, 4), taught(SPEC, world=WORLD)
    for sample in samples:
        teach(clf, [sample])
        clf.answer()
    chunks = list(clf.leave_out([sample.id for sample in samples]))
    assert [len(chunk.ids) for chunk in chunks] == [MOST, MOST, 300 - 2 * MOST]
    formulas = Formulas(clf, samples, WORLD)
    for chunk in chunks:
        expected = formulas.leave_one_out(chunk.ids[:20], clf.answer().maps[1])
        assert_close(chunk.scores[:20], expected[0], 1e-6)
        assert_close(chunk.familiarity[:20], expected[1], 1e-6)
    assert_same(clf, taught(SPEC, samples, WORLD))  # the answers afterwards are the same


@pytest.mark.parametrize(
    ("spec", "outlier"),
    [
        (SPEC, 1.0),
        (FIXED, 1.0),
        ("slda:shrinkage=oas,score=cosine", 1.0),
        (SPEC, 30.0),
    ],
)
def test_what_a_sample_does_to_the_others_equals_teaching_without_it(
    spec: str, outlier: float
) -> None:
    """Everything but the shrinkage and the weight of the earlier map is computed again."""
    samples = samples_of(40, WIDTH, 6, noise=2.5)
    samples[20] = Sample(samples[20].label, outlier * samples[20].embedding, samples[20].id)
    clf = taught(spec, samples)
    tried = [sample for sample in samples if clf.counts[sample.label] > 1]
    everything, earlier = Formulas(clf, samples), float(clf.answer().maps[-1])
    right, expected = recognised(everything, earlier), []
    for removed in tried:
        without = Formulas(clf, [each for each in samples if each is not removed])
        without.shrunk = everything.shrunk
        found = recognised(without, earlier)
        expected.append(sum(found[id] - right[id] for id in found))
    assert len(set(expected)) > 2
    assert clf.recognised_without([sample.id for sample in tried]) == expected
    assert_same(clf, taught(spec, samples))  # nothing has changed


def recognised(formulas: Formulas, earlier: float) -> dict[str, bool]:
    """Return whether each sample is recognised when it is left out; a singleton counts as such."""
    scores, _, _ = formulas.leave_one_out(formulas.ids, earlier)
    right = (scores.argmax(axis=1) == formulas.rows) | (formulas.counts[formulas.rows] == 1)
    return dict(zip(formulas.ids, right.tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIFIERS.names())
def test_a_classifier_that_is_no_longer_used_frees_its_memory_at_once(name: str) -> None:
    """Python looks for cycles of references late: gigabytes may wait until then."""
    gc.freeze()  # so that only the new objects are searched
    clf = robocle.classifier({"klda": "klda:features=32"}.get(name, name))
    for sample in samples_of(60, WIDTH, 4):
        clf.learn(sample.embedding, sample.label)
        clf.scores(WORLD)
    copied = copy.deepcopy(clf)
    gc.collect()
    gc.disable()
    try:
        del clf, copied
        assert gc.collect() == 0
    finally:
        gc.enable()
        gc.unfreeze()
