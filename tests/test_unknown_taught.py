"""Pictures taught as "unknown": examples of what is none of the labels, never predicted."""

import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from command_line import run
from refusal import Refusal
from robocle import Learner
from robocle.classifiers import classifier
from robocle.classifiers.slda import StreamingLDA
from robocle.errors import LabelError, NothingTaughtError, StateError, UnknownLabelError
from robocle.ros.recogniser import Recogniser
from robocle.ros.services import Services
from robocle.ros.settings import Settings
from robocle.web.shared_learner import SharedLearner
from slda_samples import world_of
from stub_backbone import STUB, embedding

WIDTH = 24
DEFAULT = "slda:score=cosine,shrinkage=stepped,world=10"


def taught(*labels: str, spec: str = "slda:score=cosine", path: Path | None = None) -> Learner:
    """Return a learner that was taught one embedding per label, the first ones with number 0."""
    options: dict[str, Any] = {"pooling": "avg", "classifier": spec}
    learner = Learner.open(path, STUB, **options) if path else Learner(STUB, **options)
    for number, label in enumerate(labels):
        learner.teach_embedding(embedding(number, WIDTH), label)
    return learner


@pytest.mark.parametrize("label", ["unknown", "Unknown", " UNKNOWN "])
def test_it_is_no_label(label: str) -> None:
    learner = taught("mug", "mug", "pan", label)
    assert learner.labels == ("mug", "pan")
    assert learner.counts == {"mug": 2, "pan": 1}
    assert learner.unknown_taught == 1
    found = learner.predict_embedding(embedding(3, WIDTH))
    assert set(found.scores) == {"mug", "pan"}
    assert found.nearest in ("mug", "pan")
    assert [each.label for each in learner.samples] == ["mug", "mug", "pan", "unknown"]


@pytest.mark.parametrize(
    "spec", ["ncm", "slda", "slda:score=cosine", "slda:keep=0", "sqda", "cbcl"]
)
def test_scores_are_as_if_it_had_not_been_taught(spec: str) -> None:
    with_it = taught("mug", "unknown", "pan", "unknown", "mug", spec=spec)
    without = taught(spec=spec)
    for number, label in ((0, "mug"), (2, "pan"), (4, "mug")):
        without.teach_embedding(embedding(number, WIDTH), label)
    query = embedding(9, WIDTH)
    found, expected = (each.predict_embedding(query).scores for each in (with_it, without))
    assert found == pytest.approx(expected)


def test_what_was_taught_as_unknown_alone_is_nothing_to_recognise() -> None:
    learner = taught("unknown", "unknown")
    assert learner.unknown_taught == 2
    with pytest.raises(NothingTaughtError):
        learner.predict_embedding(embedding(0, WIDTH))
    learner.teach_embedding(embedding(5, WIDTH), "mug")
    assert learner.predict_embedding(embedding(5, WIDTH)).nearest == "mug"


def test_undo_forget_remove_and_save_keep_count(tmp_path: Path) -> None:
    learner = taught("mug", "unknown", "unknown", "pan")
    assert learner.undo() == "teaching 'pan'"
    assert learner.undo() == "teaching 'unknown'"
    assert learner.unknown_taught == 1
    learner.redo()
    learner.save(tmp_path / "home.robocle")
    assert Learner.load(tmp_path / "home.robocle", STUB).unknown_taught == 2
    learner.remove(learner.samples[-1].id)
    assert learner.unknown_taught == 1
    learner.forget("Unknown")
    assert (learner.unknown_taught, learner.counts) == (0, {"mug": 1})
    with pytest.raises(UnknownLabelError):
        learner.forget("unknown")


def test_their_label_is_found_like_any_other(refusal: Refusal) -> None:
    learner = taught("mug")
    assert learner.last_embedding("unknown") is None
    for label in ("", "unknown"):
        refusal(UnknownLabelError, lambda label=label: learner.forget(label))  # type: ignore[misc]
    learner = taught("unknown", "unknown")
    refusal(UnknownLabelError, lambda: learner.forget(""))
    assert learner.taught_label(" UNKNOWN") == "unknown"
    assert learner.last_embedding("unknown") == pytest.approx(embedding(1, WIDTH))
    assert learner.doubtful() == learner.doubtful(label="unknown") == []
    first, second = (each.id for each in learner.samples)
    assert learner.remove(first, first, second) == 2


def test_commands_and_services_list_rename_and_remove_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robocle.ros.services.sample_message", str)  # it needs ROS
    path = tmp_path / "home.robocle"
    taught("mug", "unknown", "unknown", path=path).close()
    assert run("samples", path, "--label", "Unknown").stdout.count("unknown") == 2
    renamed = run("rename", path, "unknown", "mug").stdout
    assert renamed == f"unknown is now part of mug, with 3 pictures, in {path}\n"
    run("undo", path)
    with Learner.open(path, STUB) as learner:
        samples = SharedLearner(learner, path, 0.05).samples("unknown")
        assert (samples.label, len(samples.samples)) == ("unknown", 2)
        services = Services(lambda: Recogniser(learner, Settings.of({})), lambda: None)
        for label, number in ((" mug", 1), ("unknown", 2), ("", 3)):
            response = services.samples(SimpleNamespace(label=label), SimpleNamespace())
            assert response.message == f"{number} picture{'s' * (number > 1)}"
        response = services.samples(SimpleNamespace(label="pan"), SimpleNamespace())
        assert "never taught" in response.message
        ids = [each.id for each in samples.samples]
        request = SimpleNamespace(ids=[ids[0], ids[0]])
        assert services.remove(request, SimpleNamespace()).message == "removed 1 picture"
    assert run("remove", path, ids[1]).stdout == f"removed 1 picture; {path} knows 1 label\n"


