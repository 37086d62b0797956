"""An ONNX network with a fixed input size works at other sizes, or is rejected with the reason."""

import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

import robocle
from refusal import Refusal
from robocle.errors import BackboneError, SpecError
from small_networks import Shape, model, node, save

pytestmark = pytest.mark.usefixtures("cache")


def weights(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(0, 0.2, shape).astype(np.float32)


CONVOLUTION = node("Conv", "image", "kernel", output="fine", strides=[4, 4])
HALVED = node("MaxPool", "fine", output="coarse", kernel_shape=[2, 2], strides=[2, 2])
TOKENS = [
    node("Reshape", "coarse", "as tokens", output="flat"),
    node("Transpose", "flat", output="tokens", perm=[0, 2, 1]),
]


def declared(name: str, side: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 5, side, side])


def network(
    nodes: Sequence[onnx.NodeProto],
    output: str,
    own_constants: Mapping[str, NDArray[Any]] = types.MappingProxyType({}),
    side: int | str = 32,
) -> onnx.ModelProto:
    """Return a network whose first tensors are n x 5 x 8 x 8 and n x 5 x 4 x 4."""
    constants = {"kernel": weights(5, 3, 4, 4), "as tokens": np.array([0, 5, -1]), **own_constants}
    picture: dict[str, Shape] = {"image": ["n", 3, side, side]}
    made = model([CONVOLUTION, HALVED, *nodes], picture, [output], constants)
    if isinstance(side, int):
        made.graph.value_info.append(declared("fine", 8))
    return made


def convolutional(side: int | str = 32) -> onnx.ModelProto:
    made = network([], "coarse", side=side)
    if isinstance(side, int):
        made.graph.output[0].CopyFrom(declared("coarse", 4))
    return made


def pictures(side: int) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (3, side, side, 3), np.uint8)


