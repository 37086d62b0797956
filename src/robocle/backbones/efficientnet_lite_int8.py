"""EfficientNet-Lite in 8-bit integers, built from the published weights alone.

What other tools measure on pictures follows here from BatchNorm, which has learned the mean and the
deviation of every channel. So every machine builds the same model, without pictures.

- A ReLU6 is between 0 and 6. Any other value is at most four deviations from its mean.
- Rounding the weights of a convolution moves the mean of its output. The bias takes this back
  (Nagel et al. 2019, "Data-free quantization through weight equalization and bias correction").
- x86 processors without VNNI add the products of two neighbouring weights in 16 bits. The weights
  are scaled so that no such sum can overflow, and all processors compute the same integers.

Quantise and dequantise nodes (QDQ) stand around each convolution; ONNX Runtime replaces them with
its int8 kernels. The first convolutions stay in float, because rounding does the most harm there
and float costs the least time.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from robocle.backbones.efficientnet_lite_graph import RELU6, Network, Value, Weights, is_depthwise
from robocle.backbones.model_folder import Manifest

FLOAT_CONVOLUTIONS = 3
DEVIATIONS = 4.0
"""How far from the mean of a channel its values are represented."""
LEVELS, LARGEST = 255, 127
"""The steps of an activation, and the largest weight."""
LARGEST_BIAS = 2**30
Floats = NDArray[np.float64]
Moments = tuple[Floats, Floats]
"""The mean and the variance of each channel of a tensor."""


class Int8Network(Network):
    """Adds the layers of the network to a graph, most of them in 8-bit integers."""

    def __init__(self, weights: Weights, manifest: Manifest) -> None:
        super().__init__(weights, manifest)
        self._convolutions = 0
        self._moments: dict[str, Moments] = {}
        self._steps: dict[str, float] = {}
        """The step between two values of each quantised tensor."""

    def conv_block(
        self, value: Value, conv: str, norm: str, stride: int, *, relu6: bool, output: str = ""
    ) -> Value:
        mean, deviation = (
            self.weights[f"{norm}.{name}"].astype(np.float64) for name in ("bias", "weight")
        )
        moments = mean, deviation**2
        self._convolutions += 1
        if self._convolutions <= FLOAT_CONVOLUTIONS:
            found = super().conv_block(value, conv, norm, stride, relu6=relu6, output=output)
            self._moments[found.name] = moments
            return found
        if value.name not in self._steps:
            value = self._quantised(value, self._moments[value.name])
        kernel, bias = (each.astype(np.float64) for each in self.folded(conv, norm))
        constants = self._integers(kernel, bias, value.name, conv)
        convolved = self.convolved(value, constants, kernel.shape, stride)
        return self._quantised(convolved, moments, relu6=relu6, output=output)

    def added(self, value: Value, other: Value) -> Value:
        mean, variance = np.add(self._moments[value.name], self._moments[other.name])
        return self._quantised(super().added(value, other), (mean, variance))

    def _quantised(
        self, value: Value, moments: Moments, *, relu6: bool = False, output: str = ""
    ) -> Value:
        """Round a tensor to integers and back, and limit it to the range that they have.

        Args:
            value: The tensor.
            moments: Its mean and variance, before a ReLU6.
            relu6: Whether the range is that of a ReLU6, which then needs no node.
            output: The name of the new tensor.
        """
        low, high = (0.0, RELU6) if relu6 else _range(*moments)
        step = np.float32((high - low) / LEVELS)
        zero = np.uint8(round(-low / float(step)))
        facts = self.builder.constant(step), self.builder.constant(zero)
        integers = self.builder.node("QuantizeLinear", value.name, *facts)
        name = self.builder.node("DequantizeLinear", integers, *facts, output=output)
        self._steps[name] = float(step)
        self._moments[name] = (_mean_of_relu6(*moments), moments[1]) if relu6 else moments
        return Value(name, value.side, value.channels)

    def _integers(self, kernel: Floats, bias: Floats, value: str, conv: str) -> tuple[str, str]:
        """Add a kernel and a bias as integers, with one scale per channel of the output."""
        step, mean = self._steps[value], self._moments[value][0]
        scales = _scales(kernel, bias, step)
        wide = scales.astype(np.float64)
        rows = np.rint(kernel / wide[:, None, None, None])
        rounding = (rows * wide[:, None, None, None] - kernel).sum(axis=(2, 3))
        moved = rounding[:, 0] * mean if is_depthwise(kernel.shape) else rounding @ mean
        biases = np.rint((bias - moved) / (wide * step))
        return (
            self._dequantised(rows.astype(np.int8), scales, f"{conv}.kernel"),
            self._dequantised(biases.astype(np.int32), scales * np.float32(step), f"{conv}.bias"),
        )

    def _dequantised(
        self, integers: NDArray[np.generic], scales: NDArray[np.float32], name: str
    ) -> str:
        builder = self.builder
        return builder.node(
            "DequantizeLinear",
            builder.constant(integers, name),
            builder.constant(scales, f"{name}_scale"),
            builder.constant(np.zeros(len(scales), integers.dtype), f"{name}_zero"),
            axis=0,
        )


def _range(mean: Floats, variance: Floats) -> tuple[float, float]:
    """Return the range of all channels; it contains 0, which the padding needs."""
    reach = DEVIATIONS * np.sqrt(variance)
    return min(0.0, float((mean - reach).min())), max(0.0, float((mean + reach).max()))


def _mean_of_relu6(mean: Floats, variance: Floats) -> Floats:
    """Return the mean of normally distributed values that are limited to 0..6."""
    deviation = np.sqrt(variance).clip(min=1e-12)
    low, high = -mean / deviation, (RELU6 - mean) / deviation
    inside = mean * (ndtr(high) - ndtr(low)) + deviation * (_density(low) - _density(high))
    found: Floats = inside + RELU6 * ndtr(-high)
    return found


def _density(values: Floats) -> Floats:
    """Return the density of the standard normal distribution."""
    found: Floats = np.exp(-0.5 * values**2) / np.sqrt(2 * np.pi)
    return found


def _scales(kernel: Floats, bias: Floats, step: float) -> NDArray[np.float32]:
    """Return the value of one step of the integer weights, for each channel of the output."""
    sizes = np.abs(kernel)
    largest = sizes.max(axis=(1, 2, 3))
    if not is_depthwise(kernel.shape):
        largest = np.maximum(largest, (sizes[:, :-1] + sizes[:, 1:]).max(axis=(1, 2, 3)))
    # A channel whose weights are all but zero still has a bias, which must fit into an int32.
    least = np.abs(bias) / (step * LARGEST_BIAS)
    found = np.maximum(largest / LARGEST, least).astype(np.float32)
    return np.where(found > 0, found, np.float32(1))
