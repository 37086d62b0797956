"""Results and embeddings of other data, code or options are never taken for the ones asked for."""

import importlib
import io
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from robocle._internal.randomness import keyed_rng
from robocle.backbones.world import World, used_world
from robocle.errors import RobocleError
from robocle.evaluation import keys, run_experiment, trial
from robocle.evaluation.datasets.folder import Folder
from robocle.evaluation.embedding import EmbeddingSetup
from robocle.evaluation.experiment import Experiment, Method, Show, Study
from robocle.evaluation.metrics import load_measured
from robocle.evaluation.results import newest_results
from robocle.evaluation.run_trial import metric_values
from robocle.evaluation.trial import Trial, forget_data
from robocle.profiles import DEFAULT
from robocle.reports.benchmark import build_report
from tiny_bench import METHODS, Bench, experiment


@pytest.fixture
def own(bench: Bench, tmp_path: Path) -> Bench:
    """A bench whose pictures may be changed."""
    return replace(bench, pictures=shutil.copytree(bench.pictures, tmp_path / "own"))


def a_trial(pictures: Path, **changes: Any) -> Trial:
    plain = Trial(
        "folder", str(pictures), "class_iid:shots=3", 0, "efficientnet_lite0", "avg", "ncm"
    )
    return replace(plain, **changes)


