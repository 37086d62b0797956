"""The networks of the paper compute the same map in ONNX Runtime as in PyTorch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import robocle
from exhaustive import only
from refusal import Refusal
from robocle.backbones import BACKBONES
from robocle.backbones.added import added_folder
from robocle.backbones.adding import add_backbone
from robocle.backbones.names import ARCHITECTURES
from robocle.errors import BackboneError, SpecError

pytestmark = pytest.mark.slow

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def noise(n: int, side: int) -> NDArray[np.uint8]:
    return np.random.default_rng(n).integers(0, 256, (n, side, side, 3), np.uint8)


@pytest.fixture
def lively(torchvision: Any) -> Callable[[str], Any]:
    """Makes a network with random statistics and biases, which are 0 or 1 after initialisation."""
    import torch

    def network(name: str) -> Any:
        torch.manual_seed(0)
        made = torchvision.models.get_model(name).eval()
        with torch.no_grad():
            for key, values in made.state_dict().items():
                if key.endswith("running_mean"):
                    values.normal_(0, 0.1)
                elif key.endswith("running_var"):
                    values.uniform_(0.5, 1.5)
                elif key.endswith("class_token") or key.endswith("bias"):
                    values.normal_(0, 0.05)
        return made

    return network


def logits_of_pytorch(network: Any, pixels: NDArray[np.uint8]) -> Any:
    """Compute the logits of the whole network, preprocessed as torchvision documents it."""
    import torch

    pictures = torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255
    mean, std = (torch.tensor(each).reshape(1, 3, 1, 1) for each in (MEAN, STD))
    with torch.inference_mode():
        return network((pictures - mean) / std)


def logits_of_maps(network: Any, name: str, maps: robocle.FeatureMaps) -> Any:
    """Compute logits by the network's own pooling and classifier from our map."""
    import torch

    with torch.inference_mode():
        if maps.token is not None:
            return network.heads(torch.from_numpy(maps.token))
        averaged = torch.from_numpy(maps.grid.mean(axis=1))
        head = {"resnet": "fc", "swin": "head"}.get(name.split("_")[0].rstrip("0123456789"))
        return getattr(network, head or "classifier")(averaged)


class Tap:
    """Keeps the output of a module of a network."""

    def __init__(self, module: Any) -> None:
        self.output: Any = None
        module.register_forward_hook(self)

    def __call__(self, _module: Any, _given: Any, found: Any) -> None:
        self.output = found.detach().clone()


def last_and_earlier(network: Any, name: str) -> tuple[Any, Any]:
    """Return the modules whose outputs are the maps, independently of our code."""
    if name.startswith("resnet"):
        return network.layer4, network.layer3
    if name.startswith("vit"):
        return network.encoder, network.encoder.layers[{"b": 7, "l": 15}[name.split("_")[1]]]
    if name.startswith("swin"):
        return network.norm, network.features[5]
    if name.startswith("efficientnet"):
        return network.features, network.features[6][0].block[0]
    place = {"mobilenet_v3_small": 9, "mobilenet_v3_large": 13}[name]
    return network.features, network.features[place].block[0]


