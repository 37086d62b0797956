"""A user's ONNX file works as a backbone, or is rejected with a message that says why."""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

import robocle
from refusal import Refusal
from robocle.backbones import BACKBONES, backbone_of_state
from robocle.backbones.adding import add_backbone, inspection
from robocle.backbones.model_folder import CACHE_VARIABLE
from robocle.errors import BackboneError, SpecError, StateError
from small_networks import Shape, model, node, save

# Every network that is given is kept in the cache.
pytestmark = pytest.mark.usefixtures("cache")

# ---- small networks, built by hand

FLOAT = TensorProto.FLOAT


def weights(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, 0.2, shape).astype(np.float32)


def convolution(value: str = "image", output: str = "map") -> onnx.NodeProto:
    return helper.make_node("Conv", [value, "kernel"], [output], strides=[8, 8])


KERNEL = {"kernel": weights(5, 3, 8, 8)}
PICTURE: dict[str, Shape] = {"image": ["n", 3, 32, 32]}


def plain(picture: dict[str, Shape] = PICTURE, **changes: Any) -> onnx.ModelProto:
    """Return a network from pictures (n, 3, 32, 32) to a map (n, 5, 4, 4)."""
    return model([convolution()], picture, ["map"], KERNEL, **changes)


def classifier() -> onnx.ModelProto:
    """Return a network that pools its map and returns logits."""
    nodes = [
        convolution(),
        helper.make_node("GlobalAveragePool", ["map"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "layer"], ["logits"]),
    ]
    return model(nodes, PICTURE, ["logits"], {**KERNEL, "layer": weights(5, 1000)})


def transformer(prefix: int = 1, batch: int = 0) -> onnx.ModelProto:
    """Return a network to tokens (n, prefix + 16, 5), the first ones the mean of the others."""
    nodes = [
        convolution(),
        helper.make_node("Reshape", ["map", "shape"], ["flat"]),
        helper.make_node("Transpose", ["flat"], ["positions"], perm=[0, 2, 1]),
        helper.make_node("ReduceMean", ["positions"], ["first"], axes=[1], keepdims=1),
        helper.make_node("Concat", ["first"] * prefix + ["positions"], ["tokens"], axis=1),
    ]
    constants = {**KERNEL, "shape": np.array([batch, 5, 16])}
    return model(nodes, PICTURE, ["tokens"], constants)


def pictures(n: int = 3, side: int = 32) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (n, side, side, 3), np.uint8)


def by_hand(pixels: NDArray[np.uint8], mean: Any, std: Any, white: float = 1) -> NDArray[Any]:
    """Return the map of the plain network, (n, 16, 5), computed in float64."""
    inputs = (pixels.astype(np.float64) / 255 * white - np.array(mean)) / np.array(std)
    patches = inputs.reshape(len(pixels), 4, 8, 4, 8, 3)
    maps = np.einsum("nrycxk,okyx->nrco", patches, KERNEL["kernel"].astype(np.float64))
    grid: NDArray[Any] = maps.reshape(len(pixels), 16, 5)
    return grid


IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


# ---- networks that work


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ("", IMAGENET),
        (",mean=imagenet,std=imagenet", IMAGENET),
        (",mean=0.5,std=0.25", ((0.5,) * 3, (0.25,) * 3)),
        (",mean=0.1/0.2/0.3,std=0.4/0.5/0.6", ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))),
        (",mean=127,std=128,white=255", ((127,) * 3, (128,) * 3, 255)),
        (",order=bgr,mean=0.1/0.2/0.3,std=0.4/0.5/0.6", ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))),
    ],
)
def test_the_map_is_computed_from_the_normalised_picture(
    options: str, how: Any, tmp_path: Path
) -> None:
    path = save(plain(), tmp_path / "plain.onnx")
    backbone = robocle.backbone(f"onnx:{path}{options}")
    maps = backbone.features(pictures())
    assert (backbone.input_size, backbone.has_token, maps.token) == (32, False, None)
    turned = pictures()[..., ::-1] if "bgr" in options else pictures()
    assert np.abs(maps.grid - by_hand(turned, *how)).max() < 1e-4
    mean_std, white = np.mean(how[1]), how[2] if len(how) > 2 else 1
    assert backbone.pixel_unit == pytest.approx(255 * mean_std / white)


