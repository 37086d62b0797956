"""Samples beyond `keep` are folded into sums: the same scores, until a label is forgotten."""

import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robocle.classifiers.samples import ClassifierState, Sample
from robocle.errors import StateError, UnknownSampleError
from slda_formulas import assert_formulas
from slda_samples import (
    DEFAULT,
    assert_close,
    assert_same_scores,
    renamed,
    reopened,
    samples_of,
    taught,
    teach,
    world_of,
)

WIDTH, WORLD = 24, world_of(24)
SAMPLES = samples_of(70, WIDTH, 5)
AUTO = f"{DEFAULT},blocks=2+1x8"
LINEAR, COSINE = "slda:shrinkage=oas", AUTO.replace("auto", "0.5")
PUBLISHED = "slda:scatter=published,shrinkage=1e-4"
EVERY_SPEC = pytest.mark.parametrize("spec", [LINEAR, COSINE, PUBLISHED])
EVERY_EXACT = pytest.mark.parametrize("spec", [LINEAR, COSINE])
EVERY_KEEP = pytest.mark.parametrize("keep", [0, 1, 5, 12])


@EVERY_SPEC
@EVERY_KEEP
def test_scores_do_not_depend_on_how_many_samples_are_kept(spec: str, keep: int) -> None:
    clf, expected = taught(f"{spec},keep={keep}", world=WORLD), taught(spec, world=WORLD)
    for start in range(0, 70, 7):
        for each in (clf, expected):
            teach(each, SAMPLES[start : start + 7])
        assert_same_scores(clf, expected)
    assert len(clf.samples) == keep
    assert_same_scores(reopened(expected, f"{spec},keep={keep}", WORLD), expected)


@EVERY_SPEC
@EVERY_KEEP
def test_a_state_with_sums_continues_like_the_original(spec: str, keep: int) -> None:
    folding = f"{spec},keep={keep}"
    clf = reopened(taught(folding, SAMPLES[:40], WORLD), folding)
    assert_same_scores(clf, taught(spec, SAMPLES[:40]))
    teach(clf, SAMPLES[40:])
    assert_same_scores(clf, taught(spec, SAMPLES))
    clf.use_world(WORLD)
    assert_same_scores(clf, taught(spec, SAMPLES, WORLD))


@EVERY_EXACT
@EVERY_KEEP
@pytest.mark.parametrize("half", [3, 40, 67])
def test_merged_sums_equal_those_of_all_samples(spec: str, keep: int, half: int) -> None:
    clf = taught(f"{spec},keep={keep}", SAMPLES[:half], WORLD)
    other = taught(f"{spec},keep={keep}", SAMPLES[half:])
    clf.merge(other)
    assert len(clf.samples) == keep
    assert_same_scores(clf, taught(spec, SAMPLES, WORLD))
    assert_same_scores(other, taught(spec, SAMPLES[half:]))


@EVERY_EXACT
@EVERY_KEEP
def test_joined_sums_equal_those_of_joined_samples(spec: str, keep: int) -> None:
    clf = taught(f"{spec},keep={keep}", SAMPLES[:50], WORLD)
    clf.rename("object 1", "object 3")
    joined = renamed(SAMPLES, "object 1", "object 3")
    assert_same_scores(clf, taught(spec, joined[:50], WORLD))
    teach(clf, joined[50:])
    assert_same_scores(clf, taught(spec, joined, WORLD))


@EVERY_SPEC
def test_a_kept_sample_can_be_removed(spec: str) -> None:
    clf = taught(f"{spec},keep=12", SAMPLES, WORLD)
    gone = {sample.id for sample in clf.samples[-3:]}
    clf.remove(gone)
    assert_same_scores(clf, taught(spec, [each for each in SAMPLES if each.id not in gone], WORLD))


def test_the_oldest_sample_of_the_largest_class_is_folded() -> None:
    clf, kept = taught(f"{COSINE},keep=12"), list[Sample]()
    for sample in SAMPLES:
        teach(clf, [sample])
        kept.append(sample)
        labels = [each.label for each in kept]
        if len(kept) > 12:
            del kept[labels.index(max(clf.labels, key=labels.count))]
        assert [each.id for each in clf.samples] == [each.id for each in kept]
    in_order = taught(f"{PUBLISHED},keep=12", SAMPLES).samples
    assert [each.id for each in in_order] == [each.id for each in SAMPLES[-12:]]