def as_grid(output: Any, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    values = output.numpy()
    if name.startswith("vit"):
        return values[:, 1:], values[:, 0]
    if name.startswith("swin"):
        return values.reshape(len(values), -1, values.shape[-1]), None
    return values.reshape(*values.shape[:2], -1).transpose(0, 2, 1), None


def relative(found: Any, expected: Any) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.mark.usefixtures("torchvision")
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_table_of_the_sixteen_networks_is_theirs(name: str) -> None:
    import torch
    from torchvision.models import get_model

    from robocle.backbones.adding.torchvision_networks import FAMILIES

    known = ARCHITECTURES[name]
    with torch.device("meta"):
        network = get_model(name).eval()
        earlier = Tap(last_and_earlier(network, name)[1])
        family = next(family for start, family in FAMILIES.items() if name.startswith(start))
        last = family.feature_map(network, torch.zeros(1, 3, known.input_size, known.input_size))
    for found, side, channels in (
        (last, known.side, known.channels),
        (earlier.output, known.earlier_side, known.earlier_channels),
    ):
        sides = {side, channels} if not known.has_token else {side**2 + 1, channels}
        assert set(found.shape[1:]) == sides
    kept = [v.numel() for k, v in network.state_dict().items() if not k.startswith(family.head)]
    assert 4e-6 * sum(kept) == pytest.approx(known.megabytes, rel=0.015, abs=1)
    assert (family.prefix > 0) == known.has_token


def at_size(network: Any, name: str, size: int, torchvision: Any) -> Any:
    """Return a network that takes pictures of a size; only a ViT is made for one."""
    if not size or not name.startswith("vit"):
        return network
    from torchvision.models.vision_transformer import interpolate_embeddings

    patch = int(name.rpartition("_")[2])
    sized = torchvision.models.get_model(name, image_size=size).eval()
    sized.load_state_dict(interpolate_embeddings(size, patch, network.state_dict()))
    return sized


# One network of each kind of block, at its own size (0) and at others.
OWN_SIZE = [("resnet18", 0), ("resnet50", 0), ("swin_t", 0), ("vit_b_32", 0)]
SIZED = {"mobilenet_v3_small": 96, "efficientnet_b1": 224, "swin_t": 288, "vit_b_32": 288}
EXPORTED = [*only("resnet18", OWN_SIZE), *only("mobilenet_v3_small", SIZED.items())]


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(("name", "size"), EXPORTED)
def test_the_maps_the_token_and_the_logits_equal_pytorchs(
    name: str, size: int, lively: Callable[[str], Any], torchvision: Any, tmp_path: Path
) -> None:
    import torch

    network, known = lively(name), ARCHITECTURES[name]
    torch.save(network.state_dict(), tmp_path / "weights.pth")
    manifest = add_backbone(name, str(tmp_path / "weights.pth"), size=size).manifest
    assert manifest.name == (f"{name}_{size}" if size else name)
    assert manifest.source.endswith(f", size={size}") == (size > 0)
    megabytes = (added_folder(manifest.name) / "model.onnx").stat().st_size / 1e6
    assert abs(megabytes - known.megabytes) <= 1
    backbone, side = robocle.backbone(manifest.name), size or known.input_size
    assert (backbone.input_size, backbone.has_token) == (side, known.has_token)
    assert backbone.pixel_unit == pytest.approx(57.63)
    network = at_size(network, name, size, torchvision)
    taps = [Tap(module) for module in last_and_earlier(network, name)]
    for n in (1, 3):
        logits = logits_of_pytorch(network, noise(n, side))
        maps = backbone.features(noise(n, side))
        (grid, token), (earlier, _) = (as_grid(tap.output, name) for tap in taps)
        assert maps.earlier is not None
        assert maps.earlier.shape == earlier.shape
        assert relative(maps.grid, grid) < 1e-3
        assert relative(maps.earlier, earlier) < 1e-3
        if token is not None:
            assert maps.token is not None
            assert relative(maps.token, token) < 1e-3
        assert relative(logits_of_maps(network, name, maps).numpy(), logits.numpy()) < 1e-3


@pytest.mark.usefixtures("cache")
def test_an_added_network_works_like_any_other_backbone(checkpoint: Any) -> None:
    weights = str(checkpoint("resnet18"))
    first = add_backbone("resnet18", weights)
    backbone = robocle.backbone("resnet18")
    pixels = noise(3, 224)
    batch = backbone.features(pixels).grid
    assert relative(batch[0], batch[1]) > 1e-3
    for picture, together in zip(pixels, batch, strict=True):
        assert relative(backbone.features(picture[None]).grid[0], together) < 1e-5
    assert backbone.features(noise(0, 224)).grid.shape == (0, 49, 512)
    two = robocle.backbone("resnet18:threads=2")
    assert BACKBONES.describe(two) == "resnet18:threads=2"
    assert two.fingerprint == backbone.fingerprint
    again = add_backbone("resnet18", weights, "same")
    assert again.manifest.fingerprint == first.manifest.fingerprint
    other = add_backbone("resnet18", str(checkpoint("resnet18", 1)), "other")
    assert other.manifest.fingerprint != first.manifest.fingerprint
    stored = (first.folder / "model.onnx").read_bytes()
    assert b"site-packages" not in stored
    assert b".py" not in stored


@pytest.mark.usefixtures("cache")
def test_the_earlier_map_can_be_the_output_of_any_module_or_left_out(
    lively: Callable[[str], Any], tmp_path: Path, refusal: Refusal
) -> None:
    import torch

    network = lively("resnet18")
    weights = str(tmp_path / "weights.pth")
    torch.save(network.state_dict(), weights)
    chosen = add_backbone("resnet18", weights, earlier="layer2")
    assert chosen.manifest.earlier == "layer2.1.relu"
    assert chosen.manifest.source.endswith(", earlier=layer2")
    assert not add_backbone("resnet18", weights, earlier="layer2").is_new
    message = refusal(BackboneError, lambda: add_backbone("resnet18", weights))
    assert "was already added, from torchvision resnet18 file" in message
    tap = Tap(network.layer2)
    logits_of_pytorch(network, noise(2, 224))
    found = robocle.backbone("resnet18").features(noise(2, 224)).earlier
    assert relative(found, as_grid(tap.output, "resnet18")[0]) < 1e-3
    without = add_backbone("resnet18", weights, "without", earlier="none")
    assert without.manifest.earlier_channels == 0
    assert robocle.backbone("without").features(noise(2, 224)).earlier is None
    message = refusal(
        BackboneError, lambda: add_backbone("resnet18", weights, "no", earlier="laye2")
    )
    assert message == "resnet18 has no module 'laye2' before its last map: did you mean 'layer2'?"


@pytest.mark.usefixtures("cache")
def test_the_size_of_a_network_is_part_of_its_name_unless_it_is_its_own(
    checkpoint: Any, refusal: Refusal
) -> None:
    from robocle.backbones.adding.torchvision_networks import own_size

    weights = str(checkpoint("resnet18"))
    assert add_backbone("resnet18", weights, size=224).manifest.name == "resnet18"
    for size in (0, 224):
        again = add_backbone("resnet18", weights, size=size)
        assert (again.is_new, again.manifest.input_size) == (False, 224)
    assert add_backbone("resnet18", weights, size=64).is_new
    assert not add_backbone("resnet18", weights, size=64).is_new
    other = str(checkpoint("resnet18", 1))
    message = refusal(BackboneError, lambda: add_backbone("resnet18", other, size=64))
    assert message.startswith("resnet18_64 was already added, from torchvision resnet18 file ")
    assert ", size=64: replace it with --replace" in message
    assert own_size("vit_b_16", "IMAGENET1K_SWAG_E2E_V1") == 384
    small = add_backbone("resnet18", weights, "small", size=96)
    assert robocle.backbone("small").input_size == small.manifest.input_size == 96
    message = refusal(SpecError, lambda: add_backbone("resnet18", weights, size=100))
    assert message == "size=100 is not a multiple of 32: give 96 or 128"


# ---- weights from a file


def wrapped(name: str, tensors: dict[str, Any]) -> Any:
    return {
        "plain": tensors,
        "state_dict": {"epoch": 3, "state_dict": tensors},
        "model": {"model": tensors},
        "from several GPUs": {f"module.{key}": tensor for key, tensor in tensors.items()},
        "without counters": {k: t for k, t in tensors.items() if "num_batches" not in k},
        "with another classifier": {
            k: t[:7] if k.startswith("fc.") else t for k, t in tensors.items()
        },
    }[name]


FLAT = ["plain", "from several GPUs", "without counters", "with another classifier"]


@pytest.mark.parametrize(
    ("wrapping", "suffix"),
    [
        *((name, ".pth") for name in [*FLAT, "state_dict", "model"]),
        *((name, ".safetensors") for name in FLAT),
    ],
)
def test_a_checkpoint_can_be_wrapped_as_training_programs_do(
    wrapping: str, suffix: str, checkpoint: Any, tmp_path: Path
) -> None:
    import torch
    from safetensors.torch import save_file

    from robocle.backbones.adding.torchvision_networks import load_network

    plain = torch.load(checkpoint("resnet18"), weights_only=True)
    file = tmp_path / f"wrapped{suffix}"
    tensors = wrapped(wrapping, plain)
    if suffix == ".pth":
        torch.save(tensors, file)
    else:
        save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, file)
    network = load_network("resnet18", str(file))
    for key, tensor in network.module.state_dict().items():
        assert key.startswith("fc.") or torch.equal(tensor, plain[key])


