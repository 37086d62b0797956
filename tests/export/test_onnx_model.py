"""The exported ONNX model predicts what the learner predicts, and the example needs no robocle."""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper
from PIL import Image, ImageOps

import robocle
from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone
from robocle.backbones.onnx_graph import GraphBuilder
from robocle.errors import NothingTaughtError, SpecError, StateAccessError
from robocle.export import narrow
from robocle.export.embedding_nodes import add_views
from robocle.images import to_pixels
from robocle.images.square import ORIENTATION_TAG
from robocle.images.views import Centre, Plain
from robocle.profiles import DEFAULT
from robocle.types import Pixels, Prediction
from transcript import steps_of

Outputs = dict[str, NDArray[Any]]
CLEAN = Path(robocle.__file__).parent / "demo/home/clean"
OBJECTS = sorted(path.name for path in CLEAN.iterdir())[:40]


@pytest.fixture(scope="module")
def pictures(lite0: Backbone) -> NDArray[np.uint8]:
    """A taught object, another object, and random pixels."""
    rendered = [
        to_pixels(CLEAN / name / "7.jpg", lite0.input_size) for name in ("apple_01", "clock_01")
    ]
    noise = np.random.default_rng(0).integers(0, 255, (1, *rendered[0].shape), np.uint8)
    return np.concatenate([np.stack(rendered), noise])


@pytest.fixture(scope="module")
def taught(lite0: Backbone) -> Callable[..., Learner]:
    """A function that teaches a learner the first objects of the rendered home."""
    embed = cache(Learner(lite0).embed_for_teaching)  # each picture once: this is what takes time

    def teach(labels: int, shots: int, classifier: str = DEFAULT.classifier) -> Learner:
        learner = Learner(lite0, classifier=classifier)
        for name in OBJECTS[:labels]:
            for shot in range(shots):
                learner.teach_embedding(embed(CLEAN / name / f"{shot}.jpg"), name)
        return learner

    return teach


def onnx_model(learner: Learner, false_accept: float = 0.05) -> onnx.ModelProto:
    """Return the exported model."""
    with TemporaryDirectory() as folder:
        learner.export_onnx(Path(folder) / "model.onnx", false_accept=false_accept)
        return onnx.load(Path(folder) / "model.onnx")


def outputs_of(learner: Learner, pictures: NDArray[np.uint8], **options: float) -> Outputs:
    """Run the exported model on pictures."""
    session = onnxruntime.InferenceSession(onnx_model(learner, **options).SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"pixels": pictures}), strict=True))


def assert_same(outputs: Outputs, expected: list[Prediction]) -> None:
    assert outputs["nearest"].tolist() == [each.nearest for each in expected]
    assert outputs["label"].tolist() == [each.label or "unknown" for each in expected]
    assert outputs["is_unknown"].tolist() == [each.label is None for each in expected]
    assert outputs["known_probability"] == pytest.approx(
        [each.known_probability for each in expected], abs=1e-5
    )
    confidences = [each.confidence for each in expected]
    assert outputs["confidence"] == pytest.approx(confidences, abs=1e-5)
    assert outputs["sure"].tolist() == [each.sure for each in expected]


@pytest.mark.parametrize("classifier", [DEFAULT.classifier, "ncm", "slda"])
@pytest.mark.parametrize(("labels", "shots"), [(1, 1), (1, 2), (2, 1), (2, 2), (5, 1)])
def test_the_outputs_are_those_of_the_learner(
    classifier: str,
    labels: int,
    shots: int,
    taught: Callable[..., Learner],
    pictures: NDArray[np.uint8],
) -> None:
    learner = taught(labels, shots, classifier)
    outputs, expected = outputs_of(learner, pictures), learner.predict_many(pictures)
    assert_same(outputs, expected)
    if classifier == DEFAULT.classifier:
        familiarity = [each.familiarity for each in expected]
        assert outputs["familiarity"] == pytest.approx(familiarity, rel=1e-5)


