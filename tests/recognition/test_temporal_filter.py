"""The temporal filter: steady announcements from predictions that flicker."""

import pytest

from robocle import Prediction, SpecError, TemporalFilter
from robocle.recognition.temporal_filter import Announcement


def frame(nothing: str = "", **confidences: float) -> Prediction:
    nearest = max(confidences, key=confidences.__getitem__)
    label = None if nothing or confidences[nearest] < 0.5 else nearest
    return Prediction(label, confidences[nearest], confidences, nearest, 0.5, confidences, nothing)


def announced(seen: TemporalFilter, *frames: Prediction) -> list[Announcement]:
    return [seen.update(each) for each in frames]


MUG, PAN, UNSURE = frame(mug=0.95, pan=0.02), frame(mug=0.02, pan=0.95), frame(mug=0.3, pan=0.3)
STRANGER, BLACK = frame(mug=0.02, pan=0.02), frame("the picture is black", mug=0.0, pan=0.0)


def test_one_frame_of_another_label_is_not_announced() -> None:
    labels = [each.label for each in announced(TemporalFilter(), MUG, MUG, MUG, PAN, MUG)]
    assert labels[1:] == ["mug"] * 4


def test_another_object_is_announced_after_a_few_frames() -> None:
    labels = [each.label for each in announced(TemporalFilter(), *[MUG] * 5, *[PAN] * 5)]
    assert labels[-1] == "pan"
    assert "pan" not in labels[:6]


def test_an_unknown_object_is_announced_as_unknown() -> None:
    last = announced(TemporalFilter(), *[MUG] * 3, *[STRANGER] * 6)[-1]
    assert (last.label, last.nothing) == (None, "")
    assert last.unknown > 0.7


def test_nothing_to_see_is_announced_with_its_reason() -> None:
    last = announced(TemporalFilter(), *[MUG] * 3, *[BLACK] * 6)[-1]
    assert (last.label, last.nothing) == (None, "the picture is black")


def test_one_black_frame_does_not_interrupt_an_announcement() -> None:
    assert announced(TemporalFilter(), *[MUG] * 5, BLACK)[-1].label == "mug"


def test_the_probabilities_of_all_labels_and_of_unknown_sum_to_one() -> None:
    for each in announced(TemporalFilter(), MUG, UNSURE, PAN, STRANGER, BLACK):
        assert sum(each.probabilities.values()) + each.unknown == pytest.approx(1)


def test_a_change_is_reported_once() -> None:
    changes = [each.changed for each in announced(TemporalFilter(), *[MUG] * 4, *[PAN] * 6)]
    assert changes[0]
    assert sum(changes[4:]) == 1


def test_a_forgotten_label_is_no_longer_announced() -> None:
    seen = TemporalFilter()
    announced(seen, *[MUG] * 5)
    found = seen.update(frame(pan=0.1))
    assert found.label is None
    assert found.changed
    assert set(found.probabilities) == {"pan"}


def test_a_renamed_label_is_announced_under_its_new_name() -> None:
    seen = TemporalFilter()
    announced(seen, *[MUG] * 5)
    assert announced(seen, *[frame(cup=0.95, pan=0.02)] * 3)[-1].label == "cup"


def test_a_label_that_appears_can_be_announced() -> None:
    seen = TemporalFilter()
    announced(seen, *[STRANGER] * 5)
    taught = frame(mug=0.02, pan=0.02, clock=0.94)
    assert announced(seen, *[taught] * 5)[-1].label == "clock"


def test_after_a_reset_earlier_frames_do_not_count() -> None:
    seen = TemporalFilter()
    announced(seen, *[MUG] * 9)
    seen.reset()
    assert seen.update(PAN) == TemporalFilter().update(PAN)


def test_unsure_frames_announce_nothing_new() -> None:
    assert {each.label for each in announced(TemporalFilter(), *[UNSURE] * 30)} == {None}


@pytest.mark.parametrize("options", [{"frames": 0.5}, {"sure": 0.2}, {"sure": float("nan")}])
def test_options_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(SpecError):
        TemporalFilter(**options)