def test_kept_samples_are_left_out_as_if_all_samples_were_kept() -> None:
    clf = taught(f"{AUTO},keep=12", world=WORLD)
    for number, sample in enumerate(SAMPLES, start=1):
        teach(clf, [sample])
        clf.answer()
        if number % 10 == 0:
            assert_formulas(clf, SAMPLES[:number], WORLD)
    assert_formulas(reopened(clf, f"{AUTO},keep=12", WORLD), SAMPLES, WORLD)


def test_without_kept_samples_none_is_left_out() -> None:
    clf = taught(f"{AUTO},keep=0", SAMPLES, WORLD)
    assert clf.answer().leave_one_out is None
    assert len(clf.answer().for_others) == 0
    assert list(clf.leave_out()) == []
    with pytest.raises(UnknownSampleError):
        clf.recognised_without([SAMPLES[0].id])
    prior = taught(AUTO, SAMPLES[:1]).answer().maps
    np.testing.assert_array_equal(clf.answer().maps, prior)


def test_a_forgotten_label_leaves_its_share_of_the_scatter() -> None:
    """What was folded stays in the scatter and in the number of samples, but has no mean."""
    clf = taught("slda:shrinkage=0.1,keep=12", SAMPLES)
    assert not clf.forgets_exactly
    kept = {sample.id for sample in clf.samples}
    clf.forget("object 1")
    counted = [each for each in SAMPLES if each.label != "object 1" or each.id not in kept]
    own = {
        label: np.array([each.embedding for each in counted if each.label == label], np.float64)
        for label in ("object 1", *clf.labels)
    }
    apart = np.vstack([rows - rows.mean(axis=0) for rows in own.values()])
    inverse = np.linalg.inv(0.9 * apart.T @ apart / len(counted) + 0.1 * np.eye(WIDTH))
    means = np.array([own[label].mean(axis=0) for label in clf.labels])
    expected = WORLD @ inverse @ means.T - np.diag(means @ inverse @ means.T) / 2
    assert_close(clf.scores(WORLD), expected)


@EVERY_KEEP
def test_when_all_labels_are_forgotten_nothing_is_left_of_the_sums(keep: int) -> None:
    clf = taught(f"{LINEAR},keep={keep}", SAMPLES)
    for label in clf.labels:
        clf.forget(label)
    assert clf.forgets_exactly
    assert not clf.state().folded
    teach(clf, SAMPLES[:20])
    assert_same_scores(clf, taught(LINEAR, SAMPLES[:20]))


def test_sums_of_few_samples_reveal_them() -> None:
    """As the documentation says: where a class mean is zero, its samples are zero.

    The difference of the two samples of a class is the only direction of the scatter that is zero
    at all these entries. A single sample is the mean of its class.
    """
    rng = np.random.default_rng(0)
    pairs = np.maximum(rng.normal(size=(6, 1, 90)) + 0.3 * rng.normal(size=(6, 2, 90)), 0)
    clf = taught("slda:keep=0", [Sample("single", pairs[0, 0])])
    assert clf.state().samples == ()
    np.testing.assert_allclose(clf.state().folded["means"], pairs[:1, 0])
    given = [Sample(f"object {row}", z) for row, pair in enumerate(pairs) for z in pair]
    sums = taught("slda:keep=0", given).state().folded
    scatter = np.zeros((90, 90))
    scatter.T[np.triu_indices(90)] = sums["scatter0"]
    values, vectors = np.linalg.eigh(scatter)
    directions = (vectors * np.sqrt(np.maximum(values, 0))).T[values > 1e-9 * values.max()]
    for mean, pair in zip(sums["means"], pairs, strict=True):
        *_, combined = np.linalg.svd(directions[:, np.abs(mean) < 1e-9].T)[2]
        half = combined @ directions / np.sqrt(2)
        half *= np.sign(half @ (pair[0] - mean))  # the two are mean + half and mean - half
        np.testing.assert_allclose(mean + np.array([half, -half]), pair, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("labels", "shots"), [(20, 5), (50, 20)])