@pytest.mark.parametrize("views", ["centre", "centre:shares=0.9/0.6", "plain"])
def test_the_model_looks_as_the_learner_does(
    views: str, taught: Callable[..., Learner], pictures: NDArray[np.uint8], lite0: Backbone
) -> None:
    once = taught(3, 2)
    learner = Learner(lite0, prediction_views=views)
    learner.merge(once)
    expected = learner.predict_many(pictures)
    assert [each.known_probability for each in expected] != [
        each.known_probability for each in once.predict_many(pictures)
    ]
    assert_same(outputs_of(learner, pictures), expected)


def test_a_model_in_float32_has_no_text_and_predicts_the_same(
    taught: Callable[..., Learner], pictures: NDArray[np.uint8], tmp_path: Path
) -> None:
    learner = taught(5, 2)
    learner.export_onnx(tmp_path / "model.onnx", numbers="float32")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    outputs = session.get_outputs()
    assert {each.type for each in session.get_inputs()} == {"tensor(float)"}
    assert {each.type for each in outputs} == {"tensor(float)", "tensor(int32)", "tensor(bool)"}
    values = session.run(None, {"pixels": pictures.astype(np.float32)})
    found = dict(zip([each.name for each in outputs], values, strict=True))
    labels = json.loads(session.get_modelmeta().custom_metadata_map["robocle.labels"])
    named = np.array([*labels, "unknown"])
    assert_same(
        {**found, "label": named[found["label"]], "nearest": named[found["nearest"]]},
        learner.predict_many(pictures),
    )
    types = {helper.tensor_dtype_to_np_dtype(each.data_type) for each in
             onnx.load(tmp_path / "model.onnx").graph.initializer}  # fmt: skip
    assert np.dtype(np.float64) not in types


@pytest.mark.slow
def test_the_outputs_for_forty_labels_are_those_of_the_learner(
    taught: Callable[..., Learner], pictures: NDArray[np.uint8]
) -> None:
    learner = taught(len(OBJECTS), 2)
    outputs, expected = outputs_of(learner, pictures), learner.predict_many(pictures)
    assert_same(outputs, expected)
    scores = np.array([list(each.scores.values()) for each in expected])
    assert outputs["scores"] == pytest.approx(scores, abs=1e-6 * np.abs(scores).max())
    assert set(outputs["is_unknown"].tolist()) == {True, False}
    assert outputs["label"][-1] == "unknown"
    assert outputs["nearest"][-1] in OBJECTS


@pytest.mark.parametrize("rate", [0.001, 0.01, 0.5, 1.0])
def test_the_rate_of_the_model_can_be_chosen(
    rate: float, taught: Callable[..., Learner], pictures: NDArray[np.uint8]
) -> None:
    learner = taught(3, 2)
    outputs = outputs_of(learner, pictures, false_accept=rate)
    assert_same(outputs, learner.predict_many(pictures, false_accept=rate))


def test_a_rate_out_of_range_and_a_learner_without_labels_are_refused(
    taught: Callable[..., Learner], lite0: Backbone, refusal: Refusal
) -> None:
    assert "0.5" in refusal(SpecError, lambda: onnx_model(taught(2, 1), false_accept=0.6))
    refusal(NothingTaughtError, lambda: onnx_model(Learner(lite0)))


def test_an_existing_file_is_replaced_only_on_request(
    taught: Callable[..., Learner], tmp_path: Path, refusal: Refusal
) -> None:
    learner, path = taught(2, 1), tmp_path / "model.onnx"
    path.write_text("something else")
    assert "it exists" in refusal(StateAccessError, lambda: learner.export_onnx(path))
    assert path.read_text() == "something else"
    learner.export_onnx(path, replace=True)
    assert onnx.load(path).graph.output[0].name == "label"


def test_the_model_says_what_it_was_made_from(taught: Callable[..., Learner]) -> None:
    learner = taught(2, 2)
    metadata = {each.key: each.value for each in onnx_model(learner, 0.1).metadata_props}
    assert metadata["robocle.labels"] == f'["{OBJECTS[0]}", "{OBJECTS[1]}"]'
    assert metadata["robocle.backbone"] == learner.parts.backbone
    assert metadata["robocle.false_accept"] == "0.1"
    assert float(metadata["robocle.unknown_below"]) == learner.unknown_below(0.1)