def test_weights_of_another_network_are_rejected_with_the_first_misfit(
    cache: Path, checkpoint: Any, refusal: Refusal
) -> None:
    weights = str(checkpoint("resnet18"))
    message = refusal(BackboneError, lambda: add_backbone("resnet34", weights))
    assert message.startswith(f"{weights} does not fit resnet34: layer1.2.conv1.weight is missing")
    assert message.endswith("more): give weights of resnet34")
    message = refusal(BackboneError, lambda: add_backbone("resnet50", weights))
    assert "does not fit resnet50" in message
    message = refusal(BackboneError, lambda: add_backbone("vit_b_32", weights))
    assert "does not fit vit_b_32: class_token is missing" in message
    assert not cache.exists()


@pytest.mark.parametrize(
    ("key", "change", "words"),
    [
        ("layer4.1.conv2.weight", lambda kernel: kernel[:, :100],
         "layer4.1.conv2.weight is 512 x 100 x 3 x 3, not 512 x 512 x 3 x 3: give"),
        ("conv1.weight", lambda kernel: kernel * float("nan"), "not finite"),
    ],
)  # fmt: skip
def test_weights_of_another_shape_or_not_finite_are_rejected(
    key: str, change: Callable[[Any], Any], words: str, cache: Path, checkpoint: Any,
    tmp_path: Path, refusal: Refusal,
) -> None:  # fmt: skip
    import torch

    tensors = torch.load(checkpoint("resnet18"), weights_only=True)
    tensors[key] = change(tensors[key])
    torch.save(tensors, tmp_path / "wrong.pth")
    message = refusal(BackboneError, lambda: add_backbone("resnet18", str(tmp_path / "wrong.pth")))
    assert words in message
    assert not cache.exists()


