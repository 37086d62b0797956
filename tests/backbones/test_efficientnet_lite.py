"""EfficientNet-Lite computes the same feature maps as PyTorch and classifies photographs."""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import robocle
from refusal import Refusal
from robocle.backbones import BACKBONES, Backbone
from robocle.backbones.adding.int8 import quantised
from robocle.backbones.efficientnet_lite import PUBLISHED, build_model, checkpoint_path
from robocle.backbones.efficientnet_lite_graph import read_checkpoint
from robocle.backbones.onnx_backbone import OnnxBackbone, model_of
from robocle.errors import BackboneError, SpecError
from robocle.images import to_pixels
from robocle.types import FeatureMaps

pytestmark = pytest.mark.slow


def noise(n: int, side: int = 224) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (n, side, side, 3), np.uint8)


# ---- against PyTorch


Maps = tuple[NDArray[np.float32], NDArray[np.float32]]
# Side and channels of the last map, side and channels of the earlier one, and its block.
SHAPES = {
    "efficientnet_lite0": (7, 1280, 14, 672, 11),
    "efficientnet_lite1": (8, 1280, 15, 672, 15),
    "efficientnet_lite2": (9, 1280, 17, 720, 15),
}


@pytest.fixture(scope="module", params=SHAPES)
def name(request: pytest.FixtureRequest) -> str:
    """The name of each network of the family."""
    found: str = request.param
    return found


Reference = Callable[[NDArray[np.uint8]], Maps]


@pytest.fixture(scope="module")
def reference(name: str) -> Reference:
    """The public PyTorch implementation at the trained size."""
    return reference_at(name, PUBLISHED[name].input_size)


def reference_at(name: str, size: int) -> Reference:
    """Return the public PyTorch implementation with the same weights, from pixels to both maps.

    The earlier one is what goes into the depthwise convolution of the block that halves the grid
    for the last time.
    """
    torch = pytest.importorskip("torch")
    lite = pytest.importorskip("efficientnet_lite_pytorch")
    model = lite.EfficientNet.from_name(name.replace("_", "-"), image_size=size)
    model.load_state_dict(torch.load(checkpoint_path(PUBLISHED[name]), weights_only=True))
    model.eval()
    seen: list[NDArray[np.float32]] = []
    depthwise = model._blocks[SHAPES[name][-1]]._depthwise_conv
    assert list(depthwise.stride) == [2, 2]
    depthwise.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].numpy()))

    def feature_maps(pixels: NDArray[np.uint8]) -> Maps:
        inputs = (torch.from_numpy(pixels.copy()).permute(0, 3, 1, 2).float() - 127.0) / 128.0
        with torch.no_grad():
            last: NDArray[np.float32] = model.extract_features(inputs).numpy()
        return last, seen.pop()

    return feature_maps


@pytest.mark.parametrize("picture", ["noise", "photograph", "drawing"])
def test_both_maps_equal_pytorchs(
    picture: str, name: str, photo: NDArray[np.uint8], reference: Callable[..., Any]
) -> None:
    network = robocle.backbone(name)
    if picture == "noise":
        pixels = noise(2, network.input_size)
    else:
        chosen = sample_photo("china.jpg") if picture == "photograph" else photo
        pixels = to_pixels(chosen, network.input_size)[None]
    maps = network.features(pixels)
    assert maps.earlier is not None
    side, channels, earlier_side, earlier_channels, block = SHAPES[name]
    assert maps.grid.shape == (len(pixels), side**2, channels)
    assert maps.earlier.shape == (len(pixels), earlier_side**2, earlier_channels)
    assert PUBLISHED[name].manifest.earlier == f"expansion of block {block}"
    assert_equal_maps(maps, reference(pixels))


def assert_equal_maps(maps: FeatureMaps, reference: Maps) -> None:
    for found, expected in zip((maps.grid, maps.earlier), reference, strict=True):
        assert found is not None
        assert expected.max() > 0.1
        turned = expected.reshape(*expected.shape[:2], -1).transpose(0, 2, 1)
        assert np.abs(found - turned).max() < 1e-4


# ---- on photographs, with the checkpoint's own ImageNet classifier


def sample_photo(name: str) -> Any:
    return pytest.importorskip("sklearn.datasets").load_sample_image(name)


def test_a_temple_is_classified_as_a_building(lite0: Backbone) -> None:
    weights = read_checkpoint(checkpoint_path().read_bytes())
    pixels = to_pixels(sample_photo("china.jpg"), 224)[None]
    averaged = lite0.features(pixels).grid[0].mean(axis=0)
    scores = weights["_fc.weight"] @ averaged + weights["_fc.bias"]
    best = set(np.argsort(-scores)[:5].tolist())
    # bell cote, boathouse, castle, monastery, palace, stupa
    assert len({442, 449, 483, 663, 698, 832} & best) >= 4
    assert 698 in best


# ---- at another input size


