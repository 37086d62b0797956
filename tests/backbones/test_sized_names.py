"""The names of networks at another size than their own, and what to do when one is missing."""

import pytest

import robocle
from refusal import Refusal
from robocle.backbones import require_backbone
from robocle.backbones.added import added_folder, how_to_add
from robocle.backbones.architectures import ARCHITECTURES
from robocle.backbones.efficientnet_lite import PUBLISHED
from robocle.backbones.export.int8 import int8_name
from robocle.backbones.input_size import SIZES, require_size, sized_name, split_size
from robocle.errors import SpecError

pytestmark = pytest.mark.usefixtures("cache")


@pytest.mark.parametrize("name", [*ARCHITECTURES, *PUBLISHED])
def test_the_size_is_found_in_a_name_and_no_network_has_one_by_itself(name: str) -> None:
    assert split_size(name) == (name, 0)
    for size in SIZES:
        assert split_size(sized_name(name, size)) == (name, size)


@pytest.mark.parametrize("name", ["resnet50_100", "resnet50_064", "resnet50_32", "288", "a_1056"])
def test_a_number_that_is_no_size_is_part_of_the_name(name: str) -> None:
    assert split_size(name) == (name, 0)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (100, "size=100 is not a multiple of 32: give 96 or 128"),
        (32, "size=32 is out of range: give 64 to 1024"),
        (1056, "size=1056 is out of range: give 64 to 1024"),
        (-64, "size=-64 is out of range: give 64 to 1024"),
    ],
)
def test_a_size_that_no_network_can_have_is_rejected(
    size: int, expected: str, refusal: Refusal
) -> None:
    assert refusal(SpecError, lambda: require_size(size)) == expected


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
    assert advice.startswith(f"run robocle backbones quantize {original} --calibrate FOLDER, ")
    assert advice.endswith(f" to {added_folder(name)}")


def test_a_missing_network_at_another_size_is_rejected_with_the_command_that_adds_it(
    refusal: Refusal,
) -> None:
    expected = (
        "the backbone resnet50_288 is not installed: run robocle backbones add resnet50 --size 288"
    )
    assert refusal(SpecError, lambda: robocle.backbone("resnet50_288:threads=2")) == expected
    assert refusal(SpecError, lambda: require_backbone("resnet50_288")) == expected