def overwrite_with_noise(path: Path) -> None:
    """Replace a picture by noise, in a file of the same size."""
    size = path.stat().st_size
    noise = keyed_rng(0, path.name).integers(0, 256, (40, 40, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "JPEG", quality=20)
    assert len(file.getvalue()) <= size
    path.write_bytes(file.getvalue().ljust(size, b"\0"))


@pytest.mark.slow
def test_pictures_overwritten_with_noise_of_the_same_size_are_run_again(own: Bench) -> None:
    plan = replace(experiment(seeds=(0,)), methods=METHODS[:1])
    assert own.run(plan) == (1, 1)
    assert own.run(plan) == (0, 1)
    for path in sorted((own.pictures / "mug").glob("*.jpg"))[:8]:
        overwrite_with_noise(path)
    assert own.run(plan) == (1, 1)
    first, second = {each["trial"]["data"] for each in own.records()}
    assert first != second


PLUGIN = '''
import numpy as np


class Edited:
    """A pooling."""

    blocks = 1

    def __call__(self, maps):
        return {result}
'''


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The module of an installed package with the pooling "edited"."""
    installed = tmp_path / "site" / "robocle_edited-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: robocle-edited\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(
        "[robocle.poolings]\nedited = robocle_edited.poolings:Edited\n"
    )
    package = tmp_path / "site" / "robocle_edited"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "formula.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield package / "poolings.py"
    forget_plugin()


def forget_plugin() -> None:
    """Let the next use import the plug-in again, as a new process does."""
    for name in [name for name in sys.modules if name.startswith("robocle_edited")]:
        del sys.modules[name]
    importlib.invalidate_caches()


@pytest.mark.slow
def test_an_edited_plugin_is_run_and_embedded_again(bench: Bench, plugin: Path) -> None:
    plan = replace(experiment(seeds=(0,)), methods=(Method("own", "edited", "ncm"),))
    plugin.write_text(PLUGIN.format(result="maps.grid.mean(axis=1)"))
    assert bench.run(plan) == (1, 1)
    assert bench.run(plan) == (0, 1)
    forget_plugin()
    plugin.write_text(PLUGIN.format(result="np.zeros_like(maps.grid[:, 0])  # an error"))
    assert bench.run(plan) == (1, 1)
    good, bad = (each["result"]["accuracy"]["test/clean"] for each in bench.records())
    assert good > 80
    assert bad < 50  # with the old embeddings, it would be as good as before
    forget_plugin()
    plugin.with_name("formula.py").write_text("used = 'by the pooling'")
    assert bench.run(plan) == (1, 1)  # any file of the package counts
    forget_plugin()
    plugin.with_name("formula.py").write_text("")
    plugin.write_text(PLUGIN.format(result="maps.grid.mean(axis=1)"))
    assert bench.run(plan) == (0, 1)  # as at first, and so are the results that are shown
    (shown,) = (each for each in newest_results(bench.results)[0] if each["kind"] == "trial")
    assert shown["result"]["accuracy"]["test/clean"] == good


@pytest.mark.parametrize("field", ["label", "split", "instance", "domain", "video"])
def test_all_that_is_recorded_of_a_picture_is_in_the_key(
    pictures: Path, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = a_trial(pictures).key
    first, *others = Folder().examples(pictures)
    others_of_first: dict[str, Any] = {field: "another"}
    changed = replace(first, **others_of_first)
    monkeypatch.setattr(Folder, "examples", lambda self, root: [changed, *others])
    forget_data()
    assert a_trial(pictures).key != before
    monkeypatch.undo()
    forget_data()
    assert a_trial(pictures).key == before


def test_the_same_pictures_elsewhere_are_the_same_data(pictures: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(pictures, tmp_path / "elsewhere")
    assert a_trial(copy).key == a_trial(pictures).key


@pytest.mark.parametrize(
    ("file", "decides_embeddings"),
    [
        ("folder.py", False),  # of evaluation/datasets
        ("classes.py", False),  # of evaluation/scenarios
        ("means.py", False),
        ("world.py", False),
        ("decision.py", False),
        ("boxes.py", True),  # of images
        ("pipeline.py", True),
        ("plain.py", True),  # of poolings
        ("combined.py", True),  # of evaluation/corruptions
    ],
)
def test_changed_code_changes_the_keys_that_it_decides(
    file: str, decides_embeddings: bool, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def both() -> tuple[str, list[bytes]]:
        keys._code.cache_clear()
        picture = [pictures / "mug" / "0.jpg"]
        return a_trial(pictures).key, EmbeddingSetup("efficientnet_lite0").keys(picture, "avg")

    before = both()
    unchanged = keys.file_hash
    monkeypatch.setattr(
        keys, "file_hash", lambda path: "changed" if path.name == file else unchanged(path)
    )
    after = both()
    monkeypatch.undo()
    assert both() == before
    assert after[0] != before[0]
    assert (after[1] != before[1]) == decides_embeddings


def test_code_that_no_part_of_a_trial_uses_is_not_in_its_key(
    pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = a_trial(pictures).key
    unused = ("icarl.py", "openloris.py", "errors.py", "results.py", "benchmark.py")
    unchanged = keys.file_hash
    monkeypatch.setattr(
        keys, "file_hash", lambda path: "changed" if path.name in unused else unchanged(path)
    )
    keys._code.cache_clear()
    assert a_trial(pictures).key == before
    monkeypatch.undo()
    keys._code.cache_clear()


@pytest.mark.parametrize("library", ["pillow", "onnxruntime", "numpy"])
def test_the_versions_of_libraries_are_in_the_keys_of_embeddings(
    library: str, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup, picture = EmbeddingSetup("efficientnet_lite0"), [pictures / "mug" / "0.jpg"]
    before = setup.keys(picture, "avg")
    monkeypatch.setattr(keys, "version", lambda name: "99" if name == library else version(name))
    keys.versions.cache_clear()
    after = setup.keys(picture, "avg")
    monkeypatch.undo()
    keys.versions.cache_clear()
    assert after != before == setup.keys(picture, "avg")


def test_another_world_is_another_trial(pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_world = a_trial(pictures, pooling=DEFAULT.pooling, classifier=DEFAULT.classifier)
    before, plain = with_world.key, a_trial(pictures).key

    def other(*facts: Any) -> World | None:
        world = used_world(*facts)
        return world and replace(world, gain=world.gain / 2)

    monkeypatch.setattr(trial, "used_world", other)
    assert with_world.key != before
    assert a_trial(pictures).key == plain  # it uses no world


@pytest.mark.slow
def test_every_metric_can_be_computed_again_from_the_predictions(bench: Bench) -> None:
    ours = Method("ours", DEFAULT.pooling, DEFAULT.classifier, DEFAULT.views)
    study = Study("tiny", "folder", "class_iid:shots=2,known=2", seeds=(0, 1),
                  tested=("clean", "noise:low=0.9,high=1"))  # fmt: skip
    shows: tuple[Show, ...] = ("accuracy", "metrics", "unknown")
    bench.run(Experiment("Tiny", (study,), (ours, METHODS[0]), shows=shows))
    for record in bench.records():
        again = metric_values(load_measured(record["result"]["measured"]))
        stored = {name: record["result"][name] for name in again}
        assert stored == again
        assert {"accuracy", "per_step", "forgetting", "auroc", "calibration_error"} <= again.keys()
        history = load_measured(record["result"]["measured"]).history
        assert history is not None
        assert history.shape == (2, 2)


@pytest.mark.slow
def test_copies_of_taught_pictures_are_counted_and_can_be_left_out(
    own: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    for path in [*own.pictures.glob("*/?.jpg")]:
        shutil.copy(path, path.with_name(f"{path.stem}_copy.jpg"))
    plan = replace(experiment(seeds=(0,), scenario="class_iid:shots=3"), methods=METHODS[:1])
    own.run(plan)
    (record,) = own.records()
    copies = record["result"]["copies_tested"]
    assert 5 <= copies <= 9  # of nine taught pictures, unless both of a pair were taught
    line = f"{copies} of 45 test pictures are copies of taught ones"
    assert line in caplog.text
    assert line in build_report(own.results).notes[0]
    own.run(plan.changed(scenario="class_iid:shots=3,disjoint=content"))
    found = own.records()[-1]["result"]
    assert found["copies_tested"] == 0
    assert found["pictures_tested"] == 45 - copies


def test_each_ordering_has_its_own_seed_unless_one_is_named(pictures: Path) -> None:
    def seeds(spec: str) -> list[int]:
        trials = [a_trial(pictures, classifier=spec, seed=seed) for seed in (0, 1, 0)]
        return [vars(each.new_classifier())["seed"] for each in trials]

    for spec in ("finetune", "icarl", "klda", "ridge:features=64"):
        first, second, again = seeds(spec)
        assert first != second
        assert first == again
    assert seeds("finetune:seed=0") == [0, 0, 0]
    assert seeds("icarl:seed=7") == [7, 7, 7]


def test_a_worker_with_other_code_is_refused() -> None:
    run = run_experiment._Run("a run", "0123", None)
    with pytest.raises(RobocleError, match=r"runs other code \(\w+\) than this process \(0123\)"):
        run.prepare()


def test_a_worker_with_other_data_is_refused(own: Bench) -> None:
    job = a_trial(own.pictures)
    facts = job.facts | job.revision
    overwrite_with_noise(own.pictures / "mug" / "0.jpg")
    forget_data()  # as a worker on another machine
    run = run_experiment._Run("a run", keys.code_of(also=[run_experiment.__name__]), own.cache)
    with pytest.raises(RobocleError, match=r"differs from this process in data \(\w+, not \w+\)"):
        run.run_trial(run_experiment._TrialJob(job, facts), frozenset())
