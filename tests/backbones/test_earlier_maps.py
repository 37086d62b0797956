"""The earlier map of an ONNX network is found in its graph, named, or left out."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto

import robocle
from refusal import Refusal
from robocle.backbones import backbone_of_state, earlier_channels
from robocle.backbones.added import added_folder, fingerprint_of
from robocle.backbones.adding import add_backbone
from robocle.backbones.adding.inspection import earlier_tensor
from robocle.contract import check_backbone
from robocle.errors import BackboneError
from small_networks import model, node, save

pytestmark = pytest.mark.usefixtures("cache")

Array = NDArray[Any]
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
SIDE = 64


def weights(seed: int, *shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, 0.3, shape).astype(np.float32)


KERNELS = {
    "k1": weights(1, 6, 3, 16, 16),
    "k2": weights(2, 10, 6, 1, 1),
    "k3": weights(3, 2, 10, 1, 1),
    "k4": weights(4, 5, 2, 2, 2),
    "k5": weights(5, 5, 10, 2, 2),
}
LAYERS = {f"w{number}": weights(10 + number, 6, 6) for number in range(6)}


def conv(value: str, kernel: str, output: str) -> onnx.NodeProto:
    stride = KERNELS[kernel].shape[-1]
    return node("Conv", value, kernel, output=output, strides=[stride, stride])


def saved(
    path: Path, nodes: Sequence[onnx.NodeProto], outputs: Sequence[str], **constants: Array
) -> Path:
    return save(model(nodes, {"image": ["n", 3, SIDE, SIDE]}, outputs, constants), path)


def bottleneck(path: Path) -> Path:
    """A network to a map of 2x2. Its map of 4x4 is halved twice: narrowed, and by a shortcut."""
    nodes = [
        conv("image", "k1", "stem"),
        conv("stem", "k2", "expanded"),
        node("Relu", "expanded", output="wide"),
        conv("wide", "k3", "narrow"),
        conv("narrow", "k4", "inner"),
        conv("wide", "k5", "shortcut"),
        node("Add", "inner", "shortcut", output="last"),
        node("GlobalAveragePool", "last", output="pooled"),
    ]
    return saved(path, nodes, ["last", "pooled"], **KERNELS)


def transformer(path: Path, blocks: int = 6) -> Path:
    """A network to a class token and 16 others, of six channels, with a residual sum per block."""
    nodes = [
        conv("image", "k1", "patches"),
        node("Reshape", "patches", "shape", output="flat"),
        node("Transpose", "flat", output="positions", perm=[0, 2, 1]),
        node("ReduceMean", "positions", output="first", axes=[1], keepdims=1),
        node("Concat", "first", "positions", output="all", axis=1),
        node("Add", "all", "places", output="x0"),
    ]
    for number in range(blocks):
        nodes += [
            node("MatMul", f"x{number}", f"w{number}", output=f"m{number}"),
            node("Add", f"m{number}", "bias", output=f"b{number}"),
            node("Relu", f"b{number}", output=f"r{number}"),
            node("Add", f"x{number}", f"r{number}", output=f"x{number + 1}"),
        ]
    nodes.append(node("Relu", f"x{blocks}", output="tokens"))
    constants = {
        **KERNELS,
        **LAYERS,
        "shape": np.array([0, 6, 16]),
        "places": weights(7, 17, 6),
        "bias": weights(8, 6),
    }
    return saved(path, nodes, ["tokens"], **constants)


def pictures(n: int = 3) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (n, SIDE, SIDE, 3), np.uint8)


def convolved(value: Array, kernel: str) -> Array:
    """Convolve (n, channels, side, side) with a kernel whose stride is its size, in float64."""
    k = KERNELS[kernel].astype(np.float64)
    n, channels, side, _ = value.shape
    step, out = k.shape[-1], side // k.shape[-1]
    patches = value.reshape(n, channels, out, step, out, step)
    found: Array = np.einsum("ncyaxb,ocab->noyx", patches, k)
    return found


def stem_by_hand() -> Array:
    normalised = (pictures() / 255 - MEAN) / STD
    return convolved(normalised.transpose(0, 3, 1, 2), "k1")


def wide_by_hand() -> Array:
    return np.maximum(convolved(stem_by_hand(), "k2"), 0)


def rows(value: Array) -> Array:
    return value.reshape(*value.shape[:2], -1).transpose(0, 2, 1)


def tokens_by_hand(blocks: int) -> Array:
    positions = rows(stem_by_hand())
    x = np.concatenate([positions.mean(axis=1, keepdims=True), positions], axis=1)
    x = x + weights(7, 17, 6)
    for number in range(blocks):
        x = x + np.maximum(x @ LAYERS[f"w{number}"] + weights(8, 6), 0)
    return x


def assert_close(found: Array | None, expected: Array) -> None:
    assert found is not None
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


# ---- found in the graph


def test_the_widest_map_at_a_sixteenth_that_is_halved_is_the_earlier_map(tmp_path: Path) -> None:
    network: Any = robocle.backbone(f"onnx:{bottleneck(tmp_path / 'net.onnx')}")
    maps = network.features(pictures())
    assert maps.grid.shape == (3, 4, 5)
    assert_close(maps.earlier, rows(wide_by_hand()))
    assert (network.manifest.earlier, network.manifest.earlier_positions) == ("wide", 16)
    assert earlier_channels(network) == 10
    outputs = [each.name for each in onnx.load_from_string(network.model_bytes()).graph.output]
    assert outputs == ["feature_map", "earlier_map"]


def test_the_earlier_map_of_a_transformer_is_its_tokens_after_two_thirds_of_the_blocks(
    tmp_path: Path,
) -> None:
    network: Any = robocle.backbone(f"onnx:{transformer(tmp_path / 'vit.onnx')},prefix=1")
    maps = network.features(pictures())
    assert_close(maps.grid, np.maximum(tokens_by_hand(6), 0)[:, 1:])
    assert_close(maps.token, np.maximum(tokens_by_hand(6), 0)[:, 0])
    assert_close(maps.earlier, tokens_by_hand(4)[:, 1:])
    assert network.manifest.earlier == "x4"
    outputs = [each.name for each in onnx.load_from_string(network.model_bytes()).graph.output]
    assert outputs == ["feature_map", "token", "earlier_map"]


def test_a_network_with_nothing_earlier_has_none(tmp_path: Path) -> None:
    path = saved(tmp_path / "net.onnx", [conv("image", "k1", "map")], ["map"], **KERNELS)
    network: Any = robocle.backbone(f"onnx:{path}")
    assert network.features(pictures()).earlier is None
    assert earlier_channels(network) == 0
    assert network.manifest.earlier == ""
    assert network.fingerprint == fingerprint_of(network.manifest, network.model_bytes())


def test_a_map_that_is_padded_before_it_is_halved_is_found(tmp_path: Path) -> None:
    nodes = [
        conv("image", "k1", "stem"),
        node("Relu", "stem", output="active"),
        node("Pad", "active", "pads", output="padded"),
        node("MaxPool", "padded", output="map", kernel_shape=[3, 3], strides=[2, 2]),
    ]
    pads = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    path = saved(tmp_path / "net.onnx", nodes, ["map"], pads=pads, **KERNELS)
    maps = robocle.backbone(f"onnx:{path}").features(pictures())
    assert maps.grid.shape == (3, 4, 6)
    assert_close(maps.earlier, rows(np.maximum(stem_by_hand(), 0)))


def test_an_earlier_map_with_its_channels_last_or_in_half_precision_is_converted(
    tmp_path: Path,
) -> None:
    nodes = [
        conv("image", "k1", "stem"),
        node("Transpose", "stem", output="turned", perm=[0, 2, 3, 1]),
        node("Cast", "turned", output="half", to=TensorProto.FLOAT16),
        node("Slice", "half", "start", "end", "axes", "steps", output="fewer"),
        node("Cast", "fewer", output="map", to=TensorProto.FLOAT),
    ]
    slices = {"start": [0, 0], "end": [4, 4], "axes": [1, 2], "steps": [2, 2]}
    constants = {key: np.array(value) for key, value in slices.items()}
    path = saved(tmp_path / "net.onnx", nodes, ["map"], **KERNELS, **constants)
    network: Any = robocle.backbone(f"onnx:{path}")
    earlier = network.features(pictures()).earlier
    assert network.manifest.earlier == "half"
    assert earlier.dtype == np.float32
    expected = rows(stem_by_hand())
    assert np.abs(earlier - expected).max() < 1e-2 * np.abs(expected).max()


def test_the_default_backbone_as_an_onnx_file_has_the_same_maps(lite0: Any, tmp_path: Path) -> None:
    (tmp_path / "lite0.onnx").write_bytes(lite0.model_bytes())
    network: Any = robocle.backbone(f"onnx:{tmp_path}/lite0.onnx")
    pixels = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), np.uint8)
    for kind in ("grid", "earlier"):
        found = getattr(network.features(pixels), kind)
        assert np.array_equal(found, getattr(lite0.features(pixels), kind))
    assert network.manifest.earlier == "earlier_map"


def test_a_network_whose_shapes_cannot_be_inferred_has_no_earlier_map(tmp_path: Path) -> None:
    network = onnx.load(bottleneck(tmp_path / "net.onnx"))
    network.graph.node[0].op_type = "Unheard"
    assert earlier_tensor(network, SIDE, 0) == ""
    network.graph.node[0].input[0] = "nowhere"
    assert earlier_tensor(network, SIDE, 0) == ""


# ---- named, or left out


def test_the_earlier_map_can_be_named_or_left_out(tmp_path: Path) -> None:
    path = bottleneck(tmp_path / "net.onnx")
    named: Any = robocle.backbone(f"onnx:{path},earlier=stem")
    assert_close(named.features(pictures()).earlier, rows(stem_by_hand()))
    assert named.name == f"onnx:{path},earlier=stem"
    assert robocle.backbone(named.name).fingerprint == named.fingerprint
    without: Any = robocle.backbone(f"onnx:{path},earlier=none")
    maps = without.features(pictures())
    assert maps.earlier is None
    assert np.array_equal(maps.grid, named.features(pictures()).grid)
    # What versions without earlier maps computed.
    assert without.fingerprint.startswith("54fa650e6f4ed8b9383b")
    found, narrow, wide = (
        robocle.backbone(f"onnx:{path}{option}").fingerprint
        for option in ("", ",earlier=narrow", ",earlier=wide")
    )
    assert found == wide
    assert len({found, narrow, named.fingerprint, without.fingerprint}) == 4


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gone", "net.onnx has no tensor 'gone': it has last, pooled"),
        (
            "pooled",
            "pooled of net.onnx is no map (n x 5 x 1 x 1): choose another tensor, or earlier=none",
        ),
    ],
)
def test_a_tensor_that_is_no_map_is_rejected(
    name: str, expected: str, tmp_path: Path, refusal: Refusal
) -> None:
    path = bottleneck(tmp_path / "net.onnx")
    spec = f"onnx:{path},earlier={name}"
    assert refusal(BackboneError, lambda: robocle.backbone(spec)) == expected


def test_a_named_map_that_is_not_finite_is_rejected_and_a_found_one_is_left_out(
    tmp_path: Path, refusal: Refusal
) -> None:
    nodes = [
        conv("image", "k1", "stem"),
        node("Div", "stem", "zero", output="endless"),
        node("MaxPool", "endless", output="fewer", kernel_shape=[2, 2], strides=[2, 2]),
        node("Atan", "fewer", output="map"),
    ]
    path = saved(tmp_path / "net.onnx", nodes, ["map"], **KERNELS, zero=np.zeros(1, np.float32))
    message = refusal(BackboneError, lambda: robocle.backbone(f"onnx:{path},earlier=endless"))
    assert message == "endless of net.onnx has values that are not finite: check its weights"
    assert robocle.backbone(f"onnx:{path}").features(pictures()).earlier is None


# ---- as a backbone of robocle


def test_added_networks_with_an_earlier_map_keep_the_contract(tmp_path: Path) -> None:
    add_backbone(f"onnx:{bottleneck(tmp_path / 'net.onnx')}", name="mine")
    add_backbone(f"onnx:{transformer(tmp_path / 'vit.onnx')},prefix=1", name="tokens")
    for name in ("mine", "tokens"):
        assert earlier_channels(robocle.backbone(name)) > 0
        check_backbone(name)


def test_a_state_finds_the_network_with_the_earlier_map_that_it_was_taught_with(
    tmp_path: Path,
) -> None:
    path = bottleneck(tmp_path / "net.onnx")
    specs = [f"onnx:{path}", f"onnx:{path},earlier=stem", f"onnx:{path},earlier=none"]
    given = [robocle.backbone(spec) for spec in specs]
    path.unlink()
    for network in given:
        again = backbone_of_state(network.name, network.fingerprint)
        assert earlier_channels(again) == earlier_channels(network)
        found, expected = again.features(pictures()).earlier, network.features(pictures()).earlier
        assert (found is None) == (expected is None)
        assert found is None or np.array_equal(found, expected)  # type: ignore[arg-type]


def test_a_manifest_that_denies_the_earlier_map_is_found_out(
    tmp_path: Path, refusal: Refusal
) -> None:
    add_backbone(f"onnx:{bottleneck(tmp_path / 'net.onnx')}", name="mine")
    manifest = added_folder("mine") / "manifest.json"
    record = json.loads(manifest.read_text("utf-8"))
    changed = record | {"earlier": "", "earlier_channels": 0, "earlier_positions": 0}
    manifest.write_text(json.dumps(changed))
    message = refusal(BackboneError, lambda: robocle.backbone("mine"))
    assert "its manifest does not belong to its model" in message
    manifest.write_text(json.dumps(record | {"earlier_channels": 9}))
    assert "does not belong" in refusal(BackboneError, lambda: robocle.backbone("mine"))
