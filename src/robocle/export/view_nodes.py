"""The views of a picture to recognise in an ONNX graph, and the mean over them."""

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from robocle.backbones.onnx_graph import GraphBuilder
from robocle.errors import SpecError
from robocle.images.views import Centre, Plain, Views

# Pillow rounds the weights of neighbouring pixels to this fraction.
WEIGHT_STEP = 2.0**-22
Neighbours = tuple[NDArray[np.int64], NDArray[np.float64]]
"""For each pixel of a row, one of the pixels that it is made of, and its weight."""


def add_views(builder: GraphBuilder, views: Views, side: int) -> int:
    """Make the graph of a backbone take all views of each picture, in one batch.

    Args:
        builder: Adds the nodes to the graph. Its input is `pixels`, (n, side, side, 3).
        views: The views.
        side: The side of a picture.

    Returns:
        The number of views. The batch has the first view of every picture, then the second.

    Raises:
        SpecError: The views cannot be exported.
    """
    if isinstance(views, Plain):
        return 1
    if not isinstance(views, Centre):
        raise SpecError(
            f"the views {type(views).__name__} cannot be exported: only plain and centre can"
        )
    pixels, looks = builder.graph.input[0].name, "robocle_views"
    for node in builder.graph.node:
        node.input[:] = [looks if name == pixels else name for name in node.input]
    with builder.at_the_start():
        each = [_look(builder, pixels, share, side) for share in views.looks]
        builder.node("Concat", *each, output=looks, axis=0)
    return len(each)


def add_mean(builder: GraphBuilder, embeddings: str, views: int) -> str:
    """Add the mean over the views of each picture.

    Args:
        builder: Adds the nodes.
        embeddings: The tensor with the embeddings of all views, (views * n, width).
        views: The number of views.

    Returns:
        The tensor with one embedding per picture.
    """
    if views == 1:
        return embeddings
    node, constant = builder.node, builder.constant
    parts = [f"{embeddings}_view_{number}" for number in range(views)]
    builder.graph.node.append(onnx.helper.make_node("Split", [embeddings], parts, axis=0))
    total = node("Sum", *parts)
    return node("Div", total, constant(np.array(views, np.float32)))


def _look(builder: GraphBuilder, pixels: str, share: float, side: int) -> str:
    """Add a look at the centre, as Pillow computes it: rows, then columns, rounded after each."""
    if share == 1:
        return pixels
    wide = builder.node("Cast", pixels, to=TensorProto.DOUBLE)
    for axis in (2, 1):
        wide = _resized(builder, wide, axis, _neighbours(share, side))
    return builder.node("Cast", wide, to=TensorProto.UINT8)


def _resized(builder: GraphBuilder, value: str, axis: int, neighbours: list[Neighbours]) -> str:
    node, constant = builder.node, builder.constant
    shape = [-1 if each == axis else 1 for each in range(4)]
    parts = [
        node(
            "Mul",
            node("Gather", value, constant(places), axis=axis),
            constant(weights.reshape(shape)),
        )
        for places, weights in neighbours
    ]
    half = constant(np.array(0.5))
    return node("Floor", node("Add", node("Add", *parts), half))


def _neighbours(share: float, side: int) -> list[Neighbours]:
    """Return the two pixels that each pixel of an enlarged row is made of, and their weights.

    Pillow puts the centre of pixel i at i + 1/2, and weighs by the distance from the point that is
    enlarged. It keeps the corners of the region in float32.
    """
    margin = side * (1 - share) / 2
    start, end = np.float32(margin), np.float32(side - margin)
    points = float(start) + (np.arange(side) + 0.5) * (float(end - start) / side)
    left = np.floor(points - 0.5)
    places = np.clip([left, left + 1], 0, side - 1)
    weights = np.maximum(1 - np.abs([left, left + 1] - points + 0.5), 0)
    rounded = np.floor(weights / WEIGHT_STEP + 0.5) * WEIGHT_STEP
    return list(zip(places.astype(np.int64), rounded, strict=True))
