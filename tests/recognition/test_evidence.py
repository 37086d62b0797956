"""The answer of a frame, at the rate that the user chose, decides what a video announces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocle.label_numbers import LabelNumbers
from robocle.recognition.temporal_filter import TemporalFilter, evidence_of
from robocle.types import Prediction


def frame(label: str | None, mug: float, pan: float) -> Prediction:
    confidences = {"mug": mug, "pan": pan}
    nearest = max(confidences, key=confidences.__getitem__)
    scores = dict(confidences)
    return Prediction(label, confidences[nearest], scores, nearest, mug + pan, confidences)


@given(st.floats(0.001, 0.99), st.floats(0, 1), st.booleans())
def test_the_evidence_of_a_frame_agrees_with_its_answer(
    mug: float, rest: float, accepted: bool
) -> None:
    pan = min(mug, (1 - mug) * rest)
    labels, evidence = evidence_of(frame("mug" if accepted else None, mug, pan))
    first, second, unknown, nothing = evidence.tolist()
    assert labels == ("mug", "pan")
    assert (evidence.sum(), nothing) == (pytest.approx(1), 0.0)
    assert second * mug == pytest.approx(first * pan)
    if accepted:
        assert first >= 2 * unknown - 1e-9
    else:
        assert unknown >= 2 * first - 1e-9


@pytest.mark.parametrize("known", [1e-6, 0.2, 0.4, 0.6, 0.95])
@pytest.mark.parametrize("label", ["mug", None])
def test_a_video_whose_frames_have_the_same_answer_ends_with_it(
    known: float, label: str | None
) -> None:
    steady = TemporalFilter()
    for _ in range(20):
        said = steady.update(frame(label, 0.9 * known, 0.1 * known))
    assert said.label == label


def test_where_there_is_nothing_to_see_only_that_is_probable() -> None:
    black = Prediction(None, 0.0, {"mug": 0.0}, "mug", 0.0, {"mug": 0.0}, "the picture is black")
    assert evidence_of(black)[1].tolist() == [0.0, 0.0, 1.0]
    without = Prediction(None, 0.0, {"mug": 0.0}, "mug", 0.0, {"mug": 0.0})
    assert evidence_of(without)[1].tolist() == [0.0, 1.0, 0.0]


def test_the_dicts_of_a_frame_stay_unread() -> None:
    scores, confidences = {"mug": 1.0, "pan": 0.2}, {"mug": 0.6, "pan": 0.2}
    unread = Prediction.of_numbers(
        None, 0.6, LabelNumbers.of(scores), "mug", 0.8, LabelNumbers.of(confidences)
    )
    found = evidence_of(unread)[1]
    assert not {"scores", "confidences"} & {*vars(unread)}
    assert found.tolist() == pytest.approx([0.3, 0.1, 0.6, 0.0])
