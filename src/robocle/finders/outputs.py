"""The outputs of detectors: their layouts, read as boxes in input pixels with scores.

Most exported detectors have one of these outputs:

    paddle       (n, 6): class, score, left, top, right, bottom       PaddleDetection, PicoDet
    torchvision  (n, 4) boxes, (n,) scores, (n,) classes              torchvision
    corners      (1, n, 6): left, top, right, bottom, score, class    YOLO with suppression inside
    centres      (1, 4 + classes, n): centre, size, scores            YOLO without it
    yolox        (1, n, 5 + classes): cell offsets, log sizes, objectness, scores    YOLOX
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from robocle.errors import FinderError

Layout = Literal["auto", "paddle", "torchvision", "corners", "centres", "yolox"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
Arrays = Sequence[NDArray[Any]]
Shape = Sequence[int | str | None]
Detections = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The corners of boxes in input pixels, (n, 4), and their scores, (n,)."""
STRIDES = (8, 16, 32)
"""Input pixels per cell of the three grids of YOLOX."""


def layout_of(shapes: Sequence[Shape]) -> Layout:
    """Return the layout of outputs with these shapes; "auto" if none of them fits.

    >>> layout_of([("n", 6), (1,)]), layout_of([(1, 300, 6)]), layout_of([(1, 84, 8400)])
    ('paddle', 'corners', 'centres')
    >>> layout_of([("n", 4), ("n",), ("n",)]), layout_of([(1, 1000)])
    ('torchvision', 'auto')
    """
    first = tuple(shapes[0])
    if len(first) == 2 and first[1] == 6:
        return "paddle"
    if sorted(map(len, shapes)) == [1, 1, 2] and any(tuple(each)[1:] == (4,) for each in shapes):
        return "torchvision"
    if len(first) == 3 and first[2] == 6:
        return "corners"
    if len(first) == 3 and isinstance(first[1], int) and first[1] >= 5:
        return "centres" if not isinstance(first[2], int) or first[1] < first[2] else "auto"
    return "auto"


def _paddle(outputs: Arrays, side: int) -> Detections:
    rows = _shaped(outputs[0], 2, 6)
    return rows[:, 2:], rows[:, 1]


def _torchvision(outputs: Arrays, side: int) -> Detections:
    boxes = next((each for each in outputs if each.ndim == 2), outputs[0])
    scores = next((each for each in outputs if each.ndim == 1 and each.dtype.kind == "f"), boxes)
    corners = _shaped(boxes, 2, 4)
    if scores.shape != (len(corners),):
        raise FinderError("its outputs have no score for each box")
    return corners, scores.astype(np.float64)


def _corners(outputs: Arrays, side: int) -> Detections:
    rows = _shaped(outputs[0], 3, 6)[0]
    return rows[:, :4], rows[:, 4]


def _centres(outputs: Arrays, side: int) -> Detections:
    rows = _shaped(outputs[0], 3)[0].T
    return _from_centres(rows[:, :4]), rows[:, 4:].max(axis=1)


def _yolox(outputs: Arrays, side: int) -> Detections:
    rows = _shaped(outputs[0], 3)[0]
    cells, strides = _cells(side)
    if len(rows) != len(cells):
        raise FinderError(f"it returns {len(rows)} boxes where YOLOX has {len(cells)}")
    middle = (rows[:, :2] + cells) * strides
    size = np.exp(np.minimum(rows[:, 2:4], 20)) * strides  # exp of more is beyond any picture
    boxes = _from_centres(np.hstack([middle, size]))
    return boxes, rows[:, 4] * rows[:, 5:].max(axis=1)


READERS: Mapping[Layout, Callable[[Arrays, int], Detections]] = {
    "paddle": _paddle,
    "torchvision": _torchvision,
    "corners": _corners,
    "centres": _centres,
    "yolox": _yolox,
}


def _cells(side: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the column and row of each cell of the three grids, and its stride."""
    grids = [np.indices((side // stride,) * 2).reshape(2, -1)[::-1].T for stride in STRIDES]
    strides = [np.full((len(grid), 1), stride) for grid, stride in zip(grids, STRIDES, strict=True)]
    return np.concatenate(grids).astype(np.float64), np.concatenate(strides).astype(np.float64)


def _from_centres(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    middle, half = boxes[:, :2], boxes[:, 2:] / 2
    return np.hstack([middle - half, middle + half])


def _shaped(array: NDArray[Any], axes: int, columns: int | None = None) -> NDArray[np.float64]:
    if array.ndim != axes or array.shape[-1] != (columns or array.shape[-1]):
        wanted = f"{axes} axes" + (f" and {columns} columns" if columns else "")
        raise FinderError(f"its output of shape {array.shape} does not have {wanted}")
    if axes == 3 and len(array) != 1:
        raise FinderError(f"its output of shape {array.shape} is not that of one picture")
    if not columns and min(array.shape[1:]) < 5:
        raise FinderError(f"its output of shape {array.shape} has no scores beside the boxes")
    return array.astype(np.float64)
