"""The home as videos: smooth camera paths, keyed scenes, and files in the layout of OpenLORIS."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from command_line import assert_refused, run
from robocle.evaluation.datasets import dataset
from robocle.evaluation.datasets.openloris import FACTORS, level_of
from robocle_sim.camera import project
from robocle_sim.home import categories
from robocle_sim.mesh import all_points
from robocle_sim.openloris import Recording, frame_path, openloris_plan, render_openloris, scenes
from robocle_sim.stage import covered_pixels, hidden_share

FRAMES = 5


pytestmark = pytest.mark.slow


def split_of(number: int, count: int) -> str:
    return frame_path(Recording(0, "mug", 1, "pixel", 1), number, count).partition("/")[0]


# ---- the plan


def test_the_plan_has_every_object_under_every_factor_and_segment() -> None:
    plan = openloris_plan(0, instances=2)
    assert {(r.factor, r.segment) for r in plan} == {(f, s) for f in FACTORS for s in range(1, 10)}
    assert len(plan) == len(set(plan)) == len(categories()) * 2 * 4 * 9
    assert set(plan) < set(openloris_plan(0, instances=3))


def test_stretches_of_a_path_go_to_the_splits_in_turn() -> None:
    assert [split_of(k, 10) for k in range(10)] == [
        "train", "train", "test", "test", "train",
        "train", "validation", "validation", "train", "train",
    ]  # fmt: skip
    assert [split_of(k, 2) for k in range(2)] == ["train", "test"]
    assert Counter(split_of(k, 500) for k in range(500)) == {
        "train": 300, "test": 100, "validation": 100,
    }  # fmt: skip


# ---- the path

RECORDINGS = [
    Recording(0, category, 1, factor, segment)
    for category, factor, segment in [
        ("mug", "clutter", 1),
        ("fork", "illumination", 5),
        ("chair", "occlusion", 9),
        ("toy_car", "pixel", 4),
    ]
]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda r: r.factor)
def test_the_camera_moves_smoothly_around_the_object(recording: Recording) -> None:
    cameras = [scene.camera for scene in scenes(recording, 30)]
    eyes = np.array([camera.eye for camera in cameras])
    steps = np.linalg.norm(np.diff(eyes, axis=0), axis=1) / np.mean([c.distance for c in cameras])
    assert steps.min() > 0
    assert steps.max() < 0.08
    turns = np.diff([camera.azimuth for camera in cameras])
    assert abs(turns.sum()) > 29
    assert np.allclose(turns, turns[0])


@pytest.mark.parametrize("category", categories())
def test_the_object_stays_in_the_picture(category: str) -> None:
    for factor, segment in (("clutter", 1), ("pixel", 2), ("pixel", 9)):
        for scene in scenes(Recording(0, category, 1, factor, segment), 6):
            x, y, _ = project(scene.camera, all_points(scene.object), 1)
            assert min(x.min(), y.min()) > 0
            assert max(x.max(), y.max()) < 1


def test_the_occluder_hides_its_share_of_the_object_and_stays_in_place_on_the_picture() -> None:
    for segment, share in ((2, 0.2), (5, 0.4), (8, 0.6)):
        path = list(scenes(Recording(0, "mug", 1, "occlusion", segment), 4))
        hidden = [hidden_share(scene.object, scene.occluder, scene.camera) for scene in path]
        assert np.mean(hidden) == pytest.approx(share, abs=0.12)
        covered = [set(covered_pixels(each.occluder, each.camera).tolist()) for each in path]
        for other in covered[1:]:
            assert len(covered[0] ^ other) < 0.02 * len(covered[0])


# ---- a rendered tree

TINY = [
    Recording(0, category, 1, factor, segment)
    for category in ("mug", "toy_car")
    for factor in ("illumination", "pixel")
    for segment in (1, 9)
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two categories, two factors, two segments, five frames each."""
    root = tmp_path_factory.mktemp("rendered")
    render_openloris(root, TINY, FRAMES, size=96)
    return root


def test_the_rendered_tree_is_read_by_the_reader_of_openloris(tree: Path) -> None:
    found = dataset("openloris").examples(tree)
    assert Counter(e.split for e in found) == {"train": 24, "test": 8, "validation": 8}
    assert {e.label for e in found} == {"mug", "toy_car"}
    assert {e.instance for e in found} == {"mug_01", "toy_car_01"}
    assert {e.video for e in found} == {
        f"{r.factor}/segment{r.segment}/{r.category}_01" for r in TINY
    }
    for example in found:
        with Image.open(example.path) as picture:
            assert (picture.format, picture.size) == ("JPEG", (96, 96))


def test_the_index_of_the_tree_has_hashes_and_levels(tree: Path) -> None:
    index = json.loads((tree / "index.json").read_text())
    assert (index["seed"], index["size"], index["categories"]) == (0, 96, ["mug", "toy_car"])
    found = {e.path.relative_to(tree).as_posix(): e for e in dataset("openloris").examples(tree)}
    assert index["levels"] == {path: level_of(example) for path, example in found.items()}
    for path, expected in index["sha256"].items():
        assert hashlib.sha256((tree / path).read_bytes()).hexdigest() == expected


# ---- the command


@pytest.mark.exhaustive
def test_the_command_renders_a_whole_tree(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("sim", "--layout", "openloris", "--category", "mug", "--category", "toy_car",
                 "--instances", "1", "--frames", "2", "--size", "64", out)  # fmt: skip
    assert result.output == f"rendered 144 pictures into {out}\n"
    found = dataset("openloris").examples(out)
    assert Counter(e.split for e in found) == {"train": 72, "test": 72}
    assert len({e.video for e in found}) == 72


def test_the_frames_option_is_refused_for_single_pictures(tmp_path: Path) -> None:
    result = run("sim", "--frames", "3", tmp_path / "out")
    assert result.exit_code == 2
    assert "--frames requires --layout openloris" in result.stderr
    assert not (tmp_path / "out").exists()


def test_an_unknown_category_or_a_file_for_a_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert_refused(run("sim", "--category", "mugg", tmp_path / "out"), "did you mean 'mug'?")
    assert not (tmp_path / "out").exists()
    into_a_file = tmp_path / "file" / "out"
    assert_refused(run("sim", "--category", "mug", "--size", "64", into_a_file), "cannot write ")
