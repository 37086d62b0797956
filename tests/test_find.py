"""`Learner.find`: taught objects in the boxes of a finder."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bright_detector import bright_detector
from home_pictures import home_picture, taught_home
from robocle import Learner, NothingTaughtError, Prediction, SpecError
from robocle.backbones import Backbone
from robocle.learner.embedding import Embedding
from robocle.learner.finding import LEAST, Find, found, merged, with_best_box
from robocle.types import Pixels

WHOLE = (0.0, 0.0, 640.0, 480.0)


@pytest.fixture(scope="module")
def learner(lite0: Backbone) -> Learner:
    return taught_home(lite0)


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A dark room with a small mug at the left, as a file that is stored turned."""
    image = Image.new("RGB", (640, 480), (20, 20, 20))
    mug = Image.open(home_picture("clean/mug_01/5"))
    image.paste(mug.resize((120, 120)), (60, 300))
    exif = Image.Exif()
    exif[0x0112] = 6  # is shown turned by a quarter to the right
    image.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "room.png", exif=exif)
    return tmp_path / "room.png"


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "bright.onnx").write_bytes(bright_detector())
    return f"onnx:{tmp_path / 'bright.onnx'},pixels=unit"


def test_an_object_is_found_where_it_is(learner: Learner, room: Path, model: str) -> None:
    learner.finder = model
    for picture in (room, room.read_bytes(), Image.open(room)):
        (box, prediction), *_ = learner.find(picture)
        assert box == pytest.approx((60, 300, 120, 120), abs=12)
        assert (prediction.label, prediction.sure) == ("mug", True)
    upright = np.asarray(Image.open(room).transpose(Image.Transpose.ROTATE_270))
    assert learner.find(upright)[0].box == pytest.approx(box)
    x, y, side, height = box
    assert side == height
    around = (x - 0.1 * side, y - 0.1 * side, 1.2 * side, 1.2 * side)
    alone = learner.predict(room, box=around)
    assert prediction.scores == pytest.approx(alone.scores, abs=1e-5)


def test_a_prediction_looks_nearer_if_that_makes_the_picture_more_familiar(
    learner: Learner, room: Path, model: str
) -> None:
    learner.finder = None
    alone = learner.predict(room)
    rows = [learner.embed_for_prediction(room), None]
    learner.finder = model
    nearer = learner.predict(room)
    assert (alone.label, nearer.label) == (None, "mug")
    (x, y, side, _), _ = learner.find(room)[0]
    around = (x - 0.1 * side, y - 0.1 * side, 1.2 * side, 1.2 * side)
    rows[1] = learner.embed_for_prediction(room, box=around)
    both = learner.predict_embedding(np.mean([each.values for each in rows if each], axis=0))
    assert nearer.scores == pytest.approx(both.scores, abs=1e-5)
    learner.finder = Corners([(0.6, 0.1, 0.8, 0.4)])  # where it is dark
    assert learner.predict(room).scores == pytest.approx(alone.scores, abs=1e-5)
    assert learner.predict(room, box=around).nearest == "mug"


@pytest.mark.parametrize(("alone", "expected"), [(None, "strictly"), ("mug", "usual")])
def test_what_the_picture_alone_does_not_show_is_judged_more_strictly(
    alone: str | None, expected: str
) -> None:
    rows = [(WHOLE, Embedding(np.zeros(2, np.float32), "prediction")) for _ in range(2)]
    looks = iter([find(WHOLE, alone, 0.1), find(NEAR, "mug", 0.5), find(NEAR, "usual", 0.6)])

    def usual(_: Embedding) -> Prediction:
        seen = next(looks).prediction
        return replace(seen, familiarity=seen.confidence)

    def strictly(_: Embedding) -> Prediction:
        return replace(find(NEAR, "strictly", 0.6).prediction, familiarity=0.6)

    assert with_best_box(rows, usual, strictly).label == expected


def test_without_a_finder_only_the_whole_picture_is_looked_at(learner: Learner, room: Path) -> None:
    learner.finder = None
    (found,) = learner.find(room)
    assert found.box == WHOLE
    assert found.prediction.scores == pytest.approx(learner.predict(room).scores)


