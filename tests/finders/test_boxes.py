"""Which boxes of a finder are looked at."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from refusal import Refusal
from robocle.errors import FinderError
from robocle.finders.boxes import chosen, looked_at

SIZE = (640, 480)


@given(arrays(np.float64, st.tuples(st.integers(0, 40), st.just(4))), st.integers(1, 64))
def test_whatever_a_finder_returns_the_boxes_are_few_and_inside_the_picture(
    corners: np.ndarray, most: int
) -> None:
    boxes = chosen(corners, SIZE, most)
    assert len(boxes) <= most
    for x, y, width, height in [*boxes, *(looked_at(box, SIZE) for box in boxes)]:
        assert 0 <= x <= x + width <= SIZE[0] + 1e-6
        assert 0 <= y <= y + height <= SIZE[1] + 1e-6
        assert min(width, height) >= 16


def test_a_box_that_is_about_the_same_as_a_likelier_one_is_left_out() -> None:
    corners = np.array([[0.1, 0.1, 0.4, 0.4], [0.12, 0.1, 0.42, 0.4], [0.5, 0.5, 0.8, 0.8]])
    assert [box[:2] for box in chosen(corners, (100, 100), 8)] == [(10, 10), (50, 50)]


@pytest.mark.parametrize(
    "corners", [(0, 0, 1, 1), (0.2, 0, 0.4, 1), (0.5, 0.5, 0.51, 0.9), (0.6, 0.6, 0.3, 0.3)]
)
def test_boxes_that_are_tiny_inverted_or_almost_the_picture_are_left_out(
    corners: tuple[float, ...],
) -> None:
    assert chosen(np.array([corners]), (100, 100), 8) == []


@pytest.mark.parametrize("wrong", [np.zeros((2, 3)), [1, 2], [[1, 2, 3, 4], [1]], "none", [None]])
def test_what_is_no_array_of_boxes_is_refused(wrong: object, refusal: Refusal) -> None:
    assert "boxes" in refusal(FinderError, lambda: chosen(wrong, SIZE, 8))  # type: ignore[arg-type]


def test_only_the_likeliest_of_thousands_of_boxes_are_considered() -> None:
    corners = np.random.default_rng(0).random((100_000, 4))
    corners[:, 2:] = corners[:, :2] + 0.2
    assert len(chosen(corners, SIZE, 8)) == 8
