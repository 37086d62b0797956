"""The temporal filter: steady announcements from predictions that flicker."""

import numpy as np
import pytest

from interrupts import Interrupt
from robocle import Prediction, SpecError, TemporalFilter
from robocle.label_numbers import LabelNumbers
from robocle.recognition.temporal_filter import AGREES, FLOOR, STAY, Announcement


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
    assert last.unknown_probability > 0.7


def test_nothing_to_see_is_announced_with_its_reason() -> None:
    last = announced(TemporalFilter(), *[MUG] * 3, *[BLACK] * 6)[-1]
    assert (last.label, last.nothing) == (None, "the picture is black")


def test_one_black_frame_does_not_interrupt_an_announcement() -> None:
    assert announced(TemporalFilter(), *[MUG] * 5, BLACK)[-1].label == "mug"


def test_the_probabilities_of_all_labels_and_of_unknown_sum_to_one() -> None:
    for each in announced(TemporalFilter(), MUG, UNSURE, PAN, STRANGER, BLACK):
        assert sum(each.confidences.values()) + each.unknown_probability == pytest.approx(1)


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
    assert set(found.confidences) == {"pan"}


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


def plain_posterior(
    before: dict[str | int, float], prediction: Prediction, frames: float
) -> dict[str | int, float]:
    """Return the posterior after a frame, from the formula and with dicts."""
    seen, known = 1.0 - bool(prediction.nothing), sum(prediction.confidences.values())
    best, scale = prediction.confidence, 1.0
    if prediction.label is None and 1 - known < AGREES * best:
        scale = 1 / (known + AGREES * best)
    elif prediction.label is not None and best < AGREES * (1 - known):
        scale = AGREES / (best + AGREES * known)
    evidence: dict[str | int, float] = {
        label: seen * scale * p for label, p in prediction.confidences.items()
    }
    evidence |= {0: seen * (1 - scale * known), 1: 1 - seen}
    kept = {key: before.get(key, 0.0) for key in evidence}
    share = (1 - sum(kept.values())) / len(kept)
    after = {}
    for key, p in kept.items():
        prior = (p + share) * (1 - 1 / STAY) + 1 / (STAY * len(kept))
        after[key] = prior * max(evidence[key], FLOOR) ** (1 / frames)
    return {key: p / sum(after.values()) for key, p in after.items()}


def test_the_posterior_is_that_of_the_formula_while_labels_come_and_go() -> None:
    rng, names = np.random.default_rng(5), [f"object {row}" for row in range(12)]
    seen = TemporalFilter(frames=3.0)
    expected: dict[str | int, float] = {}
    for number in range(60):
        labels = names[number // 20 : 6 + number // 10]
        shares = rng.dirichlet(np.full(len(labels) + 1, 0.2))[:-1].tolist()
        found = frame("black" * (number % 9 == 8), **dict(zip(labels, shares, strict=True)))
        expected = plain_posterior(expected, found, 3.0)
        said = seen.update(found)
        assert list(said.confidences) == labels
        assert said.confidences == pytest.approx({key: expected[key] for key in labels})
        assert said.unknown_probability == pytest.approx(expected[0] + expected[1])


def test_an_announcement_builds_its_dict_when_it_is_first_read() -> None:
    said = TemporalFilter().update(MUG)
    best = said.top(1)
    assert "confidences" not in vars(said)
    assert best == [("mug", said.confidences["mug"])]
    given = Announcement(
        said.label, "", dict(said.confidences), said.unknown_probability, said.changed, said.sure
    )
    assert given == said
    assert given.top(1) == best


def test_the_prediction_of_a_frame_keeps_its_dicts_unread() -> None:
    found, equal = (LabelNumbers(("mug", "pan"), np.array([0.5, 0.25])) for _ in range(2))
    prediction = Prediction.of_numbers("mug", 0.5, found, "mug", 0.9, equal)
    TemporalFilter().update(prediction)
    assert not {"scores", "confidences"} & set(vars(prediction))


def test_filters_with_the_same_options_are_equal_whatever_they_have_seen() -> None:
    seen = TemporalFilter(frames=2.0)
    seen.update(MUG)
    assert seen == TemporalFilter(frames=2.0)
    assert seen != TemporalFilter(frames=3.0)


def test_an_interrupt_at_any_instant_leaves_a_filter_that_goes_on() -> None:
    more = frame(mug=0.1, pan=0.8, pot=0.05)
    with Interrupt() as whole:
        TemporalFilter().update(more)
    for instant in range(1, whole.count + 1):
        seen = TemporalFilter()
        seen.update(MUG)
        with Interrupt(instant):
            seen.update(more)
        for _ in range(3):
            found = seen.update(MUG)
        assert found.label == "mug"
