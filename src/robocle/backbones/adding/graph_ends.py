"""The input and the outputs of a standard model.

The input is uint8 pixels, which are normalised inside the graph: that takes a tenth of the time it
takes in numpy, and no caller can do it differently. The outputs are the maps of the network in the
layouts that robocle reads, and nothing comes after them.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import onnx
from onnx import TensorProto

from robocle.backbones.onnx_graph import GraphBuilder, remove_unused
from robocle.errors import BackboneError
from robocle.spec import require_between

Triple = tuple[float, float, float]
ChannelOrder = Literal["rgb", "bgr"]
IMAGENET_MEAN: Triple = (0.485, 0.456, 0.406)
IMAGENET_STD: Triple = (0.229, 0.224, 0.225)
MIN_SIZE, MAX_SIZE = 16, 1024

THE_END = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Normalisation:
    """How a network expects its pixels: (pixel - mean) / std per channel."""

    mean: Triple = IMAGENET_MEAN
    std: Triple = IMAGENET_STD
    white: float = 1.0
    """The value of a white pixel before mean and std are applied: 1 or 255."""
    order: ChannelOrder = "rgb"
    """The order of the network's channels. Mean and std are in the same order."""

    @property
    def unit_mean(self) -> Triple:
        """The mean in the order red, green, blue, for pixels from 0 to 1."""
        return self._unit(self.mean)

    @property
    def unit_std(self) -> Triple:
        """The standard deviation in the order red, green, blue, for pixels from 0 to 1."""
        return self._unit(self.std)

    @property
    def pixel_unit(self) -> float:
        """How many levels of 0..255 make one unit of the network's input."""
        return 255 * sum(self.unit_std) / 3

    def _unit(self, values: Triple) -> Triple:
        first, second, third = (value / self.white for value in values)
        return (first, second, third) if self.order == "rgb" else (third, second, first)


@dataclass(frozen=True)
class PictureInput:
    """The input of a network, as its graph declares it."""

    name: str
    element: int
    """The element type, such as `TensorProto.FLOAT`."""
    channels_first: bool
    side: int
    own_side: int
    """The side that the graph declares; 0 if it leaves it open."""


def picture_input(graph: onnx.GraphProto, size: int, name: str) -> PictureInput:
    """Return the one input of a graph.

    Args:
        graph: The graph of a network.
        size: The side of the input, needed where the graph leaves it open. 0 is the declared one.
        name: The name of the network, for error messages.

    Raises:
        BackboneError: The graph does not take one square colour picture.
    """
    declared = _only_input(graph, name)
    tensor = declared.type.tensor_type
    shape = [dim.dim_value or dim.dim_param or "?" for dim in tensor.shape.dim]
    shown = f"{declared.name}, {' x '.join(map(str, shape))}"
    if len(shape) != 4 or 3 not in (shape[1], shape[3]):
        raise BackboneError(
            f"the input of {name} ({shown}) is not a colour picture: "
            "it must be n x 3 x height x width, or n x height x width x 3"
        )
    if tensor.elem_type not in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.UINT8):
        kind = TensorProto.DataType.Name(tensor.elem_type).lower()
        raise BackboneError(f"the input of {name} ({shown}) is {kind}: it must be float or uint8")
    channels_first = shape[1] == 3
    own_side = _declared_side(shape[2:] if channels_first else shape[1:3], f"{name} ({shown})")
    side = size or own_side
    if not side:
        raise BackboneError(
            f"the input of {name} ({shown}) has no fixed size: give one, as in size=224"
        )
    require_between("size", side, MIN_SIZE, MAX_SIZE)
    return PictureInput(declared.name, tensor.elem_type, channels_first, side, own_side)


def _only_input(graph: onnx.GraphProto, name: str) -> onnx.ValueInfoProto:
    constants = {constant.name for constant in graph.initializer}
    inputs = [each for each in graph.input if each.name not in constants]
    if len(inputs) != 1:
        names = ", ".join(each.name for each in inputs)
        raise BackboneError(
            f"{name} has {len(inputs)} inputs ({names}): a backbone must have exactly one"
        )
    found: onnx.ValueInfoProto = inputs[0]
    return found


def _declared_side(declared: list[int | str], shown: str) -> int:
    """Return the side of the square that the graph declares; 0 if it leaves it open."""
    fixed = {side for side in declared if isinstance(side, int)}
    if len(fixed) > 1:
        raise BackboneError(
            f"the input of {shown} is not square: robocle resizes every picture to a square"
        )
    return fixed.pop() if fixed else 0


