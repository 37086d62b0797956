"""The taught pictures one by one: listed, judged, removed, and joined under one label."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from from_scratch import equals_learning_from_scratch
from refusal import Refusal
from robocle import Learner, SpecError, UnknownSampleError
from robocle.classifiers import CLASSIFIERS
from robocle.recognition.readiness import TaughtSample
from stub_backbone import STUB, embedding

WIDTH = 24
# Its leave-one-out scores are almost exact: its shrinkage is not estimated.
EXACT = "slda:score=cosine,shrinkage=0.1"
LABELS = ("mug", "pan", "jar")


def taught(classifier: str = EXACT, shots: int = 3, seed: int = 0) -> Learner:
    """Return a learner that was taught pictures of each label in turn."""
    learner = Learner(STUB, pooling="avg", classifier=classifier)
    for lesson in lessons(shots, seed):
        learner.teach_embedding(*lesson)
    return learner


def lessons(shots: int = 3, seed: int = 0) -> list[tuple[NDArray[np.float32], str]]:
    return [(picture(label, [seed, shot]), label) for shot in range(shots) for label in LABELS]


def picture(label: str, seed: list[int]) -> NDArray[np.float32]:
    """Return the embedding of a picture of an object."""
    rng = np.random.default_rng([*map(ord, label)])
    found: NDArray[np.float32] = (rng.normal(size=WIDTH) + embedding(seed, WIDTH)).astype("f4")
    return found


def ids_of(learner: Learner) -> list[str]:
    return [sample.id for sample in learner.samples]


# ---- listed


def test_samples_are_listed_in_the_order_in_which_they_were_taught() -> None:
    start = time.time()
    samples = taught().samples
    assert [sample.label for sample in samples] == [*LABELS] * 3
    assert len({sample.id for sample in samples}) == 9
    times = [start, *(sample.time for sample in samples), time.time()]
    assert times == sorted(times)


def list_of(learner: Learner) -> list[tuple[str, str, float]]:
    return [(sample.id, sample.label, sample.time) for sample in learner.samples]


def test_samples_keep_their_ids_when_they_are_renamed_and_when_that_is_undone() -> None:
    learner = taught()
    before = list_of(learner)
    learner.rename("mug", "cup")
    assert ids_of(learner) == [id for id, _, _ in before]
    assert learner.samples[0].label == "cup"
    learner.undo()
    assert list_of(learner) == before


def test_a_learner_that_keeps_no_samples_lists_none_and_removes_none(refusal: Refusal) -> None:
    learner = taught("slda:keep=0")
    assert learner.samples == learner.doubtful() == []
    refusal(UnknownSampleError, lambda: learner.remove("0" * 32))
    assert learner.counts == {"mug": 3, "pan": 3, "jar": 3}


def test_a_learner_that_keeps_some_samples_lists_the_newest_of_each_label() -> None:
    learner, all_of_them = taught(f"{EXACT},keep=6"), taught().samples
    assert learner.counts == {"mug": 3, "pan": 3, "jar": 3}
    assert [each.label for each in learner.samples] == [each.label for each in all_of_them[3:]]
    learner.remove(learner.samples[0].id)
    assert learner.counts == {"mug": 2, "pan": 3, "jar": 3}


def test_sums_still_recognise_when_all_samples_that_were_kept_are_removed() -> None:
    learner = taught(f"{EXACT},keep=3")
    learner.remove(*ids_of(learner))
    assert learner.counts == {"mug": 2, "pan": 2, "jar": 2}
    assert learner.predict_embedding(picture("pan", [9])).nearest == "pan"


# ---- removed


EDITS: dict[str, tuple[Callable[[Learner], object], list[tuple[NDArray[np.float32], str]]]] = {
    "removing 1 picture": (
        lambda learner: learner.remove(learner.samples[4].id),
        lessons()[:4] + lessons()[5:],
    ),
    "renaming 'jar' to 'mug'": (
        lambda learner: learner.rename("jar", "mug"),
        [(values, "mug" if label == "jar" else label) for values, label in lessons()],
    ),
}


@pytest.mark.parametrize("what", EDITS)
@pytest.mark.parametrize("classifier", CLASSIFIERS.names())
def test_an_edited_learner_equals_one_that_was_taught_so(
    classifier: str, what: str, tmp_path: Path
) -> None:
    path, (edit, taught_so) = tmp_path / "home", EDITS[what]
    taught(classifier).save(path)
    with Learner.open(path, STUB) as learner:
        edit(learner)
        assert equals_learning_from_scratch(learner, taught_so)
        assert equals_learning_from_scratch(Learner.load(path, STUB), taught_so)
        assert learner.undo() == what
        assert equals_learning_from_scratch(learner, lessons())
        assert equals_learning_from_scratch(Learner.load(path, STUB), lessons())


def test_a_list_or_a_sample_in_the_place_of_an_id_is_refused(refusal: Refusal) -> None:
    learner = taught()
    remove: Callable[..., object] = learner.remove
    for wrong in ([each.id for each in learner.samples], learner.samples[0]):
        message = refusal(UnknownSampleError, partial(remove, wrong))
        assert message.endswith("give ids one by one, such as `learner.samples[0].id`")
    assert learner.counts == {"mug": 3, "pan": 3, "jar": 3}


def test_several_samples_are_removed_in_one_step() -> None:
    learner = taught()
    first, *others = ids_of(learner)
    learner.remove(first, others[3][:16], first)  # the first digits of an id stand for it
    assert ids_of(learner) == [id for id in others if id != others[3]]
    assert str(learner.steps[0]) == "removing 2 pictures"
    learner.undo()
    assert ids_of(learner) == [first, *others]


def test_ids_that_are_unknown_or_ambiguous_change_nothing(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "home"
    taught(shots=6).save(path)  # of 18 ids, at least two begin with the same of 16 digits
    before = path.read_bytes()
    with Learner.open(path, STUB) as learner:
        ids = ids_of(learner)
        starts = [id[0] for id in ids]
        ambiguous = next(start for start in starts if starts.count(start) > 1)
        found = starts.count(ambiguous)
        for wrong, problem in (
            (ambiguous, f"{found} samples begin with '{ambiguous}'"),
            ("f" * 33, f"there is no sample '{'f' * 33}'"),
            ("", "there is no sample ''"),
            ("mug", "there is no sample 'mug'"),
        ):
            message = refusal(UnknownSampleError, partial(learner.remove, ids[0], wrong))
            assert message == f"{problem}: `robocle samples STATE` lists the ids"
        learner.remove()
        assert (ids_of(learner), learner.undoable) == (ids, 0)
    assert path.read_bytes() == before


# ---- judged


def with_mistakes() -> tuple[Learner, list[str]]:
    """Return a learner that was taught two pictures under wrong labels, and the ids of these."""
    learner = taught(shots=6)
    learner.teach_embedding(picture("mug", [50]), "pan")
    learner.teach_embedding(picture("jar", [51]), "mug")
    return learner, ids_of(learner)[-2:]


def test_pictures_with_wrong_labels_are_doubtful() -> None:
    learner, wrong = with_mistakes()
    assert taught(shots=6).doubtful() == []
    found = learner.doubtful()
    assert {sample.id for sample in found} == set(wrong)
    assert {(each.label, each.taken_for) for each in found} == {("pan", "mug"), ("mug", "jar")}
    assert all(each.is_doubtful and each.recognised < 0.5 for each in found if each.recognised)
    assert learner.doubtful(1) == found[:1]
    learner.remove(*wrong)
    assert learner.doubtful() == []


def test_a_sample_is_judged_by_a_learner_that_was_not_taught_it() -> None:
    learner, _ = with_mistakes()
    decision = learner.decision()
    assert decision is not None
    all_lessons = [*lessons(6), (picture("mug", [50]), "pan"), (picture("jar", [51]), "mug")]
    for number, (sample, (values, label)) in enumerate(
        zip(learner.samples, all_lessons, strict=True)
    ):
        other = CLASSIFIERS.build(EXACT)
        for lesson in all_lessons[:number] + all_lessons[number + 1 :]:
            other.learn(*lesson)
        scores = other.scores(values[None])[0] / decision.temperature
        likely = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        own, best = other.labels.index(label), other.labels[scores.argmax()]
        # The scale of the covariance is not computed again without the sample.
        assert sample.recognised == pytest.approx(likely[own], abs=0.005)
        assert sample.taken_for == (best if best != label else None)


def test_removing_a_sample_helps_as_much_as_was_said() -> None:
    said, happened = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        centres = 0.7 * rng.normal(size=(4, WIDTH))
        learner = taught(shots=0)
        for number in range(16):
            learner.teach_embedding(centres[number % 4] + rng.normal(size=WIDTH), f"{number % 4}")
        learner.teach_embedding(1.5 * centres[0], "1")  # the wrong label
        before = learner.samples
        found = learner.doubtful(len(before))
        assert found == sorted(found, key=lambda each: (-each.would_help, each.recognised))
        for sample in found:
            learner.remove(sample.id)
            others = [each for each in before if each.id != sample.id]
            said.append(sample.would_help)
            happened.append(recognised(learner.samples) - recognised(others))
            learner.undo()
    wrong = np.abs(np.array(said) - happened)
    assert max(said) > 1
    assert wrong.max() <= 1  # where a score is close to another one
    assert (wrong == 0).mean() > 0.9


def test_removing_a_wrong_picture_does_not_hurt_if_pictures_are_fewer_than_dimensions() -> None:
    rng, width = np.random.default_rng(0), 200
    centres, learner = rng.normal(size=(2, width)), taught(shots=0)
    for number in range(6):
        learner.teach_embedding(centres[number % 2] + 0.3 * rng.normal(size=width), f"{number % 2}")
    learner.teach_embedding(centres[0] + 0.3 * rng.normal(size=width), "1")
    (wrong,) = learner.doubtful()
    before = recognised(learner.samples)
    learner.remove(wrong.id)
    assert before == recognised(learner.samples) == 6
    assert wrong.would_help == 0


def recognised(samples: list[TaughtSample]) -> int:
    """Return how many samples are recognised when they are left out."""
    return sum(each.taken_for is None for each in samples)


@pytest.mark.parametrize(("labels", "classifier"), [(1, EXACT), (3, "ncm"), (3, "slda")])
def test_samples_are_not_judged_with_one_label_or_without_leave_one_out_scores(
    labels: int, classifier: str
) -> None:
    learner = taught(classifier, shots=0)
    for values, label in lessons(2):
        if label in LABELS[:labels]:
            learner.teach_embedding(values, label)
    assert {(each.recognised, each.taken_for) for each in learner.samples} == {(None, None)}
    assert learner.doubtful() == []


def test_the_only_picture_of_a_label_is_not_judged() -> None:
    learner = taught()
    learner.teach_embedding(picture("cup", [1]), "cup")
    assert [each.label for each in learner.samples if each.recognised is None] == ["cup"]


@pytest.mark.parametrize("most", [0, -1, 1.5, "5"])
def test_the_number_of_doubtful_pictures_is_a_whole_number_from_1_on(most: int) -> None:
    with pytest.raises(SpecError, match="most"):
        taught().doubtful(most)


def test_listing_samples_changes_nothing() -> None:
    learner = taught()
    before = learner.predict_embedding(picture("mug", [99]))
    assert learner.samples
    assert not learner.doubtful()
    assert learner.predict_embedding(picture("mug", [99])) == before


# ---- joined


@pytest.mark.parametrize("keep", [0, 4])
def test_labels_of_which_only_sums_are_kept_can_be_joined(keep: int) -> None:
    learner = taught(f"{EXACT},keep={keep}")
    learner.rename("jar", "mug")
    expected = taught(shots=0)
    for values, label in lessons():
        expected.teach_embedding(values, "mug" if label == "jar" else label)
    assert learner.counts == expected.counts
    found = learner.predict_embedding(picture("pan", [9])).scores
    assert found == pytest.approx(expected.predict_embedding(picture("pan", [9])).scores, rel=1e-6)
    learner.undo()
    assert learner.counts == {"mug": 3, "pan": 3, "jar": 3}