def test_examples_can_be_given_a_name_later(refusal: Refusal) -> None:
    learner = taught("mug", "unknown", "unknown")
    learner.predict_embedding(embedding(1, WIDTH), false_accept=1)
    learner.rename("unknown", "cable")
    assert (learner.unknown_taught, learner.counts) == (0, {"mug": 1, "cable": 2})
    assert learner.predict_embedding(embedding(1, WIDTH), false_accept=1).label == "cable"
    learner.undo()
    assert (learner.unknown_taught, learner.counts) == (2, {"mug": 1})
    assert learner.predict_embedding(embedding(1, WIDTH), false_accept=1).label == "mug"


def test_another_program_follows_them(tmp_path: Path) -> None:
    path = tmp_path / "home.robocle"
    with taught("mug", "pan", path=path) as one, Learner.open(path, STUB) as other:
        other.predict_embedding(embedding(0, WIDTH))
        one.teach_embedding(embedding(7, WIDTH), "unknown")
        assert other.unknown_taught == 1
        first, second = (each.predict_embedding(embedding(8, WIDTH)) for each in (one, other))
        assert first.familiarity == pytest.approx(second.familiarity)
        assert one.unknown_below() == pytest.approx(other.unknown_below())


@pytest.mark.parametrize("spec", ["slda:score=cosine,keep=0", "slda:score=cosine,keep=10"])
def test_many_of_them_beside_few_labels_are_kept_and_can_be_undone(
    tmp_path: Path, spec: str
) -> None:
    path = tmp_path / "home.robocle"
    with taught("pan", *["unknown"] * 80, "mug", spec=spec, path=path) as learner:
        assert learner.unknown_taught == 80
        assert learner.undo() == "teaching 'mug'"
        learner.purge()
        learner.save(tmp_path / "sent.robocle")
    found = Learner.load(tmp_path / "sent.robocle", STUB)
    assert (found.unknown_taught, found.counts) == (80, {"pan": 1})


def test_sums_of_them_are_refused(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "home.robocle"
    with taught(*["mug", "pan"] * 40, spec="slda:keep=0", path=path) as learner:
        learner.purge()
    database = sqlite3.connect(path)
    database.execute("UPDATE samples SET label = 'unknown' WHERE label = 'pan'")
    database.commit()
    database.close()
    message = refusal(StateError, lambda: Learner.load(path, STUB))
    assert "sums of what was taught as unknown" in message


def test_a_classifier_gives_them_a_name_and_forgets_them_and_makes_no_object_unknown() -> None:
    clf = classifier("ncm")
    for number, label in enumerate(("mug", "unknown", "pan", "unknown")):
        clf.learn(embedding(number, WIDTH), label)
    with pytest.raises(LabelError, match="choose another name"):
        clf.rename("pan", "unknown")
    clf.rename("unknown", "cable")
    assert clf.counts == {"mug": 1, "cable": 2, "pan": 1}
    clf.learn(embedding(9, WIDTH), "unknown")
    clf.forget("unknown")
    assert len(clf.samples) == 4
    with pytest.raises(UnknownLabelError):
        clf.forget("unknown")


def test_those_that_look_like_a_label_are_pointed_out() -> None:
    learner = taught(spec=DEFAULT)
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, WIDTH))
    for number in range(15):
        row = centres[number % 3] + 0.1 * rng.normal(size=WIDTH)
        learner.teach_embedding(row, f"object {number % 3}")
    for _ in range(6):
        learner.teach_embedding(centres[0] + 0.1 * rng.normal(size=WIDTH), "unknown")
    found = learner.readiness()
    assert found is not None
    assert (found.unknown, found.unknown_accepted) == (6, 6)
    assert "6 of 6 pictures taught as unknown would still be taken" in found.advice


def familiarity(clf: StreamingLDA, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return clf.answer().scores_and_familiarity(rows)[1]


@pytest.mark.parametrize("has_world", [True, False])
def test_their_familiarity_follows_lessons_as_if_it_were_computed_anew(has_world: bool) -> None:
    rng, examples = np.random.default_rng(0), []
    clf = classifier(DEFAULT)
    assert isinstance(clf, StreamingLDA)
    if has_world:
        clf.use_world(world_of(WIDTH))
    for number in range(200):
        if number % 4 == 3 or 40 < number < 170:  # of more than 128, the last ones count
            examples.append(rng.normal(size=WIDTH))
            clf.learn(examples[-1], "unknown")
        else:
            clf.learn(rng.normal(size=WIDTH), f"object {number % 7}")
        if number > 8 and number % 2:
            found, last = clf.answer().familiarity_of_unknown, np.array(examples[-128:])
            np.testing.assert_allclose(found, familiarity(clf, last), rtol=1e-6)


def test_commands_teach_them(objects: Path, tmp_path: Path) -> None:
    state = tmp_path / "home.robocle"
    (tmp_path / "pictures" / "Unknown").mkdir(parents=True)
    picture = (objects / "ball" / "0.jpg").read_bytes()
    (tmp_path / "pictures" / "Unknown" / "0.jpg").write_bytes(picture)
    assert run("teach", state, "mug", objects / "box", "--poor", "accept").exit_code == 0
    assert run("teach", state, tmp_path / "pictures", "--poor", "accept").exit_code == 0
    assert run("teach", state, " unknown ", objects / "ball", "--poor", "accept").exit_code == 0
    with Learner.edit(state) as learner:
        assert learner.labels == ("mug",)
        assert learner.unknown_taught > 1
    assert "of what is unknown" in run("inspect", state).stdout
    assert run("forget", state, "unknown").exit_code == 0
    with Learner.edit(state) as learner:
        assert learner.unknown_taught == 0
