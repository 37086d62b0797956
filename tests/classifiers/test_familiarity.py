"""Familiarity with a world: its mean in the origin, in float32, and never part of a state."""

import copy
import pickle

import numpy as np
import pytest

from robocle.classifiers.samples import Sample
from robocle.errors import FeatureError
from slda_formulas import assert_formulas
from slda_samples import DEFAULT, assert_same, reopened, samples_of, taught, teach, world_of

WIDTH, WORLD = 24, world_of(24)
SPEC = f"{DEFAULT},blocks=2+1x8"


@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_a_new_label_leaves_the_familiarity_of_the_world_exact(offset: float) -> None:
    """The world's pictures are float32, relative to their mean: a common offset costs nothing."""
    world = WORLD + np.float32(offset)
    samples = [
        Sample(
            f"object {n}" if n > 80 else each.label, each.embedding + np.float32(offset), each.id
        )
        for n, each in enumerate(samples_of(140, WIDTH, 5))
    ]
    clf = taught(SPEC, samples[:81], world)
    for number, sample in enumerate(samples[81:], start=82):  # each has a label of its own
        clf.answer()
        teach(clf, [sample])
        if number % 20 == 0:
            assert_formulas(clf, samples[:number], world)


def test_the_familiarity_is_linear_in_the_scores() -> None:
    clf = taught(SPEC, samples_of(50, WIDTH, 5), WORLD)
    answer, queries = clf.answer(), samples_of(9, WIDTH, 3, seed=1)
    z = np.array([sample.embedding for sample in queries], np.float64)
    found = answer.familiarity()
    assert found is not None
    weights, bias = found.linear(*clf.linear())
    scores, familiarity = answer.scores_and_familiarity(z)
    np.testing.assert_allclose((z @ weights.T + bias).max(axis=1), familiarity, rtol=1e-9)
    along = found.slopes * (z @ found.direction)[:, None] + found.offsets
    np.testing.assert_allclose((found.gains * scores + along).max(axis=1), familiarity, rtol=1e-9)


def test_a_world_that_comes_later_or_another_one_counts_from_then_on() -> None:
    samples = samples_of(50, WIDTH, 5)
    clf = taught(SPEC, samples)
    clf.answer()
    clf.use_world(world_of(WIDTH, 7))
    assert_formulas(clf, samples, world_of(WIDTH, 7))
    clf.use_world(WORLD)
    assert_same(clf, taught(SPEC, samples, WORLD))


def test_merging_forgetting_and_copying_keep_the_world() -> None:
    samples = samples_of(50, WIDTH, 4)
    clf = taught(SPEC, samples[:20], WORLD)
    clf.merge(taught(SPEC, samples[20:]))
    assert_formulas(clf, samples, WORLD)
    rest = [sample for sample in samples if sample.label != "object 3"]
    for copied in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
        copied.forget("object 3")
        assert_formulas(copied, rest, WORLD)
    assert_formulas(clf, samples, WORLD)


def test_the_state_does_not_hold_the_world() -> None:
    samples = samples_of(50, WIDTH, 4)
    plain = reopened(taught(SPEC, samples, WORLD), SPEC)
    assert plain.answer().world_familiarity is None
    assert plain.answer().familiarity() is None
    assert_same(plain, taught(SPEC, samples))


@pytest.mark.parametrize(("weight", "width"), [(0, WIDTH), (40, WIDTH + 2)])
def test_a_world_without_the_option_or_of_another_width_does_not_count(
    weight: int, width: int
) -> None:
    spec, samples = SPEC.replace("world=40", f"world={weight}"), samples_of(30, WIDTH, 4)
    clf = taught(spec, samples, world_of(width))
    assert clf.answer().world_familiarity is None
    assert_same(clf, taught(spec, samples))


def test_the_scores_and_the_weight_of_the_earlier_map_do_not_depend_on_the_world() -> None:
    """What all labels have in common, relative to the world, says nothing about the label."""
    samples = samples_of(40, WIDTH, 5)
    with_world, without = taught(SPEC, samples, WORLD), taught(SPEC, samples)
    assert with_world.answer().maps == pytest.approx(without.answer().maps, rel=1e-9)
    np.testing.assert_allclose(with_world.scores(WORLD), without.scores(WORLD), rtol=1e-8)


def test_a_world_that_is_not_finite_is_refused() -> None:
    with pytest.raises(FeatureError):
        taught(SPEC).use_world([[np.nan] * WIDTH])


def test_a_world_of_large_values_has_a_finite_familiarity() -> None:
    clf = taught(SPEC, [Sample("mug", 1e20 * np.ones(WIDTH))], 1e20 * WORLD)
    familiarity = clf.answer().world_familiarity
    assert familiarity is not None
    assert np.isfinite(familiarity).all()