def test_the_sizes_in_the_documentation_are_those_of_the_default_learner(
    labels: int, shots: int
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "classifiers.md").read_text("utf-8")
    row = re.search(rf"\| {labels} labels x {shots} samples \| (\S+) MB \| (\S+) MB \|", page)
    assert row
    points = np.random.default_rng(0).normal(size=(labels * shots, 5184)).astype(np.float32)
    samples = [Sample(f"object {n % labels}", point) for n, point in enumerate(points)]
    for option, documented in zip(("", ",keep=0"), row.groups(), strict=True):
        clf = taught(f"{DEFAULT},blocks=3+2x672{option}", samples)
        assert f"{clf.state().nbytes / 1e6:.1f}" == documented


def test_beyond_keep_more_samples_take_no_more_memory() -> None:
    samples, used = samples_of(900, 64, 4), []
    clf = taught("slda:score=cosine,keep=50", samples[:100])
    tracemalloc.start()
    try:
        for start in range(100, 900, 10):
            teach(clf, samples[start : start + 10])
            clf.answer()
            used.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # The median: other threads of the process may allocate memory once.
    assert float(np.median(np.diff(used[40:]))) < 10 * 64 * 4 / 3  # of ten embeddings


SUMS = taught("slda:keep=4", SAMPLES[:20]).state()
COUNTS, TOTALS = SUMS.folded["counts"], SUMS.folded["totals"]
FIRST = np.arange(len(COUNTS)) == 0


def changed(**arrays: NDArray[Any] | None) -> ClassifierState:
    """Return a state with sums, some of them replaced, or left out if they are None."""
    folded = {name: each for name, each in {**SUMS.folded, **arrays}.items() if each is not None}
    return ClassifierState(SUMS.labels, SUMS.samples, folded)


def of_samples(*samples: Sample, labels: tuple[str, ...] = SUMS.labels) -> ClassifierState:
    """Return a state with sums and other samples."""
    return ClassifierState(labels, samples, SUMS.folded)


DAMAGED = {
    **{f"no {name}": changed(**{name: None}) for name in SUMS.folded},
    **{f"short {name}": changed(**{name: each[..., 1:]}) for name, each in SUMS.folded.items()},
    **{f"{name} of NaN": changed(**{name: each * np.nan}) for name, each in SUMS.folded.items()},
    **{
        f"{name} of text": changed(**{name: each.astype(str)}) for name, each in SUMS.folded.items()
    },
    "a negative count": changed(counts=COUNTS - 99 * FIRST),
    "half a sample": changed(counts=COUNTS + 0.5),
    "more samples than in total": changed(counts=COUNTS + 100),
    "fewer samples in total": changed(totals=TOTALS - [1, 0, 0]),
    "more deviations than samples": changed(totals=TOTALS + [0, 99, 0]),
    "a negative total": changed(totals=-TOTALS),
    "a label without samples": ClassifierState(
        SUMS.labels, (), {**SUMS.folded, "counts": COUNTS * ~FIRST}
    ),
    "a label twice": of_samples(labels=(*SUMS.labels[1:], SUMS.labels[1])),
    "a label too many": of_samples(labels=(*SUMS.labels, "mug")),
    "an id twice": of_samples(*SAMPLES[:3], SAMPLES[2]),
    "samples of different widths": of_samples(SAMPLES[0], Sample("mug", np.ones(WIDTH + 1))),
    "samples and sums of different widths": of_samples(Sample("mug", np.ones(WIDTH + 1))),
    "no width": ClassifierState((), (Sample("mug", np.ones(0)),)),
    "two axes": ClassifierState((), (Sample("mug", np.ones((1, WIDTH))),)),
}


@pytest.mark.parametrize("state", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_state_is_refused_and_changes_nothing(state: ClassifierState) -> None:
    clf = taught("slda:keep=4", SAMPLES[:30])
    before, kept = clf.scores(WORLD), clf.samples
    with pytest.raises(StateError, match="state"):
        clf.restore(state)
    assert clf.samples == kept
    np.testing.assert_array_equal(clf.scores(WORLD), before)
    teach(clf, SAMPLES[30:])
    assert_same_scores(clf, taught("slda", SAMPLES))


@pytest.mark.parametrize(("blocks", "reason"), [(2, "scatter0"), (5, "another layout")])
def test_sums_of_another_layout_are_refused(blocks: int, reason: str) -> None:
    clf = taught(f"slda:covariance=blocks,blocks={blocks},keep=4")
    with pytest.raises(StateError, match=reason):
        clf.restore(SUMS)
    assert clf.labels == ()
