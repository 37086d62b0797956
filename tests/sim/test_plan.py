"""The plan of the home: which pictures it has, and what each is for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from robocle._internal.randomness import keyed_rng
from robocle.errors import SpecError
from robocle.sim import PlannedPicture, categories, home_plan, is_teaching, render_home
from robocle.sim.conditions import CONDITIONS, FACTORS


def test_there_are_at_least_24_categories_in_order() -> None:
    assert len(categories()) >= 24
    assert list(categories()) == sorted(set(categories()))


def test_no_two_pictures_share_a_path() -> None:
    paths = Counter(planned.path for planned in home_plan(0))
    assert [path for path, count in paths.items() if count > 1] == []


def test_a_path_contains_condition_category_instance_and_number() -> None:
    assert PlannedPicture(0, "mug", 2, "pose", 3, 1).path == "pose/mug_02/1.jpg"


def test_five_clean_pictures_of_the_first_instance_are_for_teaching() -> None:
    taught = [planned for planned in home_plan(0) if is_teaching(planned)]
    assert {planned.condition for planned in taught} == {"clean"}
    assert {planned.instance for planned in taught} == {1}
    assert Counter(planned.category for planned in taught) == dict.fromkeys(categories(), 5)


def test_every_instance_is_shown_under_every_condition() -> None:
    shown = {(planned.category, planned.instance, planned.condition) for planned in home_plan(0)}
    assert shown == {(c, n, x) for c in categories() for n in (1, 2, 3) for x in CONDITIONS}


def test_factors_have_levels_one_to_three_and_clean_has_level_zero() -> None:
    for factor in FACTORS:
        assert {s.level for s in home_plan(0) if s.condition == factor} == {1, 2, 3}
    assert {s.level for s in home_plan(0) if s.condition == "clean"} == {0}


def test_more_instances_only_add_to_the_plan() -> None:
    assert set(home_plan(0)) < set(home_plan(0, instances=5))


def test_another_seed_draws_other_levels() -> None:
    assert [s.level for s in home_plan(0)] != [s.level for s in home_plan(1)]


def test_random_numbers_depend_on_their_key_alone() -> None:
    first = keyed_rng(3, "light", "mug", 1).random(4).tolist()
    keyed_rng(3, "light", "mug", 2).random(100)
    assert keyed_rng(3, "light", "mug", 1).random(4).tolist() == first
    assert keyed_rng(3, "light", "mug", "1").random(4).tolist() != first
    assert keyed_rng(3, "light", "mug1").random(4).tolist() != first


def test_pictures_of_two_seeds_cannot_share_a_folder(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"one seed, not of \[0, 1\]"):
        render_home(tmp_path, [PlannedPicture(0, "mug", 1), PlannedPicture(1, "mug", 1)])
    assert list(tmp_path.iterdir()) == []
