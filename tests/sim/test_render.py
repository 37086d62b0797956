"""Pictures are the same everywhere, differ where they should, and show the planned condition."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from robocle._internal.randomness import keyed_rng
from robocle.errors import SpecError
from robocle_sim.camera import project
from robocle_sim.conditions import CONDITIONS, FACTORS, Settings
from robocle_sim.home import categories, home_plan, render, render_home
from robocle_sim.lighting import Lighting
from robocle_sim.materials import Material
from robocle_sim.mesh import SceneObject, all_points
from robocle_sim.objects import build
from robocle_sim.patterns import plain
from robocle_sim.scene import Scene, draw
from robocle_sim.stage import PlannedPicture, frame, settings_of, stage

PLANNED = [
    PlannedPicture(0, "mug", 1),
    PlannedPicture(0, "glasses", 2, "illumination", 3),
    PlannedPicture(0, "fork", 3, "clutter", 2),
]


def pixels(picture: Image.Image) -> NDArray[np.float64]:
    return np.asarray(picture, dtype=np.float64)


def hashes_here(plan: list[PlannedPicture]) -> dict[str, str]:
    """Hash pixels instead of JPEG bytes, which may be equal if one pixel differs by one level."""
    return {s.path: hashlib.sha256(render(s).tobytes()).hexdigest() for s in plan}


def hashes_elsewhere(plan: list[PlannedPicture], **environment: str) -> dict[str, str]:
    """Render and hash the pictures in a new process."""
    code = (
        "import hashlib, json\n"
        "from robocle_sim.home import render\n"
        "from robocle_sim.stage import PlannedPicture\n"
        f"plan = {plan!r}\n"
        "found = {s.path: hashlib.sha256(render(s).tobytes()).hexdigest() for s in plan}\n"
        "print(json.dumps(found))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_another_process_and_another_order_render_the_same_pixels() -> None:
    assert hashes_elsewhere(PLANNED[::-1]) == hashes_here(PLANNED)


@pytest.mark.slow
def test_a_processor_without_extensions_renders_the_same_pixels() -> None:
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    assert hashes_elsewhere(PLANNED, NPY_DISABLE_CPU_FEATURES=" ".join(found)) == hashes_here(
        PLANNED
    )


def on_grey(obj: SceneObject, size: int = 64) -> NDArray[np.float64]:
    """Draw an object alone, always from the same side and in the same light."""
    grey = plain((0.4, 0.4, 0.4))
    camera = frame(obj, Settings(azimuth=20, elevation=35, fill=0.7))
    return pixels(draw(Scene(obj, [], [], camera, Lighting(), grey, grey), size))


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("category", categories())
def test_instances_of_a_category_look_different(category: str) -> None:
    looks = [on_grey(build(0, category, instance)) for instance in (1, 2, 3)]
    for one, two in ((0, 1), (0, 2), (1, 2)):
        assert np.abs(looks[one] - looks[two]).mean() > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("category", categories())
def test_an_object_stands_on_the_table_and_fills_the_picture(category: str) -> None:
    for instance in (1, 2, 3):
        scene = stage(planned := PlannedPicture(0, category, instance), settings_of(planned))
        points = all_points(scene.object)
        assert points[:, 2].min() == pytest.approx(0, abs=1e-9)
        x, y, _ = project(scene.camera, points, 1)
        assert 0.45 <= max(np.ptp(x), np.ptp(y)) <= 0.78
        assert min(x.min(), y.min()) > 0
        assert max(x.max(), y.max()) < 1


def marked_pixels(scene: Scene) -> float:
    """Count the pixels of the object by painting it a glowing green."""
    green = Material(plain((0.0, 5.0, 0.0)), roughness=1.0, glow=5.0)
    obj = [replace(piece, material=green) for piece in scene.object]
    red, lime, blue = pixels(draw(replace(scene, object=obj), 96)).transpose(2, 0, 1)
    return float(((lime > 240) & (red < 160) & (blue < 160)).sum())


@pytest.mark.parametrize("category", ["banana", "chair", "mug"])
@pytest.mark.parametrize(("level", "share"), [(1, 0.2), (2, 0.4), (3, 0.6)])
def test_occlusion_hides_the_share_of_its_level(category: str, level: int, share: float) -> None:
    planned = PlannedPicture(0, category, 1, "occlusion", level)
    scene = stage(planned, settings_of(planned))
    whole = marked_pixels(replace(scene, occluder=[]))
    assert whole > 200
    assert 1 - marked_pixels(scene) / whole == pytest.approx(share, abs=0.1)


@pytest.mark.parametrize("factor", sorted(FACTORS))
def test_every_factor_and_level_changes_the_picture(factor: str) -> None:
    looks = [
        pixels(render(PlannedPicture(0, "teapot", 1, factor, level), 64)) for level in (1, 2, 3)
    ]
    for one, two in ((0, 1), (0, 2), (1, 2)):
        assert np.abs(looks[one] - looks[two]).mean() > 2.0


def test_every_instance_is_shown_under_every_condition() -> None:
    shown = {(planned.category, planned.instance, planned.condition) for planned in home_plan(0)}
    assert shown == {(c, n, x) for c in categories() for n in (1, 2, 3) for x in CONDITIONS}


def test_factors_have_levels_one_to_three_and_clean_has_level_zero() -> None:
    for factor in FACTORS:
        assert {s.level for s in home_plan(0) if s.condition == factor} == {1, 2, 3}
    assert {s.level for s in home_plan(0) if s.condition == "clean"} == {0}


def test_more_instances_only_add_to_the_plan() -> None:
    assert set(home_plan(0)) < set(home_plan(0, instances=5))


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