def test_pictures_and_maps_can_have_their_channels_last(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Transpose", ["image"], ["turned"], perm=[0, 3, 1, 2]),
        convolution("turned"),
        helper.make_node("Transpose", ["map"], ["last"], perm=[0, 2, 3, 1]),
    ]
    made = model(nodes, {"image": ["n", 32, 32, 3]}, ["last"], KERNEL)
    backbone = robocle.backbone(f"onnx:{save(made, tmp_path / 'last.onnx')}")
    expected = by_hand(pictures(), *IMAGENET)
    assert np.abs(backbone.features(pictures()).grid - expected).max() < 1e-4


def test_outputs_that_are_not_maps_are_ignored_and_weights_can_be_in_a_separate_file(
    tmp_path: Path,
) -> None:
    nodes = [convolution(), node("ReduceMax", "map", output="largest", keepdims=0)]
    made = model(nodes, PICTURE, ["largest", "map"], KERNEL)
    backbone = robocle.backbone(f"onnx:{with_weights_apart(made, tmp_path)}")
    assert np.abs(backbone.features(pictures()).grid - by_hand(pictures(), *IMAGENET)).max() < 1e-4


def with_weights_apart(made: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "plain.onnx"
    onnx.save(made, path, save_as_external_data=True, location="weights", size_threshold=0)
    return path


def test_an_inner_tensor_can_be_the_map_and_what_follows_it_is_removed(tmp_path: Path) -> None:
    path = save(classifier(), tmp_path / "classifier.onnx")
    backbone: Any = robocle.backbone(f"onnx:{path},output=map")
    assert np.abs(backbone.features(pictures()).grid - by_hand(pictures(), *IMAGENET)).max() < 1e-4
    kept = onnx.load_from_string(backbone.model_bytes())
    assert "layer" not in {constant.name for constant in kept.graph.initializer}


def test_the_first_token_before_the_positions_is_the_class_token(tmp_path: Path) -> None:
    path = save(transformer(2), tmp_path / "vit.onnx")
    backbone = robocle.backbone(f"onnx:{path},prefix=2")
    maps = backbone.features(pictures())
    expected = by_hand(pictures(), *IMAGENET)
    assert backbone.has_token
    assert np.abs(maps.grid - expected).max() < 1e-4
    assert maps.token is not None
    assert np.abs(maps.token - expected.mean(axis=1)).max() < 1e-4


def test_a_float16_map_is_returned_as_float32(tmp_path: Path) -> None:
    half = {"kernel": KERNEL["kernel"].astype(np.float16)}
    kind = TensorProto.FLOAT16
    made = model([convolution()], PICTURE, ["map"], half, kind=kind, given=kind)
    backbone = robocle.backbone(f"onnx:{save(made, tmp_path / 'half.onnx')}")
    grid = backbone.features(pictures()).grid
    assert grid.dtype == np.float32
    assert np.abs(grid - by_hand(pictures(), *IMAGENET)).max() < 0.2


# ---- its name, its fingerprint, and states taught with it


def test_the_fingerprint_depends_on_the_network_and_not_on_the_path(tmp_path: Path) -> None:
    first = save(plain(), tmp_path / "first.onnx")
    (tmp_path / "elsewhere").mkdir()
    second = save(plain(), tmp_path / "elsewhere" / "second.onnx")
    fingerprint = robocle.backbone(f"onnx:{first}").fingerprint
    assert robocle.backbone(f"onnx:{second}").fingerprint == fingerprint
    assert robocle.backbone(f"onnx:{first},mean=0.5").fingerprint != fingerprint
    assert robocle.backbone(f"onnx:{first},order=bgr").fingerprint != fingerprint


# Fingerprints that earlier versions computed: states on disk refer to them.
RECORDED: dict[str, tuple[Callable[[], onnx.ModelProto], str, str]] = {
    "plain": (plain, "", "fb605888ef8e5397b9f2"),
    "bgr": (plain, ",order=bgr,mean=0.1/0.2/0.3,std=0.4/0.5/0.6", "bd197e6484b5271af3f3"),
    "white=255": (plain, ",mean=127,std=128,white=255", "17912b9c8be49a5b59bc"),
    "inner tensor": (classifier, ",output=map", "e8918289ee8547cceac8"),
    "tokens": (lambda: transformer(2), ",prefix=2", "40ee7b59e2280b9f1d76"),
}


@pytest.mark.parametrize("name", RECORDED)
def test_the_fingerprint_does_not_change_between_versions(name: str, tmp_path: Path) -> None:
    make, options, fingerprint = RECORDED[name]
    backbone = robocle.backbone(f"onnx:{save(make(), tmp_path / 'net.onnx')}{options}")
    assert backbone.fingerprint.startswith(fingerprint)


@pytest.mark.parametrize("options", ["", ",output=map,mean=0.1/0.2/0.3,std=0.5,white=255,size=32"])
@pytest.mark.parametrize("name", ["plain.onnx", "a=b.onnx", "with space.onnx", "with:colon.onnx"])
def test_its_name_and_its_description_load_it_again(
    name: str, options: str, tmp_path: Path
) -> None:
    path = save(plain(), tmp_path / name)
    start = f"onnx:file={path}" if "=" in name else f"onnx:{path}"
    backbone = robocle.backbone(start + options)
    assert str(path) in backbone.name
    for spec in (backbone.name, BACKBONES.describe(backbone)):
        again = robocle.backbone(spec)
        assert again.fingerprint == backbone.fingerprint
        assert again.name == backbone.name


def test_a_state_taught_with_a_relative_path_loads_from_any_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    save(plain(), tmp_path / "plain.onnx")
    monkeypatch.chdir(tmp_path)
    learner = robocle.Learner("onnx:plain.onnx,mean=0.5", pooling="avg", classifier="ncm")
    rng = np.random.default_rng(0)
    dark, light = (rng.integers(low, low + 60, (40, 40, 3), np.uint8) for low in (10, 180))
    learner.teach(dark, "night")
    learner.teach(light, "day")
    learner.save("plain.robocle")
    monkeypatch.chdir(tmp_path.parent)
    state = tmp_path / "plain.robocle"
    assert robocle.Learner.load(state).predict(light).label == "day"
    (tmp_path / "plain.onnx").rename(tmp_path / "moved.onnx")
    assert robocle.Learner.load(state).predict(light).label == "day"
    moved = f"onnx:{tmp_path}/moved.onnx,mean=0.5"
    assert robocle.Learner.load(state, moved).predict(light).label == "day"
    other = f"onnx:{tmp_path}/moved.onnx,mean=0.4"
    message = refusal(StateError, lambda: robocle.Learner.load(state, other))
    assert "leave out the backbone" in message


@pytest.fixture
def received(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state that was taught on another machine, with the network in net.onnx."""
    network = save(plain(), tmp_path / "net.onnx")
    with monkeypatch.context() as there:
        there.setenv(CACHE_VARIABLE, str(tmp_path / "their cache"))
        learner = robocle.Learner(f"onnx:{network}", pooling="avg", classifier="ncm")
        learner.teach(np.zeros((40, 40, 3), np.uint8), "night")
        learner.save(tmp_path / "received.robocle")
    return tmp_path / "received.robocle"


def test_a_state_from_elsewhere_does_not_make_robocle_open_the_file_it_names(
    received: Path, refusal: Refusal
) -> None:
    network = received.with_name("net.onnx")
    network.unlink()
    os.mkfifo(network)  # opening it would never return
    message = refusal(StateError, lambda: robocle.Learner.load(received))
    assert f"the network onnx:{network} (sha" in message
    assert f"run robocle backbones add onnx:{network} --name NAME" in message
    message = refusal(BackboneError, lambda: robocle.backbone(f"onnx:{network}"))
    assert message == f"{network} is not a regular file: give an ONNX file"


def test_a_state_from_elsewhere_opens_once_its_network_is_added_under_any_name(
    received: Path, cache: Path
) -> None:
    network = received.with_name("net.onnx")
    added = add_backbone(f"onnx:{network}", name="mine")
    shutil.rmtree(cache / "backbones" / "given")
    network.unlink()
    learner = robocle.Learner.load(received)
    assert learner.backbone.fingerprint == added.manifest.fingerprint
    assert learner.parts.backbone == f"onnx:{network}"


def test_neither_a_hostile_fingerprint_nor_a_damaged_copy_leads_to_a_network(
    cache: Path, tmp_path: Path, refusal: Refusal
) -> None:
    network = robocle.backbone(f"onnx:{save(plain(), tmp_path / 'net.onnx')}")
    stored = cache / "backbones" / "given" / network.fingerprint / "model.onnx"
    stored.write_bytes(stored.read_bytes()[:-1] + b"x")
    for fingerprint in ("", f"../given/{network.fingerprint}", "0" * 64, network.fingerprint):
        load = partial(backbone_of_state, network.name, fingerprint)
        assert "has not been given on this machine" in refusal(BackboneError, load)


def endless() -> onnx.ModelProto:
    """Return a network with a loop that never ends."""
    turns = helper.make_graph(
        [helper.make_node("Identity", ["on"], ["still on"]),
         helper.make_node("Identity", ["before"], ["after"])],
        "turn",
        [helper.make_tensor_value_info("turn", TensorProto.INT64, []),
         helper.make_tensor_value_info("on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("before", FLOAT, None)],
        [helper.make_tensor_value_info("still on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("after", FLOAT, None)],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["", "yes", "start"], ["map"], body=turns)
    constants = KERNEL | {"yes": np.array(True)}
    return model([convolution(output="start"), loop], PICTURE, ["map"], constants)


def test_a_network_that_does_not_end_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    monkeypatch.setattr(inspection, "TIME_LIMIT", 0.2)
    path = save(endless(), tmp_path / "endless.onnx")
    message = refusal(BackboneError, lambda: robocle.backbone(f"onnx:{path}"))
    assert message == "endless.onnx was stopped after 0.2 s: it is too slow, or does not end"


def test_a_learner_on_a_transformer_is_exported_as_one_model(tmp_path: Path) -> None:
    import onnxruntime

    path = save(transformer(), tmp_path / "vit.onnx")
    learner = robocle.Learner(
        f"onnx:{path},prefix=1", pooling="moments:r=3,form=root", classifier="ncm", views="plain",
        prediction_views="plain",
    )  # fmt: skip
    for label, picture in zip("abc", pictures(), strict=True):
        learner.teach(picture, label)
    learner.export_onnx(tmp_path / "learner.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "learner.onnx")
    labels, scores = session.run(["label", "scores"], {"pixels": pictures()})
    assert labels.tolist() == ["a", "b", "c"]
    expected = np.array(list(learner.predict(pictures()[0]).scores.values()))
    # The exported scores lack the term that is the same for all labels of a picture.
    assert scores[0] - scores[0][0] == pytest.approx(expected - expected[0], abs=1e-3)


# ---- files that are rejected


def bare(output: str, *nodes: onnx.NodeProto, **constants: NDArray[Any]) -> onnx.ModelProto:
    return model(nodes, PICTURE, [output], {**KERNEL, **constants})


def unfinished() -> onnx.ModelProto:
    made = plain()
    made.graph.node[0].input[1] = "nowhere"
    return made


def huge() -> onnx.ModelProto:
    """Return a model of a hundred bytes that allocates four petabytes."""
    return bare(
        "map",
        node("ConstantOfShape", "shape", output="ones"),
        node("ReduceSum", "ones", output="one", keepdims=0),
        convolution(output="made"),
        node("Add", "made", "one", output="map"),
        shape=np.array([1 << 25, 1 << 25]),
    )


WRONG: dict[str, tuple[Callable[[], onnx.ModelProto], str, str]] = {
    "logits": (classifier, "", "no spatial feature map (logits: n x 1000): name the "
               "tensor before its pooling, perhaps output=map"),
    "a pooled map": (classifier, ",output=pooled", "feature map (pooled: n x 5 x 1 x 1)"),
    "no such tensor": (classifier, ",output=mapp", "has no tensor 'mapp': it has logits, map"),
    "a class token among the positions": (transformer, "", "give prefix=1"),
    "registers among the positions": (lambda: transformer(5), "", "give prefix=5"),
    "a prefix that is too long": (transformer, ",prefix=3", "has no spatial feature map"),
    "a fixed batch": (lambda: transformer(batch=1), ",prefix=1", "with a dynamic batch axis"),
    "a batch that is normalised": (
        lambda: bare("map", convolution(output="made"),
                     node("ReduceMean", "made", output="mean", axes=[0], keepdims=1),
                     node("Sub", "made", "mean", output="map")),
        "", "mixes the pictures of a batch"),
    "a batch that is averaged": (
        lambda: bare("map", convolution(output="made"),
                     node("ReduceMean", "made", output="map", axes=[0], keepdims=1)),
        "", "mixes the pictures of a batch"),
    "a flat input": (lambda: plain({"image": ["n", 3072]}), "", "is not a colour picture"),
    "grey pictures": (lambda: plain({"image": ["n", 1, 32, 32]}), "", "is not a colour picture"),
    "videos": (lambda: plain({"image": ["n", 8, 3, 32, 32]}), "", "is not a colour picture"),
    "wide pictures": (lambda: plain({"image": ["n", 3, 32, 64]}), "", "is not square"),
    "an open size": (lambda: plain({"image": ["n", 3, "h", "w"]}), "",
                     "has no fixed size: give one, as in size=224"),
    "tokens of another size": (transformer, ",size=64,prefix=1", "takes only 32x32 pictures"),
    "two inputs": (lambda: plain({"image": ["n", 3, 32, 32], "b": [1]}), "", "has 2 inputs"),
    "an integer input": (lambda: plain(kind=TensorProto.INT32), "", "is int32: it must be float"),
    "an old opset": (lambda: plain(opset=9), "", "opset 9: export it with opset 11"),
    "weights that are not finite": (
        lambda: model([convolution()], PICTURE, ["map"], {"kernel": KERNEL["kernel"] * np.nan}),
        "", "not finite"),
    "a node without its input": (unfinished, "", "cannot run"),
    "an unknown operator": (lambda: bare("map", node("Magic", "image", output="map")), "",
                        "cannot run"),
    "more memory than there is": (huge, "", "cannot run"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_network_that_cannot_be_a_backbone_is_rejected_with_the_reason(
    name: str, tmp_path: Path, refusal: Refusal
) -> None:
    make, options, expected = WRONG[name]
    path = save(make(), tmp_path / "wrong.onnx")
    message = refusal(BackboneError, lambda: robocle.backbone(f"onnx:{path}{options}"))
    assert expected in message
    assert "wrong.onnx" in message
    assert len(message) < 500


FILES: dict[str, bytes] = {
    "empty": b"",
    "text": b"not a model\n" * 100,
    "an image": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "zeros": bytes(1000),
    "truncated": plain().SerializeToString()[:900],
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_a_model_is_rejected(
    name: str, tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "file.onnx"
    path.write_bytes(FILES[name])
    message = refusal(BackboneError, lambda: robocle.backbone(f"onnx:{path}"))
    assert f"{path} is not an ONNX model" in message


def test_a_missing_file_and_a_folder_are_rejected(tmp_path: Path, refusal: Refusal) -> None:
    message = refusal(BackboneError, lambda: robocle.backbone(f"onnx:{tmp_path}/gone.onnx"))
    assert message == f"cannot read {tmp_path}/gone.onnx: No such file or directory"
    message = refusal(BackboneError, lambda: robocle.backbone(f"onnx:{tmp_path}"))
    assert "is not a regular file" in message


def test_weights_that_are_missing_or_outside_the_folder_of_the_model_are_not_read(
    tmp_path: Path, refusal: Refusal
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    path = with_weights_apart(plain(), inside)
    (inside / "weights").rename(tmp_path / "weights")
    assert "weights" in refusal(BackboneError, lambda: robocle.backbone(f"onnx:{path}"))
    made = onnx.load(path, load_external_data=False)
    for entry in made.graph.initializer[0].external_data:
        if entry.key == "location":
            entry.value = "../weights"
    save(made, path)
    refusal(BackboneError, lambda: robocle.backbone(f"onnx:{path}"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("mean=much", "cannot parse mean=much: give one number, or three as in 0.485/0.456/0.406"),
        ("mean=1/2", "cannot parse mean=1/2"),
        ("std=0", "std=0.0 is out of range"),
        ("std=nan", "std=nan is out of range"),
        ("order=gbr", "order=gbr is not known: choose rgb or bgr"),
        ("white=0", "white=0 is out of range"),
        ("prefix=-1", "prefix=-1 is out of range"),
        ("size=many", "size=many of onnx must be int"),
        ("threads=0", "threads=0 is out of range"),
        ("ouput=map", "onnx has no option 'ouput': did you mean 'output'?"),
    ],
)
def test_a_wrong_option_is_rejected(
    options: str, expected: str, tmp_path: Path, refusal: Refusal
) -> None:
    path = save(plain(), tmp_path / "plain.onnx")
    assert expected in refusal(SpecError, lambda: robocle.backbone(f"onnx:{path},{options}"))
    path = path.rename(tmp_path / "a,b.onnx")
    assert "comma" in refusal(SpecError, lambda: robocle.backbone(f"onnx:{path}"))
