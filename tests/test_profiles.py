"""Profiles: whole learners under one name."""

from pathlib import Path
from typing import Any, get_args

import pytest

import robocle
from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import SpecError
from robocle.profiles import DEFAULT_PROFILE, PROFILES, Objects, ProfileName
from scripts import imported_script

ROOT = Path(__file__).parents[1]
CLEAN = Path(robocle.__file__).parent / "demo/home/clean"


def picture(name: str, number: int) -> Path:
    return CLEAN / f"{name}_01" / f"{number}.jpg"


def teach(learner: Learner) -> None:
    for label in ("mug", "clock", "banana"):
        for number in (0, 1):
            learner.teach(picture(label, number), label)


def test_the_default_looks_once_and_accurate_twice(lite0: Backbone) -> None:
    assert DEFAULT_PROFILE == "fast"
    fast, accurate = Learner(lite0), Learner(lite0, profile="accurate")
    assert fast.parts.prediction_views == "centre:shares=0.8"
    assert accurate.parts.prediction_views == "centre:shares=1/0.6"
    shown = picture("mug", 3)
    once, twice = (each.embed_for_prediction(shown).values for each in (fast, accurate))
    assert once.shape == twice.shape
    assert (once != twice).any()
    looks = [
        Learner(lite0, prediction_views=f"centre:shares={share}").embed_for_prediction(shown).values
        for share in (1, 0.6)
    ]
    assert twice == pytest.approx(sum(looks) / 2, rel=1e-4, abs=1e-5)


def test_profiles_of_one_backbone_learn_the_same(lite0: Backbone) -> None:
    fast, accurate = Learner(lite0), Learner(lite0, profile="accurate")
    for learner in (fast, accurate):
        teach(learner)
    shown = fast.embed_for_prediction(picture("mug", 3))
    scores = [each.predict_embedding(shown).scores for each in (fast, accurate)]
    assert scores[0] == pytest.approx(scores[1])
    fast.merge(accurate)
    assert fast.counts == {"mug": 4, "clock": 4, "banana": 4}


def test_a_state_keeps_its_views_and_other_views_can_be_chosen(
    lite0: Backbone, tmp_path: Path
) -> None:
    path = tmp_path / "home.robocle"
    with Learner.open(path, lite0, profile="accurate") as learner:
        teach(learner)
        twice = learner.predict(picture("mug", 3)).scores
    again = Learner.load(path, lite0)
    assert again.predict(picture("mug", 3)).scores == pytest.approx(twice)
    once = Learner.load(path, lite0, prediction_views="plain")
    assert once.predict(picture("mug", 3)).scores != pytest.approx(twice)
    with Learner.open(path, lite0, prediction_views="plain") as learner:
        learner.teach(picture("mug", 2), "mug")
    assert Learner.load(path, lite0).parts.prediction_views.startswith("centre")


@pytest.mark.parametrize(("objects", "weight"), [("same", "earlier=2"), ("kinds", "earlier=0.125")])
def test_what_will_be_recognised_sets_the_weight_of_the_earlier_map(
    lite0: Backbone, objects: Objects, weight: str
) -> None:
    assert weight in Learner(lite0, objects=objects).parts.classifier
    assert "earlier=auto" in Learner(lite0).parts.classifier


def test_an_unknown_profile_or_purpose_is_refused_with_what_there_is(lite0: Backbone) -> None:
    wrong: Any = "acurate"
    with pytest.raises(SpecError, match="unknown profile 'acurate': did you mean 'accurate'"):
        Learner(lite0, profile=wrong)
    with pytest.raises(SpecError, match="objects"):
        Learner(lite0, objects=wrong)
    with pytest.raises(SpecError, match="earlier"):
        Learner(lite0, classifier="ncm", objects="same")


def test_the_page_on_profiles_lists_all_with_the_figures_of_the_results() -> None:
    page = (ROOT / "docs/profiles.md").read_text("utf-8")
    for name in PROFILES:
        assert f"| `{name}` | " in page.partition("<!-- begin figures")[2]
    figures = imported_script("docs/profile_figures.py")
    results = (ROOT / "docs/results/profiles.md").read_text("utf-8")
    assert figures.updated(page, results, figures.speeds()) == page


@pytest.mark.slow
def test_the_large_profile_teaches_and_recognises() -> None:
    learner = Learner(profile="large")
    assert learner.parts.backbone == PROFILES["large"].backbone
    teach(learner)
    assert learner.predict(picture("mug", 3)).nearest == "mug"


def test_the_names_of_profiles_are_those_that_type_checkers_know() -> None:
    assert get_args(ProfileName) == tuple(PROFILES)