@pytest.mark.parametrize("size", [128, 288])
def test_a_size_gives_another_backbone_with_larger_maps(name: str, size: int) -> None:
    network = robocle.backbone(f"{name}:size={size},threads=2")
    assert network.name == f"{name}:size={size}"
    assert network.input_size == size
    assert network.fingerprint != PUBLISHED[name].manifest.fingerprint
    maps = network.features(noise(1, size))
    assert maps.grid.shape == (1, (size // 32) ** 2, 1280)
    assert maps.earlier is not None
    assert maps.earlier.shape[1] == (size // 16) ** 2
    assert_equal_maps(maps, reference_at(name, size)(noise(1, size)))
    again = robocle.backbone(network.name)
    assert np.array_equal(again.features(noise(1, size)).grid, maps.grid)


def test_the_trained_size_is_the_plain_backbone(name: str) -> None:
    plain = robocle.backbone(name)
    same = robocle.backbone(f"{name}:size={plain.input_size}")
    assert (same.name, same.fingerprint) == (name, plain.fingerprint)


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ("300", "size=300 is not a multiple of 32: give 288 or 320"),
        ("32", "size=32 is out of range: give 64 to 1024"),
        ("100000", "size=100000 is out of range: give 64 to 1024"),
        ("big", "size=big of efficientnet_lite0 must be int"),
        ("224,threads=0", "threads=0 is out of range: give 1 to 256"),
        ("224,threads=257", "threads=257 is out of range: give 1 to 256"),
        ("224,numbers=int4", "numbers=int4 is not known: choose float32 or int8"),
    ],
)
def test_options_that_no_network_can_have_are_refused(
    size: str, reason: str, refusal: Refusal
) -> None:
    spec = f"efficientnet_lite0:size={size}"
    assert refusal(SpecError, lambda: robocle.backbone(spec)) == reason


# ---- in int8


def int8_constants(name: str) -> dict[str, NDArray[Any]]:
    """Return the integers and their scales in the int8 model of a network."""
    content = build_model(PUBLISHED[name].at(PUBLISHED[name].trained_size, "int8"))
    graph = onnx.load_from_string(content).graph
    return {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}


def test_int8_maps_are_close_to_those_in_float(name: str) -> None:
    plain = robocle.backbone(name)
    small = robocle.backbone(f"{name}:numbers=int8")
    assert small.name == f"{name}:numbers=int8"
    other = robocle.backbone(f"{name}:size=128,numbers=int8")
    assert len({plain.fingerprint, small.fingerprint, other.fingerprint}) == 3
    assert len(model_of(small)) < 0.3 * len(model_of(plain))
    photographs = [sample_photo("china.jpg"), sample_photo("flower.jpg")]
    pixels = np.stack([to_pixels(each, plain.input_size) for each in photographs])
    expected, found = plain.features(pixels), small.features(pixels)
    for a, b, most in ((expected.grid, found.grid, 0.15), (expected.earlier, found.earlier, 0.1)):
        assert a is not None
        assert b is not None
        assert 0 < np.linalg.norm(a - b) < most * np.linalg.norm(a)


def test_no_sum_of_two_int8_products_overflows_on_processors_without_vnni(name: str) -> None:
    """They add two products of weights and activations, which are at most 255, in 16 bits."""
    kernels = [
        integers.astype(int)
        for key, integers in int8_constants(name).items()
        if key.endswith(".kernel") and integers.dtype == np.int8 and integers.shape[1] > 1
    ]
    assert len(kernels) > 20
    for kernel in kernels:
        assert 64 <= np.abs(kernel).max() <= 127
        assert (np.abs(kernel[:, :-1]) + np.abs(kernel[:, 1:])).max() * 255 < 2**15


def test_an_int8_model_is_the_same_on_every_machine() -> None:
    """Its fingerprint names the recipe, so the bytes must follow from the weights alone."""
    network = PUBLISHED["efficientnet_lite0"].at(224, "int8")
    assert hashlib.sha256(build_model(network)).hexdigest().startswith("9502bf7bbfb616f8")
    assert network.manifest.fingerprint.startswith("b963eb26")


def test_an_int8_network_is_not_quantised_again(refusal: Refusal) -> None:
    network = robocle.backbone("efficientnet_lite0:numbers=int8")
    assert isinstance(network, OnnxBackbone)
    message = refusal(BackboneError, lambda: quantised(network.manifest, model_of(network), []))
    assert message == "efficientnet_lite0:numbers=int8 is already int8"


def test_the_fingerprint_does_not_change_between_versions() -> None:
    """States on disk refer to it."""
    starts = [network.manifest.fingerprint[:8] for network in PUBLISHED.values()]
    assert starts == ["a31c3392", "c39c8193", "c12a763a"]


def test_pixels_need_not_be_contiguous(lite0: Backbone) -> None:
    mirrored = noise(1)[:, :, ::-1]
    expected = lite0.features(np.ascontiguousarray(mirrored)).grid
    assert np.array_equal(lite0.features(mirrored).grid, expected)
    assert not np.array_equal(lite0.features(noise(1)).grid, expected)


def test_two_threads_compute_the_same_features(lite0: Backbone) -> None:
    two = robocle.backbone("efficientnet_lite0:threads=2")
    assert two.fingerprint == lite0.fingerprint
    assert BACKBONES.describe(two) == "efficientnet_lite0:size=224,numbers=float32,threads=2"
    assert np.abs(two.features(noise(1)).grid - lite0.features(noise(1)).grid).max() < 1e-5
