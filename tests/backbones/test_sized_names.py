"""The names of networks at another size than their own, and what to do when one is missing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robocle
from refusal import Refusal
from robocle.backbones.added import added_folder, how_to_add
from robocle.backbones.adding import add_backbone
from robocle.backbones.adding.int8 import int8_name, quantised
from robocle.backbones.efficientnet_lite import PUBLISHED
from robocle.backbones.names import ARCHITECTURES, SIZES, sized_name, split_size
from robocle.backbones.onnx_backbone import OnnxBackbone, model_of
from robocle.errors import BackboneError, SpecError
from small_networks import small_network

pytestmark = pytest.mark.usefixtures("cache")


@pytest.mark.parametrize("name", [*ARCHITECTURES, *PUBLISHED])
def test_the_size_is_found_in_a_name_and_no_network_has_one_by_itself(name: str) -> None:
    assert split_size(name) == (name, 0)
    for size in SIZES:
        assert split_size(sized_name(name, size)) == (name, size)


# ---- a backbone that is not on this machine


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("resnet50", "add resnet50"),
        ("resnet50_288", "add resnet50 --size 288"),
        ("resnet50_100", "add resnet50_100"),
        ("vit_b_16", "add vit_b_16"),
        ("vit_b_16_384", "add vit_b_16 --size 384"),
        ("vit_l_32", "add vit_l_32"),
        ("timm:resnet10t", "add timm:resnet10t"),
        ("timm:vit_tiny_patch16_224", "add timm:vit_tiny_patch16_224"),
    ],
)
def test_the_command_that_adds_a_network_has_its_size(name: str, command: str) -> None:
    assert how_to_add(name) == f"run robocle backbones {command}"


def test_a_network_at_its_own_size_has_no_size_in_its_name(refusal: Refusal) -> None:
    assert refusal(SpecError, lambda: robocle.backbone("vit_b_16_224")) == (
        "the backbone vit_b_16_224 is not installed: use vit_b_16, which has this size "
        "(robocle backbones add vit_b_16)"
    )


def test_a_size_in_a_name_of_timm_may_be_part_of_its_own() -> None:
    assert how_to_add("timm:resnet10t_288") == (
        "run robocle backbones add timm:resnet10t --size 288, or robocle backbones add "
        "timm:resnet10t_288 if timm has a network of that name"
    )


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("resnet50_288_int8", "resnet50_288"),
        ("timm:resnet10t_288_int8", "timm:resnet10t_288"),
        ("efficientnet_lite0_int8", "efficientnet_lite0"),
        ("efficientnet_lite0_288_int8", "efficientnet_lite0:size=288"),
        ("efficientnet_lite2_384_int8", "efficientnet_lite2:size=384"),
        ("mine_288_int8", "mine_288"),
    ],
)
def test_the_command_that_makes_an_int8_twin_names_its_original(name: str, original: str) -> None:
    assert int8_name(original) == name
    advice = how_to_add(name)
    assert advice.startswith(f"run robocle backbones quantise {original} --calibrate FOLDER, ")
    assert advice.endswith(f" to {added_folder(name)}")


# ---- what is added under such a name


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    return small_network(tmp_path / "net.onnx")


def test_the_twin_of_a_built_in_backbone_at_another_size_has_a_plain_name(onnx_file: Path) -> None:
    network = robocle.backbone(f"onnx:{onnx_file},size=96")
    assert isinstance(network, OnnxBackbone)
    manifest = replace(network.manifest, name="efficientnet_lite0:size=96")
    pixels = np.random.default_rng(0).integers(0, 256, (2, 96, 96, 3), np.uint8)
    twin, _ = quantised(manifest, model_of(network), iter([pixels]))
    assert twin.name == "efficientnet_lite0_96_int8"
    assert twin.input_size == 96


def test_the_size_of_an_onnx_file_is_an_option_of_its_spec(
    onnx_file: Path, refusal: Refusal
) -> None:
    spec = f"onnx:{onnx_file}"
    added = add_backbone(f"{spec},size=96", name="mine").manifest
    assert (added.input_size, added.positions) == (96, 36)
    assert robocle.backbone("mine").input_size == 96
    assert not add_backbone(f"{spec},size=96", name="mine").is_new
    message = refusal(BackboneError, lambda: add_backbone(spec, name="mine"))
    assert message.startswith("mine was already added, from onnx file ")
