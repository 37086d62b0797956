"""The front of a model: from uint8 pixels to the input that a network was trained with.

Normalising inside the model costs a tenth of what it costs in numpy, and no caller can do it
another way.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from robocle.errors import BackboneError
from robocle.spec import require_between

Triple = tuple[float, float, float]
IMAGENET_MEAN: Triple = (0.485, 0.456, 0.406)
IMAGENET_STD: Triple = (0.229, 0.224, 0.225)
MIN_SIZE, MAX_SIZE = 16, 1024


@dataclass(frozen=True)
class Normalisation:
    """How a network wants its pixels: (pixel - mean) / std, in red, green and blue."""

    mean: Triple = IMAGENET_MEAN
    std: Triple = IMAGENET_STD
    white: float = 1.0
    """What a white pixel is before mean and std are applied: 1 or 255."""
    order: str = "rgb"
    """The order of the network's channels, rgb or bgr; mean and std stand in the same order."""

    @property
    def unit_mean(self) -> Triple:
        """The mean of red, green and blue for pixels of 0..1."""
        return self._unit(self.mean)

    @property
    def unit_std(self) -> Triple:
        """The same of the deviation."""
        return self._unit(self.std)

    @property
    def pixel_unit(self) -> float:
        """How many levels of 0..255 are one unit of the network's input."""
        return 255 * sum(self.unit_std) / 3

    def _unit(self, values: Triple) -> Triple:
        first, second, third = (value / self.white for value in values)
        return (first, second, third) if self.order == "rgb" else (third, second, first)


@dataclass(frozen=True)
class PictureInput:
    """The input of a network, as its graph declares it."""

    name: str
    element: int
    channels_first: bool
    side: int


def picture_input(graph: onnx.GraphProto, size: int, name: str) -> PictureInput:
    """The one input of a graph, if a square picture can go into it."""
    constants = {constant.name for constant in graph.initializer}
    inputs = [each for each in graph.input if each.name not in constants]
    if len(inputs) != 1:
        names = ", ".join(each.name for each in inputs)
        raise BackboneError(f"{name} has {len(inputs)} inputs ({names}): a backbone has one")
    tensor = inputs[0].type.tensor_type
    shape = [dim.dim_value or dim.dim_param or "?" for dim in tensor.shape.dim]
    shown = f"{inputs[0].name}, {' x '.join(map(str, shape))}"
    if len(shape) != 4 or 3 not in (shape[1], shape[3]):
        raise BackboneError(
            f"the input of {name} ({shown}) takes no colour pictures: "
            "it must be n x 3 x height x width, or n x height x width x 3"
        )
    if tensor.elem_type not in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.UINT8):
        kind = TensorProto.DataType.Name(tensor.elem_type).lower()
        raise BackboneError(f"the input of {name} ({shown}) is {kind}: it must be float or uint8")
    channels_first = shape[1] == 3
    side = _side(shape[2:] if channels_first else shape[1:3], size, f"{name} ({shown})")
    return PictureInput(inputs[0].name, tensor.elem_type, channels_first, side)


def _side(declared: list[Any], size: int, shown: str) -> int:
    """The side of the square, from the graph or, where that leaves it open, as it was given."""
    fixed = {side for side in declared if isinstance(side, int)}
    if len(fixed) > 1:
        raise BackboneError(f"the input of {shown} is not square: robocle makes pictures square")
    if not fixed and not size:
        raise BackboneError(f"the input of {shown} leaves its size open: give size=, as size=224")
    side: int = fixed.pop() if fixed else size
    if size and side != size:
        raise BackboneError(f"the input of {shown} is {side} pixels wide, not size={size}")
    require_between("size", side, MIN_SIZE, MAX_SIZE)
    return side


def put_pixels_in_front(graph: onnx.GraphProto, taken: PictureInput, how: Normalisation) -> None:
    """Make the graph take uint8 pixels (n, side, side, 3) and normalise them."""
    front = _Front(graph)
    value = "pixels"
    if how.order == "bgr":
        value = front.node("Gather", value, front.constant(np.array([2, 1, 0])), axis=3)
    if taken.channels_first:  # while still uint8: a quarter of the memory traffic
        value = front.node("Transpose", value, perm=[0, 3, 1, 2])
    if taken.element != TensorProto.UINT8:
        value = front.normalised(value, how, taken)
    front.node("Identity", value, output=taken.name)
    front.close(taken)


class _Front:
    """Collects the nodes that go before a graph."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._nodes: list[onnx.NodeProto] = []

    def normalised(self, value: str, how: Normalisation, taken: PictureInput) -> str:
        shape = (3, 1, 1) if taken.channels_first else (3,)
        mean = np.array(how.mean, np.float64).reshape(shape) * 255 / how.white
        gain = how.white / 255 / np.array(how.std, np.float64).reshape(shape)
        value = self.node("Cast", value, to=TensorProto.FLOAT)
        value = self.node("Sub", value, self.constant(mean.astype(np.float32)))
        value = self.node("Mul", value, self.constant(gain.astype(np.float32)))
        if taken.element == TensorProto.FLOAT16:
            value = self.node("Cast", value, to=TensorProto.FLOAT16)
        return value

    def constant(self, value: NDArray[Any]) -> str:
        name = f"pixels_constant_{len(self._graph.initializer)}"
        self._graph.initializer.append(numpy_helper.from_array(value, name))
        return name

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"pixels_{kind.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def close(self, taken: PictureInput) -> None:
        """Put the nodes before those of the graph, and the pixels in the place of its input."""
        rest = list(self._graph.node)
        del self._graph.node[:], self._graph.input[:]
        self._graph.node.extend([*self._nodes, *rest])
        shape: list[str | int] = ["n", taken.side, taken.side, 3]
        pixels = helper.make_tensor_value_info("pixels", TensorProto.UINT8, shape)
        self._graph.input.append(pixels)
