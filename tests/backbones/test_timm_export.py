"""Exported networks of timm compute the same features as timm, in every layout."""

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
from robocle.backbones.adding import add_backbone
from robocle.errors import BackboneError, SpecError

pytestmark = pytest.mark.slow

# name: tokens before the positions, whether one is a class token, how the features are laid out,
# and the module whose output is the earlier map
NETWORKS = {
    "convnext_atto": (0, False, "channels first", "stages.3.downsample.0"),
    "resnet10t": (0, False, "channels first", "layer3"),
    "tf_efficientnet_lite0": (0, False, "channels first", "blocks.5.0.bn1"),
    "deit_tiny_distilled_patch16_224": (2, True, "tokens", "blocks.7"),
    "vit_medium_patch16_reg4_gap_256": (4, False, "tokens", "blocks.7"),
}


@pytest.fixture
def timm(torchvision: Any) -> Any:
    return pytest.importorskip("timm")


@pytest.fixture
def network(timm: Any, tmp_path: Path) -> Callable[[str], tuple[Any, str]]:
    """Makes a network with seeded random weights, and a file of the weights."""
    import torch

    def make(name: str) -> tuple[Any, str]:
        torch.manual_seed(0)
        made = timm.create_model(name).eval()
        torch.save(made.state_dict(), tmp_path / "weights.pth")
        return made, str(tmp_path / "weights.pth")

    return make


def pictures(n: int, side: int) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (n, side, side, 3), np.uint8)