class Runs:
    """An object whose pickle creates a file."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return open, (str(self.trace), "w")


@pytest.mark.parametrize("place", ["alone", "next to the weights", "in the old format"])
def test_code_in_a_checkpoint_is_rejected_and_not_run(
    place: str, cache: Path, checkpoint: Any, tmp_path: Path, refusal: Refusal
) -> None:
    import torch

    trace, hostile = tmp_path / "trace", tmp_path / "hostile.pth"
    tensors = torch.load(checkpoint("resnet18"), weights_only=True)
    content = Runs(trace) if place == "alone" else {**tensors, "more": Runs(trace)}
    torch.save(content, hostile, _use_new_zipfile_serialization=place != "in the old format")
    message = refusal(BackboneError, lambda: add_backbone("resnet18", str(hostile)))
    assert "could run code" in message
    assert message.endswith("save the network's state_dict() instead")
    assert not trace.exists()
    assert not cache.exists()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("empty.pth", b"", "is not a PyTorch checkpoint"),
        ("text.pth", b"weights\n" * 100, "could run code"),
        ("truncated.pth", b"PK\x03\x04" + bytes(100), "is not a PyTorch checkpoint"),
        ("text.safetensors", b"weights\n" * 100, "is not a PyTorch checkpoint"),
    ],
)
@pytest.mark.usefixtures("torchvision")
def test_a_file_that_is_not_a_checkpoint_is_rejected(
    name: str, content: bytes, expected: str, tmp_path: Path, refusal: Refusal
) -> None:
    (tmp_path / name).write_bytes(content)
    message = refusal(BackboneError, lambda: add_backbone("resnet18", str(tmp_path / name)))
    assert expected in message


@pytest.mark.usefixtures("torchvision")
@pytest.mark.parametrize("tree", [[1, 2], {}, {"w": 3}, 7])
def test_a_checkpoint_without_named_tensors_is_rejected(
    tree: Any, tmp_path: Path, refusal: Refusal
) -> None:
    import torch

    torch.save(tree, tmp_path / "odd.pth")
    message = refusal(BackboneError, lambda: add_backbone("resnet18", str(tmp_path / "odd.pth")))
    assert "odd.pth" in message


@pytest.mark.usefixtures("torchvision")
def test_a_missing_file_and_an_unknown_name_of_weights_are_rejected(refusal: Refusal) -> None:
    message = refusal(BackboneError, lambda: add_backbone("resnet50", "IMAGENET1K_V3"))
    assert "did you mean 'IMAGENET1K_V2'?" in message or "IMAGENET1K_V1" in message
    message = refusal(BackboneError, lambda: add_backbone("resnet50", "gone.pth"))
    assert "gone.pth is neither a file nor the name of published weights of resnet50" in message


# ---- published weights


@pytest.mark.parametrize("weights", ["", "IMAGENET1K_V2"])
def test_a_failed_download_names_the_url_and_says_how_to_use_a_file(
    weights: str,
    cache: Path,
    torchvision: Any,
    monkeypatch: pytest.MonkeyPatch,
    refusal: Refusal,
) -> None:
    import torch

    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(cache / "hub"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # no server listens there
    message = refusal(BackboneError, lambda: add_backbone("resnet50", weights))
    published = torchvision.models.ResNet50_Weights[weights or "IMAGENET1K_V1"]
    assert published.url in message
    assert message.endswith("give it with --weights FILE")


def test_published_weights_are_read_from_the_cache_of_torchvision(
    cache: Path,
    torchvision: Any,
    checkpoint: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Instead of a download, a file is put where torchvision would save it."""
    import torch

    from robocle.backbones.adding.torchvision_networks import load_network

    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(cache / "hub"))
    published = torchvision.models.get_model_weights("resnet18")["IMAGENET1K_V1"]
    file = cache / "hub" / "checkpoints" / published.url.rpartition("/")[2]
    file.parent.mkdir(parents=True)
    checkpoint("resnet18").rename(file)
    network = load_network("resnet18", "IMAGENET1K_V1")
    assert network.licence.startswith("BSD-3-Clause")
    assert network.input_size == 224
    assert (network.normalisation.mean, network.normalisation.std) == (MEAN, STD)
