"""Merging, forgetting, removing and joining equal teaching what is left from scratch."""

import copy

import numpy as np
import pytest

import robocle
from robocle.errors import FeatureError, InexactError, UnknownLabelError, UnknownSampleError
from slda_samples import DEFAULT, assert_same, samples_of, taught, teach, world_of

SPECS = [
    f"{DEFAULT},blocks=2+1x8",
    "slda:scatter=published,shrinkage=1e-4",
    "slda:scatter=published,shrinkage=oas,covariance=blocks,blocks=3",
    "slda:shrinkage=stepped,covariance=blocks,blocks=3",
    "slda:shrinkage=0.1,score=cosine,covariance=blocks,blocks=2+1x8,earlier=0.5",
]
EVERY_SPEC = pytest.mark.parametrize("spec", SPECS)
WIDTH, WORLD = 24, world_of(24)
OTHERS, MORE = samples_of(40, WIDTH, 5, seed=8), samples_of(9, WIDTH, 6, seed=9)


@EVERY_SPEC
def test_merging_or_teaching_what_is_known_already_changes_nothing(spec: str) -> None:
    samples = samples_of(20, WIDTH, 3)
    clf, empty = taught(spec, samples), taught(spec)
    for other in (taught(spec), clf, copy.deepcopy(clf), taught(spec, samples[5:9])):
        clf.merge(other)
    teach(clf, samples[3:])
    empty.merge(clf)
    for each in (clf, empty):
        assert_same(each, taught(spec, samples))


@pytest.mark.parametrize("spec", SPECS[3:])
def test_the_order_of_lessons_does_not_matter_to_the_exact_scatter(spec: str) -> None:
    samples = samples_of(80, WIDTH, 5)
    assert_same(taught(spec, samples[::-1]), taught(spec, samples))


def test_what_cannot_be_done_is_refused_and_changes_nothing() -> None:
    samples = samples_of(8, WIDTH, 2)
    clf = taught("slda", samples)
    for spec in ("ncm", "slda:shrinkage=0.5", "slda:keep=5"):
        with pytest.raises(InexactError, match="only equal classifiers can be merged"):
            clf.merge(robocle.classifier(spec).learn_one(np.ones(WIDTH), "mug"))
    with pytest.raises(FeatureError, match="width 48"):
        clf.merge(taught("slda", samples_of(8, 48, 2)))
    with pytest.raises(UnknownLabelError):
        clf.forget("mug")
    with pytest.raises(UnknownLabelError):
        clf.rename("mug", "cup")
    with pytest.raises(UnknownSampleError):
        clf.remove([samples[0].id, "no id"])
    assert_same(clf, taught("slda", samples))