class Corners:
    """A finder that returns the same boxes for every picture."""

    fingerprint, input_size = "0", 32

    def __init__(self, corners: Sequence[Sequence[float]]) -> None:
        self._corners = np.array(corners, float)

    def corners(self, pixels: Pixels) -> np.ndarray:
        assert pixels.shape == (32, 32, 3)
        return self._corners


def test_hundreds_of_boxes_nan_and_boxes_outside_do_no_harm(learner: Learner, room: Path) -> None:
    rng = np.random.default_rng(0)
    many = rng.uniform(-2, 3, (500, 4))
    many[::7] = np.nan
    learner.finder = Corners([*many, (0.09, 0.62, 0.29, 0.88)])
    assert 1 <= len(learner.find(room, most=3)) <= 4
    learner.finder = Corners([])
    assert [found.box for found in learner.find(room)] == [WHOLE]


def test_numbers_out_of_range_and_a_learner_without_lessons_are_refused(
    learner: Learner, room: Path, lite0: Backbone
) -> None:
    for wrong in (0, 65):
        with pytest.raises(SpecError, match="most"):
            learner.find(room, most=wrong)
    with pytest.raises(NothingTaughtError):
        Learner(lite0).find(room)


# ---- which finds are listed


def find(box: tuple[float, ...], label: str | None, confidence: float) -> Find:
    known = {"mug": confidence}
    return Find(box, Prediction(label, confidence, known, "mug", confidence, known))  # type: ignore[arg-type]


NEAR, INSIDE, FAR = (10, 10, 50, 50), (15, 15, 30, 30), (300, 300, 50, 50)


MUG, NOTHING = find(NEAR, "mug", 0.9), find(WHOLE, None, 0.1)
TWICE = [MUG, find(INSIDE, "mug", 0.5), find(FAR, "mug", 0.8)]
LISTED = {
    "an object once": ([NOTHING, *TWICE], [NEAR, FAR]),
    "the smaller of equals": ([NOTHING, MUG, find(INSIDE, "mug", 0.95)], [INSIDE]),
    "unknown boxes last": ([NOTHING, find(FAR, None, 0.2), MUG], [NEAR, FAR]),
    "no unknown box in a known one": ([NOTHING, find(INSIDE, None, 0.2), MUG], [NEAR]),
    "the picture if no box has its label": ([find(WHOLE, "clock", 0.7), MUG], [NEAR, WHOLE]),
    "else only the box": ([find(WHOLE, "mug", 0.9), MUG], [NEAR]),
    "the picture if nothing is known": ([NOTHING, find(FAR, None, 0.1)], [WHOLE, FAR]),
}


@pytest.mark.parametrize("case", LISTED)
def test_each_object_is_listed_once_and_known_ones_first(case: str) -> None:
    finds, listed = LISTED[case]
    assert [each.box for each in merged(finds)] == listed


def test_in_a_frame_with_boxes_only_a_confident_label_is_known() -> None:
    seen = [find(WHOLE, "mug", 0.6), find(NEAR, "pan", 0.69), find(FAR, "pan", 0.7)]
    rows = [(each.box, number) for number, each in enumerate(seen)]

    def labels(rows: list[Any], least: float = LEAST) -> list[str | None]:
        finds = found(rows, lambda number: seen[number].prediction, least)  # type: ignore[call-overload]
        assert [each.prediction.nearest for each in finds] == ["mug"] * len(finds)
        return [each.prediction.label for each in finds]

    assert labels(rows) == ["pan", None]
    assert labels(rows[:1]) == ["mug"]
    assert labels(rows, least=0) == ["pan", "pan", "mug"]


def test_with_a_rate_of_1_nothing_in_a_frame_is_unknown(learner: Learner, room: Path) -> None:
    learner.finder = Corners([(0.6, 0.1, 0.8, 0.4), (0.1, 0.1, 0.3, 0.3)])  # where it is dark
    assert None in {each.prediction.label for each in learner.find(room, false_accept=0.5)}
    assert None not in {each.prediction.label for each in learner.find(room, false_accept=1)}
