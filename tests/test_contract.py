"""The contract checks accept what is shipped and find parts that break a rule."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bright_detector import bright_detector
from robocle.backbones import Backbone
from robocle.backbones.efficientnet_lite import PUBLISHED
from robocle.classifiers.means import NearestClassMean
from robocle.contract import (
    BACKBONE_CHECKS,
    VIEW_CHECKS,
    check_backbone,
    check_classifier,
    check_corruption,
    check_dataset,
    check_finder,
    check_pooling,
    check_views,
)
from robocle.contract.checking import require_raises
from robocle.errors import FeatureError, LabelError
from robocle.evaluation.corruptions.combined import Clean
from robocle.evaluation.datasets.folder import Folder
from robocle.images.views import VIEWS, Centre, Plain
from robocle.poolings.moments import Moments
from robocle.poolings.plain import Average
from robocle.types import Embeddings, Example, FeatureMaps, Pixels, Scores


@pytest.mark.parametrize("check", VIEW_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("spec", [*VIEWS.names(), "centre:shares=1/1"])
def test_all_views_keep_the_contract(spec: str, check: Callable[[str], None]) -> None:
    check(spec)


@pytest.mark.parametrize("check", BACKBONE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_built_in_backbones_keep_the_contract(name: str, check: Callable[[str], None]) -> None:
    check(name)


class OtherBoxes:
    """A finder that returns another box each time."""

    fingerprint, input_size = "0", 8

    def corners(self, pixels: Pixels) -> NDArray[np.float64]:
        return np.random.default_rng().random((1, 4))


class ByTheBatch(NearestClassMean):
    """Scores relative to the batch."""

    def _scores(self, embeddings: object) -> Scores:
        scores = super()._scores(np.asarray(embeddings))
        centred: Scores = scores - scores.mean()
        return centred


class NeverReset(NearestClassMean):
    """Keeps its means when all samples are learned again."""

    def _reset(self) -> None:
        if not hasattr(self, "_means"):
            super()._reset()


class ByTheDeviation(Average):
    """Divides by the deviation."""

    def __call__(self, maps: FeatureMaps) -> Embeddings:
        with np.errstate(all="ignore"):
            pooled: Embeddings = super().__call__(maps) / maps.grid.std(axis=1)
        return pooled


class RowCutOff(Plain):
    """Cuts a row off."""

    def __call__(self, pixels: Pixels) -> Pixels:
        return pixels[None, 1:]


class Blackening(Clean):
    """Blackens a pixel in place."""

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        pixels[0, 0] = 0
        return pixels


class Tiny:
    """A backbone whose maps are the pixels, with an earlier map of three channels."""

    name, fingerprint = "broken", "0"
    input_size, pixel_unit, has_token = 8, 1.0, False
    earlier_channels = 3

    def features(self, pixels: Pixels) -> FeatureMaps:
        if pixels.shape[1:] != (8, 8, 3) or pixels.dtype != np.uint8:
            raise FeatureError("other pixels")
        grid = pixels.reshape(-1, 64, 3).astype(np.float32)
        return FeatureMaps(grid, earlier=self.earlier(grid))

    def earlier(self, grid: NDArray[np.float32]) -> NDArray[Any] | None:
        return grid[:, ::2]


class OtherFingerprints(Tiny):
    """A new fingerprint at each load."""

    loads = count()

    def __init__(self) -> None:
        self.fingerprint = str(next(self.loads))


class SecretEarlierMap(Tiny):
    """Does not say that it has an earlier map."""

    earlier_channels = 0


@pytest.mark.parametrize(
    ("check", "part", "message"),
    [
        (check_finder, OtherBoxes, "Arrays are not equal"),
        (check_classifier, ByTheBatch, "Not equal to tolerance"),
        (check_classifier, NeverReset, "a removed sample leaves no trace"),
        (check_pooling, ByTheDeviation, "embeddings are finite for activations all 0"),
        (check_views, RowCutOff, "pictures of the same size"),
        (check_corruption, Blackening, "Arrays are not equal"),
        (check_backbone, OtherFingerprints, "one fingerprint, not"),
        (check_backbone, SecretEarlierMap, "no earlier map without `earlier_channels`"),
    ],
)
def test_a_part_that_breaks_a_rule_is_found(
    check: Callable[[type], None], part: type, message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check(part)


def test_a_finder_is_checked(tmp_path: Path) -> None:
    (tmp_path / "bright.onnx").write_bytes(bright_detector())
    check_finder(f"onnx:{tmp_path / 'bright.onnx'}")


def test_a_part_is_checked_by_its_spec_its_class_or_an_instance(
    lite0: Backbone, objects: Path
) -> None:
    for classifier in ("ncm", NearestClassMean, NearestClassMean()):
        check_classifier(classifier)
    check_backbone(lite0)
    check_pooling(Moments(r=2))
    check_views(Centre("0.9/0.6"))
    check_corruption(Clean())
    check_dataset(Folder(), objects)


def test_an_instance_is_not_taught_what_its_copies_are() -> None:
    given = NearestClassMean()
    check_classifier(given)
    assert not given.labels


def test_a_backbone_with_an_earlier_map_keeps_the_contract() -> None:
    check_backbone(Tiny)


BROKEN_EARLIER_MAPS: dict[str, Callable[[NDArray[np.float32]], NDArray[Any] | None]] = {
    "an earlier map, as `earlier_channels` is 3": lambda grid: None,
    "a float32 earlier map": lambda grid: grid.astype(np.float64),
    "an earlier map .3, positions, 3.": lambda grid: grid[:, :, :2],
    "a finite earlier map": lambda grid: grid / 0,
    "Not equal to tolerance": lambda grid: grid - grid.mean(axis=0),
}


@pytest.mark.parametrize("message", BROKEN_EARLIER_MAPS)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_a_backbone_with_a_broken_earlier_map_is_found(message: str) -> None:
    class Part(Tiny):
        """Its earlier map breaks a rule."""

        def earlier(self, grid: NDArray[np.float32]) -> NDArray[Any] | None:
            return BROKEN_EARLIER_MAPS[message](grid)

    with pytest.raises(AssertionError, match=message):
        check_backbone(Part)


def test_a_data_set_that_lists_a_picture_twice_is_found(objects: Path) -> None:
    class Part(Folder):
        """Lists everything twice."""

        def examples(self, root: Path | None = None) -> list[Example]:
            return 2 * super().examples(root)

    with pytest.raises(AssertionError, match="every picture once"):
        check_dataset(Part, objects)


def raising(error: Exception) -> Callable[[], object]:
    def call() -> object:
        raise error

    return call


def test_a_refusal_must_raise_the_right_error_with_one_line() -> None:
    require_raises(LabelError, "a bad label", raising(LabelError("one line")))
    with pytest.raises(AssertionError, match="a bad label must raise LabelError, not FeatureError"):
        require_raises(LabelError, "a bad label", raising(FeatureError("no")))
    with pytest.raises(AssertionError, match="but nothing was raised"):
        require_raises(LabelError, "a bad label", lambda: None)
    with pytest.raises(AssertionError, match="the message must be one line"):
        require_raises(LabelError, "a bad label", raising(LabelError("two\nlines")))
