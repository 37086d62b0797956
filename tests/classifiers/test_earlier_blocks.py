"""The weight of the earlier map's blocks: fixed, or estimated from samples that are left out."""

import numpy as np
import pytest

from robocle.classifiers.samples import Sample
from slda_formulas import assert_formulas
from slda_samples import DEFAULT, assert_same, samples_of, taught, teach

WIDTH, LAST = 48, 32
SPEC = f"{DEFAULT},blocks=2+2x8"
PRIOR = 0.43  # as in the documentation


def samples_apart(
    per_label: int, labels: int = 4, last: float = 1.0, earlier: float = 1.0
) -> list[Sample]:
    """Return samples whose labels lie apart by these distances in the two maps."""
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(labels, WIDTH)) * np.repeat([last, earlier], [LAST, WIDTH - LAST])
    return [
        Sample(f"object {row}", centres[row] + rng.normal(size=WIDTH), f"{shot}.{row}")
        for shot in range(per_label)
        for row in range(labels)
    ]


def weight_of(samples: list[Sample], spec: str = SPEC) -> float:
    return float(taught(spec, samples).answer().maps[1])


@pytest.mark.parametrize("weight", ["0", "0.5", "4"])
@pytest.mark.parametrize("per_label", [3, 25])
def test_a_fixed_weight_counts_in_every_score(per_label: int, weight: str) -> None:
    samples = samples_apart(per_label)
    for spec in (SPEC, "slda:covariance=blocks,shrinkage=0.1,blocks=2+2x8,earlier=auto"):
        clf = taught(spec.replace("auto", weight), samples)
        assert_formulas(clf, samples)
        assert clf.answer().maps.tolist() == [1, float(weight)]


@pytest.mark.parametrize(("last", "earlier"), [(1.0, 0.2), (0.4, 0.6), (0.2, 1.5)])
def test_the_weight_is_the_posterior_mean_over_left_out_samples(
    last: float, earlier: float
) -> None:
    samples, clf, weights = samples_apart(9, last=last, earlier=earlier), taught(SPEC), set()
    for count, sample in enumerate(samples, start=1):
        teach(clf, [sample])
        weights.add(round(float(clf.answer().maps[1]), 6))
        if count % 6 == 0:
            assert_formulas(clf, samples[:count])
    assert len(weights) > len(samples) / 2  # it changes smoothly


def test_with_many_labels_the_best_others_judge_the_weight() -> None:
    samples = samples_apart(3, labels=60, last=0.5, earlier=0.5)
    assert_formulas(taught(SPEC, samples), samples)


def test_the_map_that_tells_the_labels_apart_gets_the_weight() -> None:
    assert weight_of(samples_apart(6, labels=8, last=1, earlier=0)) < 0.5
    assert weight_of(samples_apart(6, labels=8, last=0, earlier=1)) > 2


@pytest.mark.parametrize("samples", [samples_apart(1), samples_apart(5, labels=1)])
def test_one_picture_per_label_or_one_label_says_nothing_about_the_weight(
    samples: list[Sample],
) -> None:
    assert weight_of(samples) == pytest.approx(PRIOR, abs=0.005)


def test_embeddings_without_an_earlier_map_are_learned_as_if_there_were_none() -> None:
    """A backbone that has none makes narrower embeddings."""
    samples = samples_of(40, 12, 4)
    clf = taught(SPEC, samples)
    assert clf.answer().maps.tolist() == [1]
    assert_same(clf, taught(f"{DEFAULT},blocks=2", samples))
