"""The int8 twin of a backbone is smaller, has its own fingerprint, and has similar features."""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import robocle
from refusal import Refusal
from robocle.backbones.added import fingerprint_of
from robocle.backbones.adding.int8 import FLOAT_CONVOLUTIONS, quantised
from robocle.backbones.efficientnet_lite import LITE0, EfficientNetLite0
from robocle.backbones.model_folder import Manifest
from robocle.backbones.onnx_backbone import OnnxBackbone, model_of
from robocle.errors import BackboneError
from robocle.evaluation.backbones.int8 import pixel_batches
from robocle.evaluation.datasets import dataset
from robocle.images import to_pixels

Twin = tuple[Manifest, bytes]


pytestmark = pytest.mark.slow


def home_pictures(start: int, count: int) -> list[Path]:
    examples = dataset("home").examples()
    step = len(examples) // 100
    return [example.path for example in examples[start :: step + 1]][:count]


def quantised_lite0(pictures: list[Path]) -> Twin:
    return quantised(LITE0.manifest, model_of(EfficientNetLite0()), pixel_batches(pictures, 224))


@pytest.fixture(scope="module")
def twin() -> Twin:
    return quantised_lite0(home_pictures(0, 24))


@pytest.fixture(scope="module")
def int8(twin: Twin) -> OnnxBackbone:
    return OnnxBackbone(*twin)


def test_the_twin_is_small_and_has_a_name_and_a_fingerprint_of_its_own(twin: Twin) -> None:
    manifest, model = twin
    assert len(model) < len(model_of(EfficientNetLite0())) / 3
    assert manifest.name == "efficientnet_lite0_int8"
    assert manifest.fingerprint != LITE0.manifest.fingerprint
    assert manifest.licence == LITE0.manifest.licence
    assert manifest.source.startswith(LITE0.manifest.source)


@pytest.mark.slow
def test_the_same_pictures_result_in_the_same_bytes_and_others_do_not(twin: Twin) -> None:
    again = quantised_lite0(home_pictures(0, 24))
    assert again == twin
    assert quantised_lite0(home_pictures(1, 24))[0].fingerprint != twin[0].fingerprint


def test_the_twin_agrees_on_pictures_it_was_not_calibrated_on(int8: OnnxBackbone) -> None:
    pool = robocle.pooling("moments:r=3,form=root")
    pixels = np.stack([to_pixels(path, 224) for path in home_pictures(2, 12)])
    before = pool(EfficientNetLite0().features(pixels)).astype(np.float64)
    after = pool(int8.features(pixels)).astype(np.float64)
    cosines = (before * after).sum(1) / np.linalg.norm(before, axis=1)
    cosines /= np.linalg.norm(after, axis=1)
    assert cosines.mean() > 0.98
    assert cosines.min() > 0.95


def test_the_twin_keeps_the_earlier_map(twin: Twin, int8: OnnxBackbone) -> None:
    manifest = twin[0]
    assert int8.earlier_channels == manifest.earlier_channels == 672
    assert manifest.earlier == LITE0.manifest.earlier
    assert manifest.fingerprint == fingerprint_of(*twin)
    assert manifest.fingerprint != fingerprint_of(replace(manifest, earlier_channels=0), twin[1])
    pixels = np.stack([to_pixels(path, 224) for path in home_pictures(2, 4)])
    before, after = EfficientNetLite0().features(pixels).earlier, int8.features(pixels).earlier
    assert before is not None
    assert after is not None
    assert after.shape == before.shape == (4, 196, 672)
    assert np.linalg.norm(after - before) < 0.2 * np.linalg.norm(before)


def test_the_first_convolutions_stay_in_float_and_all_others_are_quantised(twin: Twin) -> None:
    nodes = onnx.load_from_string(twin[1]).graph.node
    source = {output: node.op_type for node in nodes for output in node.output}
    convolutions = [node for node in nodes if node.op_type == "Conv"]
    weights = [source.get(node.input[1], "float") for node in convolutions]
    rest = len(convolutions) - FLOAT_CONVOLUTIONS
    assert weights == ["float"] * FLOAT_CONVOLUTIONS + ["DequantizeLinear"] * rest
    assert source[convolutions[0].input[0]] == "Div"  # the normalised pixels, not quantised


def test_an_int8_backbone_is_not_quantised_again(twin: Twin, refusal: Refusal) -> None:
    message = refusal(BackboneError, lambda: quantised(*twin, iter([])))
    assert message == "efficientnet_lite0_int8 is already int8"


def test_calibration_without_pictures_is_rejected(refusal: Refusal) -> None:
    model = model_of(EfficientNetLite0())
    message = refusal(BackboneError, lambda: quantised(LITE0.manifest, model, iter([])))
    assert message.startswith("cannot quantise efficientnet_lite0: ")


def test_quantisation_prints_nothing_and_leaves_no_file(
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    handlers = list(logging.getLogger().handlers)
    pixels: NDArray[np.uint8] = np.stack([to_pixels(p, 224) for p in home_pictures(0, 2)])
    quantised(LITE0.manifest, model_of(EfficientNetLite0()), iter([pixels]))
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert logging.getLogger().handlers == handlers
    assert list(tmp_path.iterdir()) == []