def take_pixels(graph: onnx.GraphProto, taken: PictureInput, how: Normalisation) -> None:
    """Make a graph take uint8 RGB pixels (n, side, side, 3) and normalise them.

    Args:
        graph: The graph to change.
        taken: Its input so far.
        how: How the network expects its pixels.
    """
    del graph.input[:]
    builder = GraphBuilder(graph, "pixels_")
    builder.add_input("pixels", TensorProto.UINT8, taken.side, taken.side, 3)
    with builder.at_the_start():
        value = "pixels"
        if how.order == "bgr":
            turned = builder.constant(np.array([2, 1, 0], np.int64))
            value = builder.node("Gather", value, turned, axis=3)
        if taken.channels_first:  # while still uint8, which moves a quarter of the bytes
            value = builder.node("Transpose", value, perm=[0, 3, 1, 2])
        if taken.element != TensorProto.UINT8:
            value = _normalised(builder, value, how, taken)
        builder.node("Identity", value, output=taken.name)


def _normalised(builder: GraphBuilder, value: str, how: Normalisation, taken: PictureInput) -> str:
    shape = (3, 1, 1) if taken.channels_first else (3,)
    mean = np.array(how.mean, np.float64).reshape(shape) * 255 / how.white
    gain = how.white / 255 / np.array(how.std, np.float64).reshape(shape)
    value = builder.node("Cast", value, to=TensorProto.FLOAT)
    value = builder.node("Sub", value, builder.constant(mean.astype(np.float32)))
    value = builder.node("Mul", value, builder.constant(gain.astype(np.float32)))
    if taken.element == TensorProto.FLOAT16:
        value = builder.node("Cast", value, to=TensorProto.FLOAT16)
    return value


@dataclass(frozen=True)
class FeatureMap:
    """A tensor of a graph that is a feature map."""

    name: str
    shape: tuple[int, ...]
    """Shape for one picture: (channels, rows, columns), (rows, columns, channels) or
    (tokens, channels)."""
    dtype: str
    """Its numpy dtype: "float32", "float16", ..."""
    prefix: int
    """How many tokens precede those of the positions; 0 if it does not consist of tokens."""

    @property
    def channels_first(self) -> bool:
        """Whether the shape is (channels, rows, columns)."""
        return len(self.shape) == 3 and self.shape[1] == self.shape[2]

    @property
    def channels(self) -> int:
        """The number of channels."""
        return self.shape[0] if self.channels_first else self.shape[-1]

    @property
    def positions(self) -> int:
        """The number of positions."""
        return math.prod(self.shape) // self.channels - self.prefix


def is_map(shape: tuple[int, ...], prefix: int) -> bool:
    """Return whether a tensor holds one feature vector per position of a square grid.

    Args:
        shape: The shape of the tensor for one picture, without the batch axis.
        prefix: How many tokens precede those of the positions.

    Example:
        >>> is_map((512, 7, 7), 0), is_map((7, 7, 768), 0), is_map((197, 768), 1)
        (True, True, True)
        >>> is_map((512, 1, 1), 0), is_map((1000,), 0), is_map((197, 768), 0)
        (False, False, False)
    """
    if len(shape) == 3 and not prefix:
        return shape[1] > 1 and shape[1] in (shape[0], shape[2])
    positions = shape[0] - prefix if len(shape) == 2 else 0
    return positions > 1 and math.isqrt(positions) ** 2 == positions


def end_at_maps(
    graph: onnx.GraphProto, last: FeatureMap, earlier: FeatureMap | None, has_token: bool
) -> None:
    """Make a graph end at its maps: outputs `feature_map`, and `token` and `earlier_map` if any.

    Args:
        graph: The graph to change.
        last: Its last map.
        earlier: Its earlier map, if it has one.
        has_token: Whether the first token of the last map is a class token.
    """
    del graph.output[:]
    builder = GraphBuilder(graph)
    value = _add_map(builder, "feature", last)
    if has_token:
        first = builder.constant(np.int64(0), "token_place")
        builder.node("Gather", value, first, output="token", axis=1)
        builder.add_output("token", TensorProto.FLOAT, last.channels)
    if earlier:
        _add_map(builder, "earlier", earlier)
    remove_unused(graph)


def _add_map(builder: GraphBuilder, stem: str, maps: FeatureMap) -> str:
    """Output a map, and return the name of its tensor as float32 in the network's own layout.

    What is no grid with its channels first is output as one position per row.
    """
    value, output = maps.name, f"{stem}_map"
    shape = maps.shape if maps.channels_first else (maps.positions, maps.channels)
    if maps.dtype != "float32":
        value = builder.node("Cast", value, output=f"{stem}_float", to=TensorProto.FLOAT)
    if maps.channels_first:
        builder.node("Identity", value, output=output)
    elif len(maps.shape) == 3:
        rows = builder.constant(np.array([0, *shape], np.int64), f"{stem}_rows")
        builder.node("Reshape", value, rows, output=output)
    else:
        bounds = {"start": maps.prefix, "end": THE_END, "axis": 1}
        names = [
            builder.constant(np.array([bound], np.int64), f"{stem}_{name}")
            for name, bound in bounds.items()
        ]
        builder.node("Slice", value, *names, output=output)
    builder.add_output(output, TensorProto.FLOAT, *shape)
    return value