def features(network: Any, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Compute the features with timm, with the preprocessing of its configuration."""
    import torch

    config = network.pretrained_cfg
    mean, std = (torch.tensor(config[key]).reshape(1, 3, 1, 1) for key in ("mean", "std"))
    given = (torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255 - mean) / std
    with torch.inference_mode():
        found: NDArray[np.float32] = network.forward_features(given).numpy()
    return found


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", only("resnet10t", NETWORKS))
def test_the_map_and_the_token_equal_timms(name: str, network: Any) -> None:
    made, weights = network(name)
    prefix, has_token, layout, module = NETWORKS[name]
    seen: list[Any] = []
    made.get_submodule(module).register_forward_hook(lambda *values: seen.append(values[2]))
    added = add_backbone(f"timm:{name}", weights)
    assert added.manifest.name == f"timm:{name}"
    backbone = robocle.backbone(f"timm:{name}")
    assert BACKBONES.describe(backbone) == f"timm:{name},threads=1"
    assert backbone.has_token == has_token
    for n in (1, 3):
        pixels = pictures(n, backbone.input_size)
        expected = features(made, pixels)
        maps = backbone.features(pixels)
        grid, earlier = (
            e[:, prefix:] if layout == "tokens" else e.reshape(*e.shape[:2], -1).transpose(0, 2, 1)
            for e in (expected, seen.pop().numpy())
        )
        assert np.abs(maps.grid - grid).max() / np.abs(grid).max() < 1e-3
        assert maps.earlier is not None
        assert maps.earlier.shape == earlier.shape
        assert np.abs(maps.earlier - earlier).max() / np.abs(earlier).max() < 1e-3
        if has_token:
            assert maps.token is not None
            assert np.abs(maps.token - expected[:, 0]).max() / np.abs(grid).max() < 1e-3


@pytest.mark.usefixtures("cache")
def test_weights_with_another_classifier_fit_but_those_of_another_network_do_not(
    network: Any, tmp_path: Path, refusal: Refusal
) -> None:
    import torch

    from robocle.backbones.adding.timm_networks import load_network

    made, weights = network("resnet10t")
    tensors = made.state_dict()
    tensors["fc.weight"], tensors["fc.bias"] = tensors["fc.weight"][:7], tensors["fc.bias"][:7]
    torch.save(tensors, tmp_path / "seven.pth")
    loaded = load_network("resnet10t", str(tmp_path / "seven.pth")).module.state_dict()
    assert torch.equal(loaded["conv1.0.weight"], tensors["conv1.0.weight"])
    message = refusal(BackboneError, lambda: add_backbone("timm:convnext_atto", weights))
    assert "does not fit timm:convnext_atto" in message


@pytest.mark.usefixtures("timm", "cache")
def test_unknown_networks_and_networks_that_were_not_added_are_rejected(refusal: Refusal) -> None:
    message = refusal(BackboneError, lambda: add_backbone("timm:resnet18x"))
    assert message.startswith("timm has no model 'resnet18x': did you mean")
    message = refusal(BackboneError, lambda: robocle.backbone("timm:resnet18"))
    assert message.startswith("the backbone timm:resnet18 is not installed: ")
    assert message.endswith(": run robocle backbones add timm:resnet18")
    message = refusal(BackboneError, lambda: add_backbone("timm:resnet10t", "gone.pth"))
    assert message == "cannot read gone.pth: No such file or directory"


@pytest.mark.usefixtures("timm", "cache")
@pytest.mark.parametrize("revision", ["", "@main", "@1234abcd"])
def test_a_model_of_a_hub_must_name_its_commit(revision: str, refusal: Refusal) -> None:
    name = f"timm:hf-hub:ada/net{revision}"
    message = refusal(BackboneError, lambda: add_backbone(name))
    assert message.startswith(f"{name} names no commit")


@pytest.mark.usefixtures("timm")
def test_a_failed_download_says_how_to_use_a_file(
    monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # no server listens there
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    message = refusal(BackboneError, lambda: add_backbone("timm:resnet10t"))
    assert message.startswith("cannot download the weights of timm:resnet10t")
    assert message.endswith("robocle backbones add timm:resnet10t --weights FILE")


# ---- another size


@pytest.mark.filterwarnings("ignore::UserWarning")  # timm's, about its own interpolation
@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("name", "how"),
    only(
        "resnet10t",
        [
            ("resnet10t", {}),
            ("vit_tiny_patch16_224", {"img_size": 288}),
            ("swin_tiny_patch4_window7_224", {"img_size": 288, "window_size": 9}),
        ],
    ),
)
def test_a_network_of_timm_can_be_added_for_another_size(
    name: str, how: dict[str, int], network: Any, timm: Any
) -> None:
    _, weights = network(name)
    added = add_backbone(f"timm:{name}", weights, size=288).manifest
    assert added.name == f"timm:{name}_288"
    assert added.source.startswith(f"timm {name} file ")
    assert added.source.endswith(", size=288")
    assert not add_backbone(f"timm:{name}", weights, size=288).is_new
    backbone = robocle.backbone(f"timm:{name}_288,threads=2")
    assert (backbone.name, backbone.input_size) == (added.name, 288)
    # timm interpolates positions when it loads a file into a network of another size.
    file = {"file": weights, "custom_load": False}
    expected = timm.create_model(name, pretrained=True, pretrained_cfg_overlay=file, **how).eval()
    maps = features(expected, pictures(2, 288))
    if maps.ndim == 3:
        maps = maps[:, 1:]
    elif maps.shape[2] == maps.shape[3]:
        maps = maps.transpose(0, 2, 3, 1)
    maps = maps.reshape(2, -1, maps.shape[-1])
    found = backbone.features(pictures(2, 288)).grid
    assert found.shape == maps.shape
    assert np.abs(found - maps).max() / np.abs(maps).max() < 1e-3


@pytest.mark.usefixtures("cache")
def test_the_own_size_of_a_network_of_timm_need_not_be_a_multiple_of_32(
    network: Any, refusal: Refusal
) -> None:
    _, weights = network("resnet10t")
    assert add_backbone("timm:resnet10t", weights, size=176).manifest.name == "timm:resnet10t"
    assert not add_backbone("timm:resnet10t", weights).is_new
    add_backbone("timm:resnet10t", weights, "phone")
    assert robocle.backbone("phone:threads=2").name == "phone"
    assert "phone" in BACKBONES.names()
    message = refusal(SpecError, lambda: add_backbone("timm:resnet10t", weights, size=180))
    assert message == "size=180 is not a multiple of 32: give 160 or 192"


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("levit_128s", "The size of tensor a"),
        ("mixer_s32_224", "Input height (288) doesn't match model (224)."),
        ("halonet26t", "AssertionError"),
    ],
)
def test_a_network_that_timm_makes_for_one_size_takes_only_that(
    name: str, reason: str, network: Any, refusal: Refusal
) -> None:
    made, weights = network(name)
    own = made.pretrained_cfg["input_size"][-1]
    message = refusal(BackboneError, lambda: add_backbone(f"timm:{name}", weights, size=288))
    assert message.startswith(f"timm:{name} takes only {own}x{own} pictures: leave out --size (")
    assert reason in message


@pytest.mark.usefixtures("cache")
def test_patches_must_cover_the_whole_input(network: Any, refusal: Refusal) -> None:
    _, weights = network("eva02_tiny_patch14_224")
    spec = "timm:eva02_tiny_patch14_224"
    assert refusal(SpecError, lambda: add_backbone(spec, weights, size=288)) == (
        f"size=288 is not a multiple of 14, the patch size of {spec}: give a multiple of 224"
    )


@pytest.mark.usefixtures("timm", "cache")
def test_a_size_in_a_name_is_told_from_timms_own_names(refusal: Refusal) -> None:
    message = refusal(BackboneError, lambda: add_backbone("timm:resnet10t_288"))
    assert message == (
        "timm has no model 'resnet10t_288': run robocle backbones add timm:resnet10t --size 288"
    )
    message = refusal(BackboneError, lambda: add_backbone("timm:convnext_tiny.fb_in1k_288"))
    assert message.endswith(": run robocle backbones add timm:convnext_tiny.fb_in1k --size 288")
    message = refusal(BackboneError, lambda: add_backbone("timm:convnext_tiny.fb_in1"))
    assert message.endswith("did you mean 'convnext_tiny.fb_in1k'?")
    taken = "timm:convnext_tiny.fb_in22k_ft_in1k"
    message = refusal(BackboneError, lambda: add_backbone(taken, size=384))
    assert message == f"{taken}_384 is the name of another backbone: choose one with --name"


@pytest.mark.usefixtures("timm")
def test_the_size_of_a_model_of_a_hub_is_only_known_with_its_weights(
    network: Any, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    from robocle.backbones.adding import timm_networks as timm_export

    name = f"hf-hub:ada/net@{'0' * 40}"
    assert timm_export.own_size(name) == 0
    monkeypatch.setattr(timm_export, "_published", lambda _: network("resnet10t")[0])
    message = refusal(BackboneError, lambda: timm_export.load_network(name, "", 176))
    assert message == f"timm:{name} takes 176x176 pictures by itself: leave out --size"
