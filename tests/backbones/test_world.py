"""Worlds: what comes with robocle, what is computed, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors import safe_open

import robocle
from refusal import Refusal
from robocle import BackboneError, DataError, Learner
from robocle.backbones import Backbone
from robocle.backbones.world import SHIPPED, World, file_name, read_world, world_of
from robocle.evaluation.backbones.world_building import build_world, objects_in
from robocle.images.nothing import KINDS, pictures_of_nothing
from robocle.images.views import VIEWS
from robocle.poolings import POOLINGS
from robocle.profiles import DEFAULT, PROFILES
from robocle.types import FeatureMaps, Pixels

CLEAN = Path(robocle.__file__).parent / "demo/home/clean"
POOLING = POOLINGS.describe(POOLINGS.build(DEFAULT.pooling))


class SmallBackbone:
    """Mean colours of a 4 x 4 grid, and their squares: fast, and enough to tell objects apart."""

    name = "small"
    fingerprint = "5" * 64
    input_size = 32
    pixel_unit = 1.0
    has_token = False

    def features(self, pixels: Pixels) -> FeatureMaps:
        blocks = pixels.reshape(len(pixels), 4, 8, 4, 8, 3) / np.float32(255)
        colours = blocks.mean(axis=(2, 4)).reshape(len(pixels), 16, 3)
        return FeatureMaps(np.concatenate([colours, colours**2], axis=2).astype(np.float32))


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backbone:
    monkeypatch.setenv("ROBOCLE_CACHE", str(tmp_path / "cache"))
    world_of.cache_clear()
    return SmallBackbone()


@pytest.fixture(scope="module")
def built() -> World:
    """The world of the small backbone, from the rendered home."""
    return build_world(SmallBackbone())


@pytest.fixture(scope="module")
def shipped(lite0: Backbone) -> World:
    found = world_of(lite0.name, lite0.fingerprint, POOLING, "plain")
    assert found is not None
    return found


# ---- what comes with robocle


def test_the_default_backbone_has_a_world_of_at_most_four_megabytes(shipped: World) -> None:
    facts = shipped.backbone, shipped.fingerprint, shipped.pooling, shipped.views
    path = SHIPPED / file_name(*facts)
    assert path.stat().st_size <= 4_000_000
    assert shipped.pictures.shape[1] == 3 * 1280 + 2 * 672
    assert 200 <= shipped.objects < len(shipped.pictures)


def test_every_profile_has_a_world_for_its_own_views() -> None:
    wanted = {
        (each.backbone, VIEWS.describe(VIEWS.build(each.prediction_views)))
        for each in PROFILES.values()
    }
    found = set()
    for path in SHIPPED.glob("*.safetensors"):
        with safe_open(path, "numpy") as file:
            head = json.loads(file.metadata()["robocle"])
        found.add((head["backbone"], head["views"]))
    assert found == wanted


def test_a_state_is_judged_by_the_world_of_the_views_that_are_used(
    lite0: Backbone, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    learner = Learner(lite0)
    learner.teach(CLEAN / "mug_01/0.jpg", "mug")
    learner.save(tmp_path / "home.robocle")
    twice = Learner.load(tmp_path / "home.robocle", lite0, prediction_views="centre:shares=1/0.6")
    assert twice.parts.world == Learner(lite0, profile="accurate").parts.world
    assert twice.parts.world != learner.parts.world
    other = Learner(lite0, prediction_views="centre:shares=0.5")  # has no world of its own
    assert other.parts.world == learner.parts.world
    assert not caplog.records


def test_a_learner_records_its_world_and_a_loaded_state_has_it(
    lite0: Backbone, shipped: World, tmp_path: Path
) -> None:
    learner = Learner(lite0)
    learner.teach(CLEAN / "mug_01/0.jpg", "mug")
    learner.save(tmp_path / "home.robocle")
    loaded = Learner.load(tmp_path / "home.robocle", lite0)
    assert learner.parts.world == loaded.parts.world == shipped.identity
    picture = CLEAN / "clock_01/0.jpg"
    assert loaded.predict(picture).label is learner.predict(picture).label is None


def test_after_undo_forget_and_merge_the_world_is_still_used(lite0: Backbone) -> None:
    mug, clock = (
        Learner(lite0).embed_for_teaching(CLEAN / f"{n}_01/0.jpg") for n in ("mug", "clock")
    )
    stray = Learner(lite0).embed_for_prediction(CLEAN / "scissors_01/0.jpg")
    learner, other = Learner(lite0), Learner(lite0)
    learner.teach_embedding(mug, "mug")
    other.teach_embedding(clock, "clock")
    expected = learner.predict_embedding(stray)
    learner.merge(other)
    assert learner.predict_embedding(stray).label is None
    learner.forget("clock")
    assert learner.predict_embedding(stray).scores["mug"] == pytest.approx(expected.scores["mug"])
    learner.undo()
    assert set(learner.predict_embedding(stray).scores) == {"mug", "clock"}
    assert learner.predict_embedding(stray).label is None


# ---- computing one


@pytest.mark.slow
def test_a_computed_world_is_found_and_used(small: Backbone, built: World) -> None:
    assert world_of(small.name, small.fingerprint, POOLING, "plain") is None
    assert built.objects < len(built.pictures)
    built.keep()
    found = world_of(small.name, small.fingerprint, POOLING, "plain")
    assert found is not None
    assert found.identity == built.identity
    learner = Learner(small)
    assert learner.parts.world == built.identity
    learner.teach(CLEAN / "mug_01/0.jpg", "mug")
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    assert learner.predict(noise).label is None


def test_a_state_with_another_world_is_loaded_with_a_warning(
    small: Backbone, built: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    built.keep()
    learner = Learner(small)
    learner.teach(CLEAN / "mug_01/0.jpg", "mug")
    learner.save(tmp_path / "home.robocle")
    replace(built, source="other pictures").keep()
    loaded = Learner.load(tmp_path / "home.robocle", small)
    assert "taught with a world of its backbone, and here is another one" in caplog.text
    assert loaded.parts.world != learner.parts.world


def test_large_features_are_kept_in_float32(built: World, tmp_path: Path) -> None:
    large = replace(built, pictures=built.pictures * np.float32(1e6))
    large.write(tmp_path / "large.safetensors")
    facts = built.fingerprint, built.pooling, built.views
    found = read_world(tmp_path / "large.safetensors", *facts)
    np.testing.assert_array_equal(found.pictures, large.pictures)


# ---- what is refused


def test_a_world_of_another_backbone_or_with_infinite_numbers_is_refused(
    built: World, tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "world.safetensors"
    built.write(path)
    message = refusal(BackboneError, lambda: read_world(path, "7" * 64, POOLING, "plain"))
    assert "belongs to small (sha 55555555)" in message
    assert "robocle backbones world" in message
    rows: NDArray[np.float32] = built.pictures.copy()
    rows[0, 0] = np.nan
    replace(built, pictures=rows).write(path)
    facts = built.fingerprint, built.pooling, built.views
    assert "is damaged" in refusal(BackboneError, lambda: read_world(path, *facts))


@pytest.mark.parametrize("content", [b"", b"\0" * 64, b"not a world"])
def test_a_damaged_world_is_refused(
    small: Backbone, built: World, refusal: Refusal, content: bytes
) -> None:
    path = built.keep()
    path.write_bytes(content)
    world_of.cache_clear()
    message = refusal(BackboneError, lambda: Learner(small))
    assert "is damaged" in message


def test_a_folder_that_no_world_can_be_computed_from_is_refused(
    small: Backbone, tmp_path: Path, refusal: Refusal
) -> None:
    assert "has 0 pictures, but a world needs 20" in refusal(
        DataError, lambda: objects_in(tmp_path)
    )
    for number in range(20):
        (tmp_path / f"{number}.jpg").write_bytes(b"no picture")
    assert "take it out of the folder" in refusal(DataError, lambda: build_world(small, tmp_path))


# ---- pictures of nothing


def test_pictures_of_nothing_are_always_the_same_and_of_all_kinds() -> None:
    once, again = (list(pictures_of_nothing(len(KINDS), 32)) for _ in range(2))
    for one, other in zip(once, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len({picture.tobytes() for picture in once}) == len(KINDS)
