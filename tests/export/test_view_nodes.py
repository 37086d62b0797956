"""The views of an exported model have exactly the pixels of the learner's views."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from refusal import Refusal
from robocle.backbones.onnx_graph import GraphBuilder
from robocle.errors import SpecError
from robocle.export.view_nodes import add_views
from robocle.images.views import Centre, Plain
from robocle.types import Pixels


class Mirrored:
    def __call__(self, pixels: Pixels) -> Pixels:
        return np.stack([pixels, pixels[:, ::-1]])


@pytest.mark.parametrize("side", [97, 224, 240, 260])
@pytest.mark.parametrize("shares", ["0.1", "1/0.333", "0.4/1/0.85", "1/0.8/0.67/0.5", "1"])
def test_the_looks_equal_pillows(side: int, shares: str) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (2, side, side, 3), np.uint8)
    builder = GraphBuilder()
    builder.add_input("pixels", TensorProto.UINT8, side, side, 3)
    builder.node("Identity", "pixels", output="seen")
    views = Centre(shares)
    assert add_views(builder, views, side) == len(views.looks)
    builder.add_output("seen", TensorProto.UINT8, side, side, 3)
    model = helper.make_model(builder.graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (found,) = session.run(None, {"pixels": pixels})
    by_picture = np.stack([views(each) for each in pixels])
    assert np.array_equal(found, np.concatenate(by_picture.swapaxes(0, 1)))


def test_a_single_view_changes_nothing_and_other_views_are_refused(refusal: Refusal) -> None:
    builder = GraphBuilder()
    assert add_views(builder, Plain(), 224) == 1
    assert not builder.graph.node
    assert "Mirrored" in refusal(SpecError, lambda: add_views(builder, Mirrored(), 224))
