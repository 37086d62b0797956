"""Detectors in ONNX files: their outputs, and files that are none."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from bright_detector import OUTPUTS, SIDE, bright_detector, constant_detector
from home_pictures import home_picture
from refusal import Refusal
from robocle.errors import FinderError, SpecError
from robocle.finders import FINDERS, finder
from robocle.finders.boxes import chosen
from robocle.finders.outputs import READERS
from robocle.images import read

SHARED = Path(__file__).parents[3] / "shared" / "data" / "detector" / "picodet.onnx"


@pytest.fixture
def bright() -> np.ndarray:
    """A dark picture with a bright region: 10 to 30 across, 20 to 50 down."""
    pixels = np.full((SIDE, SIDE, 3), 20, np.uint8)
    pixels[20:50, 10:30] = 250
    return pixels


@pytest.mark.parametrize("layout", OUTPUTS)
def test_the_box_is_found_whatever_the_layout_of_the_outputs(
    layout: str, bright: np.ndarray, tmp_path: Path
) -> None:
    (tmp_path / "model.onnx").write_bytes(bright_detector(layout))
    found = finder(f"onnx:{tmp_path / 'model.onnx'},pixels=unit")
    assert found.input_size == SIDE
    assert_allclose(found.corners(bright) * SIDE, [[10, 20, 30, 50]])
    assert FINDERS.describe(found).startswith(f"onnx:{tmp_path / 'model.onnx'},layout=auto")


def test_boxes_below_the_threshold_are_left_out(bright: np.ndarray, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(bright_detector())
    found = finder(f"onnx:{tmp_path / 'model.onnx'},threshold=0.95,pixels=unit")
    assert found.corners(bright).shape == (0, 4)


def test_the_fingerprint_is_that_of_the_file(tmp_path: Path) -> None:
    for name, layout in (("a", "paddle"), ("b", "paddle"), ("c", "corners")):
        (tmp_path / name).write_bytes(bright_detector(layout))
    a, b, c = (finder(f"onnx:{tmp_path / name}").fingerprint for name in "abc")
    assert a == b != c


def test_dense_outputs_have_a_centre_a_size_and_a_score_per_class() -> None:
    output = np.zeros((1, 4 + 3, 9), np.float32)
    output[0, :, 5] = 20, 30, 10, 20, 0.1, 0.7, 0.2
    corners, scores = READERS["centres"]([output], SIDE)
    assert_allclose(corners[5], [15, 20, 25, 40])
    assert scores[5] == pytest.approx(0.7)


def test_yolox_counts_from_the_cells_of_three_grids() -> None:
    cells = [(8, x, y) for y in range(8) for x in range(8)]
    cells += [(16, x, y) for y in range(4) for x in range(4)]
    cells += [(32, x, y) for y in range(2) for x in range(2)]
    output = np.zeros((1, len(cells), 5 + 2), np.float32)
    row = cells.index((16, 3, 1))
    output[0, row] = 0.5, 0.25, np.log(2), np.log(0.5), 0.8, 0.5, 0.25
    corners, scores = READERS["yolox"]([output], 64)
    assert_allclose(corners[row], [56 - 16, 20 - 4, 56 + 16, 20 + 4], rtol=1e-6)
    assert scores[row] == pytest.approx(0.4)


BOX = np.array([[0, 0.5, 1, 2, 30, 40]], np.float32)
WRONG = {
    "no detector": ([np.zeros((1, 1000), np.float32)], (1, 3, 64, 64), "", "no known layout"),
    "no picture": ([BOX], (1, 5), "", "takes no picture"),
    "no square": ([BOX], (1, 3, 48, 64), "", "not a square"),
    "another size": ([BOX], (1, 3, 64, 64), ",size=128", "leave out the size"),
    "another layout": ([BOX], (1, 3, 64, 64), ",layout=corners", "has not the layout corners"),
    "too few boxes": ([BOX[None]], (1, 3, 64, 64), ",layout=yolox", "has not the layout yolox"),
    "no scores": ([BOX[:, :4]], (1, 3, 64, 64), ",layout=torchvision", "no score for each box"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_model_that_is_no_such_detector_is_refused(
    case: str, refusal: Refusal, bright: np.ndarray, tmp_path: Path
) -> None:
    outputs, shape, options, reason = WRONG[case]
    path = tmp_path / "model.onnx"
    path.write_bytes(constant_detector(outputs, shape))
    message = refusal(FinderError, lambda: finder(f"onnx:{path}{options}").corners(bright))
    assert str(path) in message
    assert reason in message


SIZES = st.lists(st.integers(0, 9) | st.sampled_from([4, 6, 84]), max_size=3).map(tuple)
NUMBERS = st.sampled_from([np.nan, np.inf, -np.inf, 1e30, -5, 0, 0.5, 1, 70])
FLOATS, WHOLE = arrays(np.float32, SIZES, elements=NUMBERS), arrays(np.int64, SIZES)


@pytest.mark.parametrize("layout", READERS)
@given(outputs=st.lists(FLOATS | WHOLE, min_size=1, max_size=3))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_outputs_are_boxes_or_one_line(
    layout: str, outputs: list[np.ndarray], tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(constant_detector(outputs, (1, 3, 64, 64)))
    try:
        found = finder(f"onnx:{path},layout={layout}").corners(np.zeros((64, 64, 3), np.uint8))
    except FinderError as error:
        message = str(error)
    else:
        message, boxes = str(path), chosen(found, (640, 480), 8)
        assert len(boxes) <= 8
    assert str(path) in message
    assert "\n" not in message


def test_a_file_that_is_no_model_is_refused(refusal: Refusal, tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("no model")
    assert "text.onnx" in refusal(FinderError, lambda: finder(f"onnx:{tmp_path / 'text.onnx'}"))
    assert "No such file" in refusal(FinderError, lambda: finder(f"onnx:{tmp_path / 'none.onnx'}"))


@pytest.mark.parametrize("option", ["threshold=2", "layout=other", "pixels=grey", "size=-1"])
def test_options_out_of_range_are_refused(option: str, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(bright_detector())
    with pytest.raises(SpecError):
        finder(f"onnx:{tmp_path / 'model.onnx'},{option}")


@pytest.mark.skipif(not SHARED.is_file(), reason="needs a real detector")
def test_a_real_detector_finds_the_object() -> None:
    picture = home_picture("scale/mug_01/0")
    found = finder(f"onnx:{SHARED}")
    best = found.corners(read(picture, found.input_size).pixels)[0]
    assert_allclose(best * 224, [48, 97, 100, 163], atol=8)