NOT_NEEDED = ("robocle", "onnx", "scipy", "safetensors", "click", "platformdirs")


def run_example(folder: Path, picture: Path) -> str:
    """Run the first Python example of docs/export.md in a process that cannot import robocle."""
    page = Path(__file__).parents[2] / "docs/export.md"
    (example,) = (step for step in steps_of(page.read_text("utf-8")) if step.kind == "file")
    code = f"import sys; sys.argv[:] = {['recognise.py', str(picture)]!r}\n"
    code += "".join(f"sys.modules[{name!r}] = None\n" for name in NOT_NEEDED)
    command = [sys.executable, "-c", code + example.source]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["photograph.jpg", "turned.jpg", "drawing.png"])
def test_the_example_needs_no_robocle_and_prints_what_the_learner_predicts(
    name: str,
    taught: Callable[..., Learner],
    tmp_path: Path,
) -> None:
    learner = taught(3, 2)
    learner.export_onnx(tmp_path / "five.onnx")
    orientation = Image.Exif()
    orientation[ORIENTATION_TAG] = 6 if name == "turned.jpg" else 1
    with Image.open(CLEAN / "apple_01" / "7.jpg") as small:
        large = small.resize((1600, 1187), Image.Resampling.BICUBIC)
    large.save(tmp_path / name, exif=orientation)
    expected = learner.predict(tmp_path / name)
    label, confidence = run_example(tmp_path, tmp_path / name).split()
    assert label == (expected.label or "unknown")
    right = expected.unknown_probability if expected.label is None else expected.confidence
    assert float(confidence) == pytest.approx(right, abs=6e-4)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("size", [(1600, 1187), (640, 480), (333, 1000)])
def test_the_example_resizes_a_picture_to_the_pixels_of_the_learner(
    orientation: int, size: tuple[int, int], photo: NDArray[np.uint8], tmp_path: Path
) -> None:
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    Image.fromarray(photo).resize(size).save(tmp_path / "photo.jpg", exif=exif)
    with Image.open(tmp_path / "photo.jpg") as image:
        image.draft(image.mode, (224, 224))
        upright = ImageOps.exif_transpose(image).convert("RGB")
        square = upright.resize((224, 224), Image.Resampling.BILINEAR, reducing_gap=1.0)
    expected = to_pixels(tmp_path / "photo.jpg", 224)
    assert np.array_equal(np.asarray(square), expected)


class Mirrored:
    def __call__(self, pixels: Pixels) -> Pixels:
        return np.stack([pixels, pixels[:, ::-1]])


@pytest.mark.parametrize("side", [97, 224, 240, 260])
@pytest.mark.parametrize("shares", ["0.1", "1/0.333", "0.4/1/0.85", "1/0.8/0.67/0.5", "1"])
@pytest.mark.parametrize("numbers", [np.uint8, np.float32])
def test_the_looks_equal_pillows(side: int, shares: str, numbers: type) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (2, side, side, 3), np.uint8)
    builder = GraphBuilder()
    builder.add_input("pixels", TensorProto.UINT8, side, side, 3)
    builder.node("Identity", "pixels", output="seen")
    views = Centre(shares)
    assert add_views(builder, views, side) == len(views.looks)
    builder.add_output("seen", TensorProto.UINT8, side, side, 3)
    model = helper.make_model(builder.graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    if numbers is np.float32:
        narrow(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (found,) = session.run(None, {"pixels": pixels.astype(numbers)})
    by_picture = np.stack([views(each) for each in pixels])
    differences = np.abs(found - np.concatenate(by_picture.swapaxes(0, 1)).astype(float))
    # In float32, a few values that are close to a half are rounded the other way.
    assert differences.max() <= (numbers is np.float32)
    assert differences.mean() < 5e-3


def test_a_single_view_changes_nothing_and_other_views_are_refused(refusal: Refusal) -> None:
    builder = GraphBuilder()
    assert add_views(builder, Plain(), 224) == 1
    assert not builder.graph.node
    assert "Mirrored" in refusal(SpecError, lambda: add_views(builder, Mirrored(), 224))
