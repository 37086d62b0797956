"""Backbones of an experiment: installed ones are used, others are skipped with a message."""

from pathlib import Path

import numpy as np
import pytest

from robocle.backbones.adding import add_backbone
from robocle.backbones.model_folder import CACHE_VARIABLE
from robocle.evaluation.experiment import Experiment, Method, Study
from robocle.evaluation.experiment_file import load_experiment
from robocle.evaluation.results import read_results
from robocle.evaluation.run_experiment import run_experiment
from small_networks import model, node, save

METHODS = (Method("NCM", "avg", "ncm"), Method("[CLS]", "cls", "ncm"))


@pytest.fixture
def tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A small network with a class token, added under the name `tokens`."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    kernel = np.random.default_rng(0).normal(0, 0.1, (8, 3, 16, 16)).astype(np.float32)
    nodes = [
        node("Conv", "image", "kernel", output="map", strides=[16, 16]),
        node("Reshape", "map", "shape", output="flat"),
        node("Transpose", "flat", output="places", perm=[0, 2, 1]),
        node("ReduceMean", "places", output="first", axes=[1], keepdims=1),
        node("Concat", "first", "places", output="tokens", axis=1),
    ]
    constants = {"kernel": kernel, "shape": np.array([0, 8, 16])}
    network = model(nodes, {"image": ["n", 3, 64, 64]}, ["tokens"], constants)
    save(network, tmp_path / "tokens.onnx")
    add_backbone(f"onnx:{tmp_path}/tokens.onnx,prefix=1", name="tokens")
    return "tokens"


@pytest.mark.slow
def test_installed_backbones_are_used_and_others_are_skipped_with_how_to_add_them(
    tokens: str, pictures: Path, tmp_path: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    named = ("efficientnet_lite0", "resnet50", "timm:resnet18", "resnet5O", tokens)
    study = Study("tiny", "folder", "class_iid:shots=3", named, seeds=(0,))
    results = tmp_path / "results.jsonl"
    plan, roots = Experiment("Tiny", (study,), METHODS), {"folder": str(pictures)}
    run = run_experiment(plan, roots, results, lambda items, what, total: items, cache=cache)
    assert run == (3, 3)
    used = {(r["method"], r["trial"]["backbone"]) for r in read_results(results) if "trial" in r}
    assert ("[CLS]", tokens) in used
    assert ("[CLS]", "efficientnet_lite0") not in used
    assert [record.message for record in caplog.records] == [
        "skipped: the backbone resnet50 is not installed: run robocle backbones add resnet50",
        "skipped: the backbone timm:resnet18 is not installed: "
        "run robocle backbones add timm:resnet18",
        "skipped: unknown backbone 'resnet5O': did you mean 'resnet50'?",
        "skipped: [CLS] with efficientnet_lite0 has no class token",
    ]


@pytest.mark.parametrize("table", ["table1", "table2", "table4", "table5", "table6", "moments"])
def test_every_backbone_of_the_papers_tables_can_be_added(table: str) -> None:
    from robocle.backbones.names import ARCHITECTURES

    for study in load_experiment(table).studies:
        networks = {name.removesuffix("_224") for name in study.backbones}
        assert networks <= {*ARCHITECTURES, "efficientnet_lite0"}
