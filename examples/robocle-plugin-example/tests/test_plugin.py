"""The parts of this package keep robocle's contract, and work in a learner."""

from collections.abc import Callable

import numpy as np
import pytest

import robocle
from robocle.contract import CLASSIFIER_CHECKS, CORRUPTION_CHECKS
from robocle.errors import SpecError
from robocle.evaluation.corruptions import CORRUPTIONS, corruption


@pytest.mark.parametrize("check", CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("spec", ["knn", "knn:k=1,per_class=5"])
def test_the_classifier_keeps_the_contract(spec: str, check: Callable[[str], None]) -> None:
    check(spec)


@pytest.mark.parametrize("check", CORRUPTION_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("spec", ["jpeg", "jpeg:low=10,high=10"])
def test_the_corruption_keeps_the_contract(spec: str, check: Callable[[str], None]) -> None:
    check(spec)


def test_the_score_is_minus_the_mean_distance_to_the_nearest_samples() -> None:
    clf = robocle.classifier("knn:k=2")
    for x in (1.0, 2.0, 10.0):
        clf.learn([x, 0.0], "mug")
    assert clf.scores([[0.0, 0.0]]).tolist() == [[-1.5]]


def test_only_the_last_samples_are_compared() -> None:
    clf = robocle.classifier("knn:k=1,per_class=2")
    for x in (0.0, 5.0, 6.0):
        clf.learn([x], "mug")
    assert clf.scores([[0.0]]).tolist() == [[-5.0]]


@pytest.mark.parametrize("spec", ["knn:k=0", "knn:per_class=0", "knn:neighbours=3"])
def test_an_impossible_option_is_refused(spec: str) -> None:
    with pytest.raises(SpecError):
        robocle.classifier(spec)


def test_compression_changes_a_picture_a_little() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    changed = corruption("jpeg")(pixels, np.random.default_rng(1))
    difference = np.abs(changed.astype(float) - pixels).mean()
    assert 1 < difference < 100


def test_the_parts_are_listed_like_built_in_ones() -> None:
    assert "jpeg" in CORRUPTIONS.names()
    assert CORRUPTIONS.usage("jpeg") == "jpeg:low=5,high=20"
