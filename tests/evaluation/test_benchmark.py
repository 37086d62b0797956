"""Whole experiments on real pictures: correct metrics, nothing computed twice, nothing lost."""

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robocle import Learner
from robocle.backbones import Backbone
from robocle.classifiers import classifier
from robocle.errors import DataError, ImageError, RobocleError, SpecError
from robocle.evaluation.benchmark import Benchmark
from robocle.evaluation.embedding import content_hash
from robocle.evaluation.experiment import Experiment, Method, Show, Study, load_experiment
from robocle.evaluation.illustrations import MOMENTS
from robocle.evaluation.parallel import Workers
from robocle.evaluation.results import read_results
from robocle.evaluation.trial import Trial
from robocle.profiles import DEFAULT
from robocle.reports.benchmark import as_markdown, build_report

METHODS = (
    Method("NCM", "avg", "ncm"),
    Method("SLDA", "avg", "slda:scatter=published,shrinkage=1e-4", over="NCM"),
)


def quietly(items: Iterable[Any], what: str, total: int) -> Iterable[Any]:
    return items


def experiment(**changes: Any) -> Experiment:
    study = Study("tiny", "folder", "class_iid:shots=3", seeds=(0, 1))
    shows: tuple[Show, ...] = ("accuracy", "metrics", "per_step", "cost")
    return Experiment("Tiny", (study,), METHODS, shows=shows).changed(**changes)


def benchmark(pictures: Path, results: Path, cache: Path, **options: Any) -> Benchmark:
    return Benchmark(results, {"folder": str(pictures)}, cache=cache, **options)


@pytest.mark.slow
def test_the_accuracy_of_a_trial_is_that_of_a_learner_taught_by_hand(
    pictures: Path, tmp_path: Path, cache: Path, lite0: Backbone
) -> None:
    results = tmp_path / "results.jsonl"
    assert benchmark(pictures, results, cache).run(experiment(), quietly) == (4, 4)
    record = next(r for r in read_results(results) if r["method"] == "SLDA")
    told = {key: value for key, value in record["trial"].items() if key != "data"}
    trial = Trial(**{**told, "tested": ("clean",), "root": str(pictures)})
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
    pictures: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "results.jsonl"
    built: list[Any] = []

    def recorded(spec: str, **options: Any) -> Any:
        built.append(classifier(spec, **options))
        return built[-1]

    monkeypatch.setattr("robocle.evaluation.run.classifier", recorded)
    methods = tuple(
        Method(spec, "avg", spec) for spec in ("finetune", "finetune:classes=growing", "icarl")
    )
    plan = experiment(scenario="class_iid:shots=3,known=half", seeds=(0,))
    benchmark(pictures, results, cache).run(replace(plan, methods=methods), quietly)
    assert [len(clf.labels) for clf in built] == [2, 2, 2]  # half of the three classes are taught
    assert [clf.classes for clf in built] == [3, "growing", 3]
    found = [each["result"] for each in read_results(results)]
    sizes = [each["state_megabytes"] for each in found if "state_megabytes" in each]
    assert sizes == pytest.approx([1e-6 * 2 * 3 * 1280 * 4] * 3)  # the samples, in float32