@pytest.mark.parametrize("size", [16, 40, 64, 96])
def test_a_convolutional_network_computes_at_any_size_what_an_open_graph_does(
    size: int, tmp_path: Path
) -> None:
    fixed = save(convolutional(), tmp_path / "fixed.onnx")
    free = save(convolutional("side"), tmp_path / "open.onnx")
    found = robocle.backbone(f"onnx:{fixed},size={size},earlier=fine")
    expected = robocle.backbone(f"onnx:{free},size={size},earlier=fine")
    assert found.input_size == size
    assert found.fingerprint == expected.fingerprint
    maps, others = found.features(pictures(size)), expected.features(pictures(size))
    assert maps.grid.shape == (3, (size // 8) ** 2, 5)
    assert np.array_equal(maps.grid, others.grid)
    assert maps.earlier is not None
    assert others.earlier is not None
    assert np.array_equal(maps.earlier, others.earlier)


def test_the_size_is_in_its_name_and_may_be_given_for_a_batch_of_one(tmp_path: Path) -> None:
    made = convolutional()
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    path = save(made, tmp_path / "fixed.onnx")
    found = robocle.backbone(f"onnx:{path},size=64")
    assert found.name == f"onnx:{path},size=64"
    assert robocle.backbone(found.name).fingerprint == found.fingerprint
    assert found.features(pictures(64)).grid.shape == (3, 64, 5)
    own = robocle.backbone(f"onnx:{path}")
    assert robocle.backbone(f"onnx:{path},size=32").fingerprint == own.fingerprint
    assert own.fingerprint != found.fingerprint


def test_tokens_without_positions_can_have_another_size(tmp_path: Path) -> None:
    path = save(network(TOKENS, "tokens"), tmp_path / "tokens.onnx")
    plain = save(convolutional(), tmp_path / "map.onnx")
    found = robocle.backbone(f"onnx:{path},size=64").features(pictures(64)).grid
    expected = robocle.backbone(f"onnx:{plain},size=64").features(pictures(64)).grid
    assert np.array_equal(found, expected)


def fixed_tokens() -> onnx.ModelProto:
    return network(TOKENS, "tokens", {"as tokens": np.array([0, 5, 16])})


def positions() -> onnx.ModelProto:
    nodes = [*TOKENS, node("Add", "tokens", "positions", output="placed")]
    return network(nodes, "placed", {"positions": weights(1, 16, 5)})


def more_pictures() -> onnx.ModelProto:
    """Return a network that splits a larger picture into several and joins them at the end."""
    nodes = [
        node("Reshape", "coarse", "four by four", output="parts"),
        node("Transpose", "parts", output="turned", perm=[0, 2, 3, 1]),
        node("Softmax", "turned", output="made", axis=2),
        node("Shape", "image", output="all sizes"),
        node("Gather", "all sizes", "first", output="batch"),
        node("Concat", "batch", "rest", output="shape", axis=0),
        node("Reshape", "made", "shape", output="joined"),
    ]
    constants = {
        "four by four": np.array([-1, 5, 4, 4]),
        "first": np.array([0]),
        "rest": np.array([-1, 5]),
    }
    return network(nodes, "joined", constants)


def more_channels() -> onnx.ModelProto:
    """Return a network that turns more positions into more channels, and back at the end."""
    nodes = [
        *TOKENS,
        node("Reshape", "tokens", "sixteen", output="wide"),
        node("Softmax", "wide", output="made", axis=1),
        node("Reshape", "made", "five", output="narrow"),
    ]
    return network(
        nodes, "narrow", {"sixteen": np.array([0, 16, -1]), "five": np.array([0, -1, 5])}
    )


def cropped() -> onnx.ModelProto:
    crop = node("Slice", "coarse", "start", "end", "axes", output="corner")
    bounds = {"start": np.array([0, 0]), "end": np.array([4, 4]), "axes": np.array([2, 3])}
    return network([crop], "corner", bounds)


def resized() -> onnx.ModelProto:
    resize = node("Resize", "fine", "", "", "sides", output="smaller", mode="linear", axes=[2, 3])
    made = network([resize], "smaller", {"sides": np.array([4, 4])})
    made.opset_import[0].version = 18  # the first one in which Resize has axes
    return made


ONE_SIZE: dict[str, tuple[Callable[[], onnx.ModelProto], str]] = {
    "a shape of tokens": (fixed_tokens, "cannot run"),
    "positions": (positions, "cannot run"),
    "a shape that makes more pictures": (more_pictures, "its Reshape to parts is made for that"),
    "a shape that makes more channels": (more_channels, "its Reshape to wide is made for that"),
    "a corner": (cropped, "its map is 4x4, not 8x8"),
    "a side to resize to": (resized, "its map is 4x4, not 8x8"),
}


@pytest.mark.parametrize("name", ONE_SIZE)
def test_a_network_with_constants_of_one_size_takes_only_that(
    name: str, tmp_path: Path, refusal: Refusal
) -> None:
    make, reason = ONE_SIZE[name]
    path = save(make(), tmp_path / "one.onnx")
    assert robocle.backbone(f"onnx:{path}").features(pictures(32)).grid.shape == (3, 16, 5)
    message = refusal(BackboneError, lambda: robocle.backbone(f"onnx:{path},size=64"))
    assert message.startswith("one.onnx takes only 32x32 pictures: leave out size=64 (")
    assert reason in message
    assert len(message) < 500


def test_a_network_that_works_at_no_size_is_rejected_as_without_a_size(
    tmp_path: Path, refusal: Refusal
) -> None:
    pooled = node("GlobalAveragePool", "coarse", output="pooled")
    path = save(network([pooled], "pooled"), tmp_path / "pooled.onnx")
    plain = refusal(BackboneError, lambda: robocle.backbone(f"onnx:{path}"))
    assert refusal(BackboneError, lambda: robocle.backbone(f"onnx:{path},size=64")) == plain


@pytest.mark.parametrize("size", [8, 2000, -32])
def test_a_size_out_of_range_is_rejected(size: int, tmp_path: Path, refusal: Refusal) -> None:
    path = save(convolutional(), tmp_path / "fixed.onnx")
    message = refusal(SpecError, lambda: robocle.backbone(f"onnx:{path},size={size}"))
    assert message == f"size={size} is out of range: give 16 to 1024"
