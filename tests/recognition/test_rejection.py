"""The rate also decides what the temporal filter announces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocle.label_numbers import LabelNumbers
from robocle.recognition.rejection import decided
from robocle.recognition.temporal_filter import TemporalFilter
from robocle.types import Prediction


def frame(label: str | None, mug: float, pan: float) -> Prediction:
    confidences = {"mug": mug, "pan": pan}
    nearest = max(confidences, key=confidences.__getitem__)
    scores = dict(confidences)
    return Prediction(label, confidences[nearest], scores, nearest, mug + pan, confidences)


@given(st.floats(0.001, 0.99), st.floats(0, 1), st.booleans())
def test_a_frame_speaks_for_what_was_decided_about_it(
    mug: float, rest: float, accepted: bool
) -> None:
    pan = min(mug, (1 - mug) * rest)
    found = decided(frame("mug" if accepted else None, mug, pan))
    assert found.unknown + sum(found.confidences.values()) == pytest.approx(1)
    assert found.confidence == pytest.approx(found.confidences["mug"])
    if accepted:
        assert found.confidences["mug"] >= 2 * found.unknown - 1e-9
    else:
        assert found.unknown >= 2 * found.confidences["mug"] - 1e-9


def test_the_same_evidence_is_announced_as_unknown_or_as_a_label_by_the_rate() -> None:
    steady = TemporalFilter()
    for _ in range(20):
        said = steady.update(decided(frame(None, 0.45, 0.05)))
    assert said.label is None
    steady.reset()
    for _ in range(20):
        said = steady.update(decided(frame("mug", 0.9, 0.05)))
    assert said.label == "mug"


@pytest.mark.parametrize("known", [1e-6, 0.2, 0.4, 0.6, 0.95])
@pytest.mark.parametrize("label", ["mug", None])
def test_a_video_whose_frames_have_the_same_answer_ends_with_it(
    known: float, label: str | None
) -> None:
    steady = TemporalFilter()
    for _ in range(20):
        said = steady.update(decided(frame(label, 0.9 * known, 0.1 * known)))
    assert said.label == label


def test_where_there_is_nothing_to_see_nothing_changes() -> None:
    black = Prediction(None, 0.0, {"mug": 0.0}, "mug", 0.0, {"mug": 0.0}, "the picture is black")
    assert decided(black) is black


def test_a_frame_of_arrays_is_decided_as_one_of_dicts_and_its_scores_stay_unread() -> None:
    scores, confidences = {"mug": 1.0, "pan": 0.2}, {"mug": 0.6, "pan": 0.2}
    unread = Prediction.of_numbers(
        None, 0.6, LabelNumbers.of(scores), "mug", 0.8, LabelNumbers.of(confidences)
    )
    found = decided(unread)
    assert not {"scores", "confidences"} & {*vars(unread), *vars(found)}
    assert found == decided(Prediction(None, 0.6, scores, "mug", 0.8, confidences))
    assert found.scores == scores
    assert found.confidences == pytest.approx({"mug": 0.3, "pan": 0.1})
