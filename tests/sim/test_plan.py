"""The plan of the home: which pictures it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from robocle._internal.randomness import keyed_rng
from robocle.errors import SpecError
from robocle_sim.conditions import CONDITIONS, FACTORS
from robocle_sim.home import categories, home_plan, render_home
from robocle_sim.stage import PlannedPicture


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
