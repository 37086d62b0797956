"""`Tracker`: objects that keep their number and their label from frame to frame."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bright_detector import bright_detector
from home_pictures import home_picture, taught_home
from robocle import Find, Prediction, SpecError, Track, Tracker
from robocle.backbones import Backbone
from robocle.finders.boxes import PixelBox
from robocle.learner.tracking import MOST_TRACKS

WHOLE = (0.0, 0.0, 640.0, 480.0)


def find(label: str | None, box: PixelBox, confidence: float = 0.95) -> Find:
    known = {each: confidence if each == label else 0.02 for each in ("mug", "pan")}
    nearest = label or "mug"
    return Find(box, Prediction(label, known[nearest], known, nearest, 0.5, known))


def at(label: str | None, x: float, y: float = 100.0, side: float = 60.0) -> Find:
    return find(label, (x, y, side, side))


def labelled(tracks: Iterable[Track]) -> list[tuple[int, str | None]]:
    return [(each.number, each.announcement.label) for each in tracks]


def test_one_wrong_frame_changes_neither_the_label_nor_the_number() -> None:
    tracker = Tracker()
    labels = ["mug", "mug", "pan", "mug", None, "mug"]
    assert {track for label in labels for track in labelled(tracker.update([at(label, 50)]))} == {
        (1, "mug")
    }


def test_an_object_that_is_missed_for_a_few_frames_keeps_its_number() -> None:
    tracker = Tracker(patience=2)
    tracker.update([at("mug", 50)])
    for missed in (1, 2):
        (track,) = tracker.update([])
        assert (track.number, track.missed, track.box[0]) == (1, missed, 50)
        assert not track.announcement.changed
    assert labelled(tracker.update([at("mug", 55)])) == [(1, "mug")]
    assert [tracker.update([]) for _ in range(3)][2] == []
    assert labelled(tracker.update([at("mug", 55)])) == [(2, "mug")]


@pytest.mark.parametrize("labels", [("mug", "pan"), ("mug", "mug")])
def test_objects_that_cross_keep_their_numbers(labels: tuple[str, str]) -> None:
    tracker = Tracker()
    for x in range(0, 400, 15):
        tracks = tracker.update([at(labels[0], x), at(labels[1], 390 - x, y=130)])
    assert [(each.number, each.box[0]) for each in tracks] == [(1, 390), (2, 0)]


def test_two_equal_objects_are_two_tracks() -> None:
    tracker = Tracker()
    for x in range(0, 50, 5):
        tracks = tracker.update([at("mug", 400 - x), at("mug", x)])
    assert labelled(tracks) == [(1, "mug"), (2, "mug")]


def test_frames_that_jump_begin_new_tracks_and_end_the_old_ones() -> None:
    tracker = Tracker(patience=1)
    tracker.update([at("mug", 0), at("pan", 100)])
    shown = [labelled(tracker.update([at("mug", 300), at("pan", 500)])) for _ in range(2)]
    assert shown == [[(1, "mug"), (2, "pan"), (3, "mug"), (4, "pan")], [(3, "mug"), (4, "pan")]]


def test_a_box_and_the_whole_frame_with_the_same_label_are_listed_once() -> None:
    tracker = Tracker()
    for finds in ([at("mug", 50)], [find("mug", WHOLE), at(None, 50)], [find("mug", WHOLE)]):
        (track,) = tracker.update(finds)
        assert (track.number, track.box) == (1, (50, 100, 60, 60))


def test_what_is_unknown_is_listed_where_nothing_known_is_followed() -> None:
    tracker = Tracker()
    assert labelled(tracker.update([find("mug", WHOLE), at(None, 50)])) == [(1, "mug"), (2, None)]
    tracker = Tracker()
    tracker.update([at("mug", 50)])
    unsure = [find(None, WHOLE), at(None, 52), at(None, 60, 110, 40), at(None, 300)]
    assert [each.box[0] for each in tracker.update(unsure)] == [52, 300]


def test_numbers_are_not_used_again_after_a_reset() -> None:
    tracker = Tracker()
    tracker.update([at("mug", 50), at("pan", 300)])
    tracker.reset()
    assert tracker.update([]) == []
    assert labelled(tracker.update([at("mug", 50)])) == [(3, "mug")]


def test_tracks_are_bounded_and_boxes_without_an_area_do_no_harm() -> None:
    tracker, rng = Tracker(patience=1000), np.random.default_rng(0)
    nan = float("nan")
    for _ in range(5):
        odd = [find("mug", (nan, 0, 9, 9)), find("pan", (5, 5, 0, 0)), find(None, (5, 5, 0, 0))]
        boxes = rng.uniform(0, 600, (40, 2)).tolist()
        assert len(tracker.update([*odd, *(at("mug", x, y) for x, y in boxes)])) <= MOST_TRACKS
    assert len(tracker._followed) == MOST_TRACKS


@pytest.mark.parametrize("options", [{"patience": -1}, {"frames": 0}, {"sure": 1}])
def test_numbers_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(SpecError):
        Tracker(**options)  # type: ignore[arg-type]


def test_a_moving_object_is_one_track(lite0: Backbone, tmp_path: Path) -> None:
    learner, tracker = taught_home(lite0), Tracker()
    (tmp_path / "bright.onnx").write_bytes(bright_detector())
    learner.finder = f"onnx:{tmp_path / 'bright.onnx'},pixels=unit"
    mug = Image.open(home_picture("clean/mug_01/5")).resize((120, 120))
    for x in range(0, 250, 50):
        room = Image.new("RGB", (640, 480), (20, 20, 20))
        room.paste(mug, (x, 300))
        (track, *_) = tracker.update(learner.find(room))
        assert (track.number, track.announcement.label) == (1, "mug")
        assert track.box == pytest.approx((x, 300, 120, 120), abs=12)
        assert track.as_values()["label"] == "mug"