@pytest.mark.slow
def test_open_set_metrics_are_those_of_a_learner_taught_by_hand(
    pictures: Path, tmp_path: Path, cache: Path, lite0: Backbone
) -> None:
    results = tmp_path / "results.jsonl"
    ours = Method("ours", DEFAULT.pooling, DEFAULT.classifier, DEFAULT.views)
    study = Study("tiny", "folder", "class_iid:shots=3,known=half", seeds=(0,))
    plan = Experiment("Tiny", (study,), (ours, METHODS[0]), shows=("unknown",))
    benchmark(pictures, results, cache).run(plan, quietly)
    record = next(r for r in read_results(results) if r["method"] == "ours")
    trial = Trial(
        "folder", str(pictures), study.scenario, 0, "efficientnet_lite0", ours.pooling,
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
    result = record["result"]
    assert result["false_rejection_rate"]["test/clean"] == pytest.approx(
        100 * np.mean([p.label is None for p in known])
    )
    assert result["unknown_detection_rate"]["test/clean"] == pytest.approx(
        100 * np.mean([p.label is None for p in unknown])
    )
    # Three moments of the last map, two of the earlier one.
    assert result["feature_size"] == (3 * 1280 + 2 * 672) / 1280
    page = as_markdown(build_report(results))
    assert "known or unknown" in page
    assert "AUROC" in page


@pytest.mark.slow
def test_a_finished_run_computes_nothing_again(pictures: Path, tmp_path: Path, cache: Path) -> None:
    results = tmp_path / "results.jsonl"
    benchmark(pictures, results, cache).run(experiment(), quietly)
    before = results.read_bytes()
    assert benchmark(pictures, results, cache).run(experiment(), quietly) == (0, 4)
    assert results.read_bytes() == before


@pytest.mark.slow
def test_a_run_continues_after_a_half_written_line(
    pictures: Path, tmp_path: Path, cache: Path
) -> None:
    results = tmp_path / "results.jsonl"
    benchmark(pictures, results, cache).run(experiment(), quietly)
    lines = results.read_bytes().splitlines(keepends=True)
    results.write_bytes(b"".join(lines[:2]) + lines[2][:50])
    assert benchmark(pictures, results, cache).run(experiment(), quietly)[0] == 2
    trials = [r for r in read_results(results) if r["kind"] == "trial"]
    assert len({record["key"] for record in trials}) == len(trials) == 4


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes(
    pictures: Path, tmp_path: Path, cache: Path
) -> None:
    accuracies = []
    for name, workers in (("one", Workers()), ("two", Workers(jobs=2))):
        results = tmp_path / f"{name}.jsonl"
        plan = benchmark(pictures, results, tmp_path / f"{name}.sqlite", workers=workers)
        plan.run(experiment(), quietly)
        accuracies.append({r["key"]: r["result"].get("per_step") for r in read_results(results)})
    assert accuracies[0] == accuracies[1]


@pytest.mark.slow
def test_corruptions_make_a_matrix_and_are_the_same_for_every_method(
    pictures: Path, tmp_path: Path, cache: Path
) -> None:
    results = tmp_path / "results.jsonl"
    plan = experiment(taught=("clean", "noise"), tested=("clean", "noise"), seeds=(0,))
    benchmark(pictures, results, cache).run(plan, quietly)
    trials = [r for r in read_results(results) if r["kind"] == "trial"]
    assert len(trials) == 4
    for record in trials:
        accuracy = record["result"]["accuracy"]
        assert set(accuracy) == {"test/clean", "test/noise"}
        other = {"clean": "test/noise", "noise": "test/clean"}[record["trial"]["taught"]]
        assert record["result"]["average_other_domain"] == accuracy[other]


@pytest.mark.slow
def test_moment_distributions_are_measured_once_per_form_and_corruption(
    pictures: Path, tmp_path: Path, cache: Path
) -> None:
    results = tmp_path / "results.jsonl"
    study = Study("tiny", "folder", "class_iid:shots=3", tested=("clean", "noise"), seeds=(0,))
    plan = Experiment("Tiny", (study,), (), shows=("moments",))
    assert benchmark(pictures, results, cache).run(plan, quietly) == (0, 0)
    records = [r for r in read_results(results) if r["kind"] == "moments"]
    assert {r["result"]["pooling"] for r in records} == set(MOMENTS)
    for record in records:
        blocks = record["result"]["blocks"]
        assert [block["name"] for block in blocks] == ["mean", "deviation", "order 3 (skewness)"]
        for block in blocks:
            assert block["distances"]["noise"] > 0
            assert sum(block["counts"]["clean"]) == 18 * 1280
    before = results.read_bytes()
    benchmark(pictures, results, cache).run(plan, quietly)
    assert results.read_bytes() == before


@pytest.mark.slow
def test_an_unreadable_picture_stops_the_run_with_its_name_or_is_skipped_on_request(
    pictures: Path, tmp_path: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy = tmp_path / "pictures"
    shutil.copytree(pictures, copy)
    (copy / "mug" / "4.jpg").write_bytes(b"not a picture")
    content_hash.cache_clear()
    results = tmp_path / "results.jsonl"
    with pytest.raises(ImageError, match=r"4\.jpg.*--unreadable skip"):
        benchmark(copy, results, cache).run(experiment(), quietly)
    benchmark(copy, results, cache, skip_unreadable=True).run(experiment(), quietly)
    assert "4.jpg" in caplog.text
    trials = [r for r in read_results(results) if r["kind"] == "trial"]
    assert {r["result"]["pictures_taught"] + r["result"]["pictures_tested"] for r in trials} == {26}


@pytest.mark.slow
def test_other_pictures_are_another_trial(pictures: Path, tmp_path: Path, cache: Path) -> None:
    results = tmp_path / "results.jsonl"
    benchmark(pictures, results, cache).run(experiment(), quietly)
    other = tmp_path / "other"
    shutil.copytree(pictures, other)
    (other / "mug" / "8.jpg").unlink()
    assert benchmark(other, results, cache).run(experiment(), quietly) == (4, 4)


def test_a_misspelt_part_is_reported_before_any_work(
    pictures: Path, tmp_path: Path, cache: Path
) -> None:
    wrong = Experiment(
        "Tiny", experiment().studies, (*METHODS, Method("x", "avg", "slda:scatte=1"))
    )
    with pytest.raises(SpecError, match="did you mean 'scatter'"):
        benchmark(pictures, tmp_path / "r.jsonl", cache).run(wrong, quietly)
    assert not cache.exists()


@pytest.mark.slow
def test_a_pooling_that_needs_a_class_token_is_skipped_for_other_backbones(
    pictures: Path, tmp_path: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plan = Experiment("Tiny", experiment().studies, (*METHODS, Method("[CLS]", "cls", "ncm")))
    assert benchmark(pictures, tmp_path / "r.jsonl", cache).run(plan, quietly) == (4, 4)
    assert "[CLS] with efficientnet_lite0 has no class token" in caplog.text


def test_without_data_the_error_names_the_option_to_give(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(DataError, match="--data DIR"):
        Benchmark(tmp_path / "r.jsonl", cache=cache).run(experiment(), quietly)


@pytest.mark.slow
def test_a_killed_run_continues_where_it_stopped(pictures: Path, tmp_path: Path) -> None:
    results = tmp_path / "results" / "comparison.jsonl"
    command = [
        *(sys.executable, "-m", "robocle", "bench", "comparison", "--dataset", "folder"),
        *("--scenario", "class_iid:shots=3", "--data", str(pictures), "--out", str(results)),
    ]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    for _ in range(600):
        if results.exists() and results.read_bytes().count(b"\n") >= 5:
            break
        time.sleep(0.1)
    run.send_signal(signal.SIGKILL)
    run.wait()
    kept = [record["key"] for record in read_results(results)]
    assert len(kept) >= 5
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    planned = 5 * len(load_experiment("comparison").methods)
    assert f"{planned - len(kept)} of {planned} trials run" in done.stdout
    keys = [r["key"] for r in read_results(results) if r["kind"] == "trial"]
    assert len(keys) == len(set(keys)) == planned
    assert keys[: len(kept)] == kept
    for suffix in ("md", "tex", "html"):
        assert results.with_suffix(f".{suffix}").stat().st_size > 1000


def worker_process(scheduler: str, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler]
    return subprocess.Popen(
        [*command, "--nthreads", "1", "--no-nanny", "--local-directory", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.slow
def test_no_result_is_lost_when_a_dask_worker_dies(
    pictures: Path, tmp_path: Path, cache: Path
) -> None:
    from distributed import LocalCluster

    results = tmp_path / "results.jsonl"
    study = Study("tiny", "folder", "class_iid:shots=3", seeds=tuple(range(12)))
    plan = Experiment("Tiny", (study,), METHODS)
    with LocalCluster(n_workers=0, dashboard_address=None) as cluster:  # type: ignore[no-untyped-call]
        address = cluster.scheduler_address
        workers = [worker_process(address, tmp_path / name) for name in ("first", "second")]
        try:
            killed: list[int] = []

            def kill_one(items: Iterable[Any], what: str, total: int) -> Iterable[Any]:
                for number, item in enumerate(items):
                    if what == "running" and number == 3 and not killed:
                        workers[0].kill()
                        killed.append(number)
                    yield item

            benchmark(pictures, results, cache, workers=Workers(dask=address)).run(plan, kill_one)
            assert killed
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    trials = [r for r in read_results(results) if r["kind"] == "trial"]
    assert len({record["key"] for record in trials}) == len(trials) == 24


@pytest.mark.slow
def test_a_dask_address_without_a_scheduler_is_an_error_of_one_line(
    pictures: Path, tmp_path: Path, cache: Path
) -> None:
    plan = benchmark(
        pictures, tmp_path / "r.jsonl", cache, workers=Workers(dask="tcp://127.0.0.1:9")
    )
    with pytest.raises(RobocleError, match="no Dask scheduler answers"):
        plan.run(experiment(), quietly)


@pytest.mark.slow
def test_every_result_names_its_origin(pictures: Path, tmp_path: Path, cache: Path) -> None:
    results = tmp_path / "results.jsonl"
    benchmark(pictures, results, cache).run(experiment(), quietly)
    for line in results.read_text("utf-8").splitlines():
        record = json.loads(line)
        assert record["origin"]["commit"]
        assert record["origin"]["versions"]["numpy"]
        assert record["trial"]["root"] == ""  # no path of this machine
        if record["kind"] == "trial":
            assert len(record["result"]["data_sha256"]) == 64
