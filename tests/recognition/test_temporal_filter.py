"""The temporal filter: steady announcements from predictions that flicker."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interrupts import Interrupt
from robocle import Prediction, SpecError, TemporalFilter
from robocle.recognition.temporal_filter import AGREES, FLOOR, STAY, Announcement, evidence_of


def frame(nothing: str = "", **confidences: float) -> Prediction:
    nearest = max(confidences, key=confidences.__getitem__)
    label = None if nothing or confidences[nearest] < 0.5 else nearest
    return Prediction(label, confidences[nearest], confidences, nearest, 0.5, confidences, nothing)


def announced(seen: TemporalFilter, *frames: Prediction) -> list[Announcement]:
    return [seen.update(each) for each in frames]


MUG, PAN, UNSURE = frame(mug=0.95, pan=0.02), frame(mug=0.02, pan=0.95), frame(mug=0.3, pan=0.3)
STRANGER, BLACK = frame(mug=0.02, pan=0.02), frame("the picture is black", mug=0.0, pan=0.0)


def test_another_object_is_announced_after_a_few_frames() -> None:
    labels = [each.label for each in announced(TemporalFilter(), *[MUG] * 5, *[PAN] * 5)]
    assert labels[-1] == "pan"
    assert "pan" not in labels[:6]


@pytest.mark.parametrize(
    ("shown", "verdict", "nothing"),
    [(STRANGER, "unknown", ""), (BLACK, "nothing", "the picture is black")],
)
def test_what_is_no_taught_object_is_announced_as_that(
    shown: Prediction, verdict: str, nothing: str
) -> None:
    last = announced(TemporalFilter(), *[MUG] * 3, *[shown] * 6)[-1]
    assert (last.verdict, last.label, last.nothing) == (verdict, None, nothing)
    assert last.unknown_probability > 0.7


def test_one_black_frame_does_not_interrupt_an_announcement() -> None:
    assert announced(TemporalFilter(), *[MUG] * 5, BLACK)[-1].label == "mug"


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


def test_a_tie_is_undecided_and_not_unknown() -> None:
    tie = replace(frame(mug=0.49, pan=0.48), label="mug")
    undecided = announced(TemporalFilter(sure=0.9), tie, tie)
    said = [(each.verdict, each.label, each.nearest, each.changed) for each in undecided]
    assert said == [("undecided", None, "mug", False)] * 2


def test_what_is_announced_is_dropped_when_the_evidence_is_against_it() -> None:
    seen, tie = TemporalFilter(sure=0.9), replace(frame(mug=0.001, pan=0.49, pot=0.49), label="pan")
    assert announced(seen, *[frame(mug=0.95, pan=0.01, pot=0.01)] * 4)[-1].label == "mug"
    last = announced(seen, *[tie] * 12)[-1]
    assert (last.verdict, last.label, last.nearest) == ("undecided", None, "pan")


def test_the_confidence_is_that_of_the_nearest_label() -> None:
    for each in announced(TemporalFilter(), MUG, UNSURE, MUG, PAN, STRANGER, STRANGER):
        assert each.confidence == each.confidences[each.nearest]
        assert each.label in (None, each.nearest)
        assert each.known_probability == pytest.approx(sum(each.confidences.values()))


def test_the_announcement_of_a_single_frame_is_its_prediction() -> None:
    for each in (MUG, STRANGER, BLACK):
        said = Announcement.of(each)
        for name in ("verdict", "label", "confidence", "nearest", "nothing", "sure", "confidences"):
            assert getattr(said, name) == getattr(each, name)


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


def answered(label: str | None, mug: float, pan: float) -> Prediction:
    confidences = {"mug": mug, "pan": pan}
    nearest = max(confidences, key=confidences.__getitem__)
    return Prediction(label, confidences[nearest], {}, nearest, mug + pan, confidences)


@given(st.floats(0.001, 0.99), st.floats(0, 1), st.booleans())
def test_the_evidence_of_a_frame_agrees_with_its_answer(
    mug: float, rest: float, accepted: bool
) -> None:
    pan = min(mug, (1 - mug) * rest)
    labels, evidence = evidence_of(answered("mug" if accepted else None, mug, pan))
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
        said = steady.update(answered(label, 0.9 * known, 0.1 * known))
    assert said.label == label
