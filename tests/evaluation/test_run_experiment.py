"""Whole experiments on real pictures: correct metrics, nothing computed twice, nothing lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robocle import Learner
from robocle.backbones import Backbone
from robocle.backbones.adding import add_backbone
from robocle.backbones.model_folder import CACHE_VARIABLE
from robocle.classifiers import classifier
from robocle.errors import DataError, ImageError, RobocleError, SpecError
from robocle.evaluation.experiment import MOMENTS, Experiment, Method, Study
from robocle.evaluation.parallel import Workers
from robocle.evaluation.results import read_results
from robocle.evaluation.run_experiment import run_experiment
from robocle.evaluation.trial import Trial
from robocle.profiles import DEFAULT
from robocle.reports.benchmark import as_markdown, build_report
from small_networks import model, node, save
from tiny_bench import METHODS, Bench, experiment, quietly


@pytest.mark.slow
def test_the_accuracy_of_a_trial_is_that_of_a_learner_taught_by_hand(
    bench: Bench, lite0: Backbone
) -> None:
    assert bench.run() == (4, 4)
    record = bench.record("SLDA")
    told = {key: value for key, value in record["trial"].items() if key != "data"}
    trial = Trial(**{**told, "tested": ("clean",), "root": str(bench.pictures)})
    learner = Learner(lite0, pooling=trial.pooling, classifier=trial.classifier, views=trial.views)
    per_step = []
    before: list[bool] = []
    stream = trial.stream()
    for step in stream.steps:
        fresh = [e for e in stream.tests["test"] if e.label in {each.label for each in step}]
        before += [learner.predict(e.path).label == e.label for e in fresh if learner.labels]
        for example in step:
            learner.teach(example.path, example.label, poor="accept")
        tested = [e for e in stream.tests["test"] if e.label in learner.labels]
        right = [learner.predict(example.path).label == example.label for example in tested]
        per_step.append(100 * np.mean(right))
    assert record["result"]["per_step"] == pytest.approx(per_step)
    assert record["result"]["accuracy"]["test/clean"] == pytest.approx(per_step[-1])
    assert record["result"]["forward_transfer"] == 100 * np.mean(before) == 0
    assert record["result"]["feature_size"] == 1
    assert 0.5 < record["result"]["relative_speed"] < 1.5  # AVG pooling itself, with a classifier


@pytest.mark.slow
def test_the_softmax_of_a_trial_covers_all_classes_of_the_data_set(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Any] = []

    def recorded(spec: str, **options: Any) -> Any:
        built.append(classifier(spec, **options))
        return built[-1]

    monkeypatch.setattr("robocle.evaluation.trial.classifier", recorded)
    methods = tuple(
        Method(spec, "avg", spec) for spec in ("finetune", "finetune:classes=growing", "icarl")
    )
    plan = experiment(scenario="class_iid:shots=3,known=half", seeds=(0,))
    bench.run(replace(plan, methods=methods))
    taught = [clf for clf in built if clf.labels]  # others only tell their options
    assert [len(clf.labels) for clf in taught] == [2, 2, 2]  # half of the three classes are taught
    assert [clf.classes for clf in taught] == [3, "growing", 3]
    sizes = [each["result"]["state_megabytes"] for each in bench.records()]
    assert sizes == pytest.approx([1e-6 * 2 * 3 * 1280 * 4] * 3)  # the samples, in float32


@pytest.mark.slow
def test_open_set_metrics_are_those_of_a_learner_taught_by_hand(
    bench: Bench, lite0: Backbone
) -> None:
    ours = Method("ours", DEFAULT.pooling, DEFAULT.classifier, DEFAULT.views)
    study = Study("tiny", "folder", "class_iid:shots=3,known=half", seeds=(0,))
    plan = Experiment("Tiny", (study,), (ours, METHODS[0]), shows=("unknown",))
    bench.run(plan)
    trial = Trial(
        "folder", str(bench.pictures), study.scenario, 0, "efficientnet_lite0", ours.pooling,
        ours.classifier, views=ours.views,
    )  # fmt: skip
    learner = Learner(lite0, pooling=ours.pooling, classifier=ours.classifier, views=ours.views)
    stream = trial.stream()
    for example in (example for step in stream.steps for example in step):
        learner.teach(example.path, example.label, poor="accept")
    seen = [(e.label, learner.predict(e.path)) for e in stream.tests["test"]]
    known = [found for label, found in seen if label in learner.labels]
    unknown = [found for label, found in seen if label not in learner.labels]
    assert known
    assert unknown
    result = bench.record("ours")["result"]
    assert result["false_rejection_rate"]["test/clean"] == pytest.approx(
        100 * np.mean([p.label is None for p in known])
    )
    assert result["unknown_detection_rate"]["test/clean"] == pytest.approx(
        100 * np.mean([p.label is None for p in unknown])
    )
    # Three moments of the last map, two of the earlier one.
    assert result["feature_size"] == (3 * 1280 + 2 * 672) / 1280
    page = as_markdown(build_report(bench.results))
    assert "known or unknown" in page
    assert "AUROC" in page


@pytest.mark.slow
def test_a_finished_run_computes_nothing_again_and_names_the_origin_of_its_results(
    bench: Bench,
) -> None:
    bench.run()
    before = bench.results.read_bytes()
    assert bench.run() == (0, 4)
    assert bench.results.read_bytes() == before
    for record in map(json.loads, before.splitlines()):
        assert record["origin"]["commit"]
        assert record["origin"]["versions"]["numpy"]
        assert record["trial"]["root"] == ""  # no path of this machine
        if record["kind"] == "trial":
            assert len(record["result"]["data_sha256"]) == 64


@pytest.mark.slow
def test_a_run_continues_after_a_half_written_line(bench: Bench) -> None:
    bench.run()
    lines = bench.results.read_bytes().splitlines(keepends=True)
    bench.results.write_bytes(b"".join(lines[:2]) + lines[2][:50])
    assert bench.run() == (2, 4)
    assert len({record["key"] for record in bench.records()}) == len(bench.records()) == 4


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes(bench: Bench, tmp_path: Path) -> None:
    accuracies = []
    for jobs in (1, 2):
        other = replace(bench, results=tmp_path / f"{jobs}.jsonl")
        other.run(workers=Workers(jobs), cache=tmp_path / f"{jobs}.sqlite")
        accuracies.append({r["key"]: r["result"]["per_step"] for r in other.records()})
    assert accuracies[0] == accuracies[1]


@pytest.mark.slow
def test_corruptions_make_a_matrix_and_are_the_same_for_every_method(bench: Bench) -> None:
    bench.run(experiment(taught=("clean", "noise"), tested=("clean", "noise"), seeds=(0,)))
    assert len(bench.records()) == 4
    for record in bench.records():
        accuracy = record["result"]["accuracy"]
        assert set(accuracy) == {"test/clean", "test/noise"}
        other = {"clean": "test/noise", "noise": "test/clean"}[record["trial"]["taught"]]
        assert record["result"]["average_other_domain"] == accuracy[other]


@pytest.mark.slow
def test_moment_distributions_are_measured_once_per_form_and_corruption(bench: Bench) -> None:
    study = Study("tiny", "folder", "class_iid:shots=3", tested=("clean", "noise"), seeds=(0,))
    plan = Experiment("Tiny", (study,), (), shows=("moments",))
    assert bench.run(plan) == (0, 0)
    records = bench.records("moments")
    assert {r["result"]["pooling"] for r in records} == set(MOMENTS)
    for record in records:
        blocks = record["result"]["blocks"]
        assert [block["name"] for block in blocks] == ["mean", "deviation", "order 3 (skewness)"]
        for block in blocks:
            assert block["distances"]["noise"] > 0
            assert sum(block["counts"]["clean"]) == 18 * 1280
    before = bench.results.read_bytes()
    bench.run(plan)
    assert bench.results.read_bytes() == before


@pytest.mark.slow
def test_an_unreadable_picture_stops_the_run_with_its_name_or_is_skipped_on_request(
    bench: Bench, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy = shutil.copytree(bench.pictures, tmp_path / "pictures")
    (copy / "mug" / "4.jpg").write_bytes(b"not a picture")
    broken = replace(bench, pictures=copy)
    with pytest.raises(ImageError, match=r"4\.jpg.*--unreadable skip"):
        broken.run()
    broken.run(unreadable="skip")
    assert "4.jpg" in caplog.text
    for record in broken.records():
        assert record["result"]["pictures_taught"] + record["result"]["pictures_tested"] == 26


def test_a_misspelt_part_is_reported_before_any_work(bench: Bench) -> None:
    wrong = replace(experiment(), methods=(*METHODS, Method("x", "avg", "slda:scatte=1")))
    with pytest.raises(SpecError, match="did you mean 'scatter'"):
        bench.run(wrong)
    assert not bench.cache.exists()


def test_without_data_the_error_names_the_option_to_give(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--data DIR"):
        run_experiment(experiment(), {}, tmp_path / "r.jsonl", quietly)


PLAN = """
title = "Tiny"
studies = [{ name = "tiny", dataset = "folder", scenario = "class_iid:shots=3" }]
methods = [
    { name = "NCM", pooling = "avg", classifier = "ncm" },
    { name = "SLDA", pooling = "avg", classifier = "slda" },
]
"""


@pytest.mark.slow
def test_an_interrupted_run_of_several_processes_prints_one_line(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "plan.toml").write_text(PLAN)
    command = [
        *(sys.executable, "-m", "robocle", "bench", str(tmp_path / "plan.toml"), "--seeds", "500"),
        *("--data", str(bench.pictures), "--out", str(bench.results), "--jobs", "2"),
    ]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while run.poll() is None and len(bench.records()) < 3:
        time.sleep(0.1)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    _, errors = run.communicate(timeout=60)
    assert (run.returncode, errors) == (130, "robocle: interrupted: the same command continues\n")


@pytest.mark.exhaustive
def test_a_killed_run_continues_where_it_stopped(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "plan.toml").write_text(PLAN)
    command = [
        *(sys.executable, "-m", "robocle", "bench", str(tmp_path / "plan.toml"), "--seeds", "8"),
        *("--data", str(bench.pictures), "--out", str(bench.results)),
    ]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while run.poll() is None and len(bench.records()) < 3:
        time.sleep(0.1)
    run.send_signal(signal.SIGKILL)
    run.wait()
    kept = [record["key"] for record in bench.records()]
    assert 3 <= len(kept) < 16
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{16 - len(kept)} of 16 trials run" in done.stdout
    keys = [record["key"] for record in bench.records()]
    assert len(keys) == len(set(keys)) == 16
    assert keys[: len(kept)] == kept
    for suffix in ("md", "tex", "html"):
        assert bench.results.with_suffix(f".{suffix}").stat().st_size > 100


Dask = Callable[[int], tuple[Workers, list[Any]]]


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    """Returns a function that starts workers of a cluster, and their processes."""
    from distributed import LocalCluster

    started = []
    with LocalCluster(n_workers=0, dashboard_address=None) as cluster:  # type: ignore[no-untyped-call]

        def start(workers: int) -> tuple[Workers, list[Any]]:
            command = [sys.executable, "-m", "distributed.cli.dask_worker"]
            command += [cluster.scheduler_address, "--nthreads", "1", "--no-nanny"]
            for number in range(workers):
                folder = str(tmp_path / f"worker {number}")
                started.append(
                    subprocess.Popen(
                        [*command, "--local-directory", folder],
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                    )
                )
            return Workers(dask=cluster.scheduler_address), started

        yield start
        for worker in started:
            worker.kill()
            worker.wait()


@pytest.mark.exhaustive
def test_no_result_is_lost_when_a_dask_worker_dies(bench: Bench, dask: Dask) -> None:
    study = Study("tiny", "folder", "class_iid:shots=3", seeds=tuple(range(12)))
    workers, processes = dask(2)
    killed: list[int] = []

    def kill_one(items: Iterable[Any], what: str, total: int) -> Iterable[Any]:
        for number, item in enumerate(items):
            if what == "running" and number == 3 and not killed:
                processes[0].kill()
                killed.append(number)
            yield item

    bench.run(Experiment("Tiny", (study,), METHODS), kill_one, workers=workers)
    assert killed
    assert len({record["key"] for record in bench.records()}) == len(bench.records()) == 24


@pytest.mark.exhaustive
def test_a_dask_worker_notices_that_the_data_changed_between_two_runs(
    bench: Bench, tmp_path: Path, dask: Dask
) -> None:
    own = replace(bench, pictures=shutil.copytree(bench.pictures, tmp_path / "own"))
    plan = replace(experiment(seeds=(0,)), methods=METHODS[:1])
    workers, _ = dask(1)
    own.run(plan, workers=workers)
    for path in [*own.pictures.glob("*/?.jpg")]:
        shutil.copy(path, path.with_name(f"{path.stem}_more.jpg"))
    own.run(plan, workers=workers)
    assert [each["result"]["pictures_tested"] for each in own.records()] == [18, 45]


@pytest.mark.exhaustive
def test_a_dask_worker_that_loaded_other_code_is_refused(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dask: Dask
) -> None:
    package = Path(str(sys.modules["robocle"].__file__)).parent
    older = shutil.copytree(package, tmp_path / "older" / "robocle")
    with (older / "classifiers" / "means.py").open("a") as file:
        file.write("# another version")
    monkeypatch.setenv("PYTHONPATH", str(older.parent))
    workers, _ = dask(1)
    with pytest.raises(RobocleError, match=r"the worker .* in code \(\w+, not \w+\)"):
        bench.run(workers=workers)
    assert not bench.records()


@pytest.mark.slow
def test_a_dask_address_without_a_scheduler_is_an_error_of_one_line(bench: Bench) -> None:
    with pytest.raises(RobocleError, match="no Dask scheduler answers"):
        bench.run(workers=Workers(dask="tcp://127.0.0.1:9"))


WITH_TOKEN = (Method("NCM", "avg", "ncm"), Method("[CLS]", "cls", "ncm"))


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
    plan, roots = Experiment("Tiny", (study,), WITH_TOKEN), {"folder": str(pictures)}
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
