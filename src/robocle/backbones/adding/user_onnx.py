"""A user's own network: an ONNX file, named in a spec.

    onnx:model.onnx,output=map,mean=0.5,std=0.5

The file is checked when it is loaded. A network that does not take pictures, has no feature map or
cannot be run is refused with a message that says why. An ONNX model cannot run code, but a hostile
one can exhaust the memory: do not run models from people you do not trust.
"""

import inspect
from pathlib import Path

import onnx

from robocle.backbones.added import keep_given
from robocle.backbones.adding.graph_ends import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    ChannelOrder,
    Normalisation,
    Triple,
)
from robocle.backbones.adding.standard_model import MAX_PREFIX, Network, model_of_size
from robocle.backbones.onnx_backbone import OnnxBackbone, one_line
from robocle.errors import BackboneError, SpecError
from robocle.spec import Spec, require_between, require_choice

IMAGENET = "imagenet"
ORDERS: tuple[ChannelOrder, ...] = ("rgb", "bgr")


class UserOnnx(OnnxBackbone):
    """Your own network from an ONNX file, checked when it is loaded.

    Args:
        file: The ONNX file.
        output: The tensor that is the feature map. If empty, the first output that can be one.
        mean: What is subtracted from each channel: one number, three separated by slashes, or
            "imagenet".
        std: What each channel is divided by, in the same form as `mean`.
        white: The value of a white pixel before mean and std are applied: 1 or 255.
        order: The order of the network's channels. Mean and std are in the same order.
        size: The side of the input, needed where the graph leaves it open. 0 is the declared one;
            another one works where nothing in the graph depends on it.
        prefix: How many tokens of a transformer precede those of the positions. The first of these
            is the class token.
        earlier: The tensor that is the earlier map, or "none". If empty, one is looked for.
        threads: The number of CPU threads.

    Raises:
        BackboneError: The file cannot be read or cannot be used as a backbone.
        SpecError: An option has an invalid value.
    """

    def __init__(
        self,
        file: str,
        output: str = "",
        mean: str = IMAGENET,
        std: str = IMAGENET,
        white: float = 1,
        order: ChannelOrder = "rgb",
        size: int = 0,
        prefix: int = 0,
        earlier: str = "",
        threads: int = 1,
    ) -> None:
        if "," in str(Path(file).absolute()):
            raise SpecError(
                f"the path of {file} contains a comma, which separates options: rename it"
            )
        require_choice("order", order, ORDERS)
        require_between("prefix", prefix, 0, MAX_PREFIX)
        require_between("white", white, 1e-3, 1e5)
        self.file = str(Path(file).absolute())
        self.mean, self.std, self.white = mean, std, white
        self.order: ChannelOrder = order
        self.output, self.size, self.prefix, self.earlier = output, size, prefix, earlier
        manifest, self._model = model_of_size(self._network(Path(file)))
        keep_given(manifest, self._model)
        super().__init__(manifest, self._model, threads)

    def _network(self, path: Path) -> Network:
        mean = triple("mean", self.mean, IMAGENET_MEAN)
        std = triple("std", self.std, IMAGENET_STD)
        return Network(
            name=path.name,
            model=read_onnx(path),
            source=f"onnx file {path.name}",
            licence="that of the file",
            normalisation=Normalisation(mean, std, self.white, self.order),
            output=self.output,
            size=self.size,
            prefix=self.prefix,
            earlier=self.earlier,
        )

    @property
    def name(self) -> str:
        """The spec that loads it again, from any directory."""
        options = inspect.signature(UserOnnx).parameters.items()
        given = {
            key: getattr(self, key)
            for key, option in options
            if key != "threads" and getattr(self, key) != option.default
        }
        bare = "" if "=" in self.file else given.pop("file")
        return str(Spec("onnx", given, bare))

    def model_bytes(self) -> bytes:
        """Return the serialised ONNX model."""
        return self._model


def read_onnx(path: Path) -> onnx.ModelProto:
    """Read a model, including weights that it keeps in other files of the same folder.

    Raises:
        BackboneError: The file or its weights cannot be read.
    """
    if path.exists() and not path.is_file():  # reading a pipe or a device may never end
        raise BackboneError(f"{path} is not a regular file: give an ONNX file")
    try:
        model = onnx.load(path, load_external_data=False)
        onnx.load_external_data_for_model(model, str(path.parent))
    except OSError as error:
        raise BackboneError(f"cannot read {path}: {error.strerror or error}") from error
    except onnx.checker.ValidationError as error:
        raise BackboneError(
            f"cannot read the weights that {path} keeps in another file: {one_line(error)}"
        ) from error
    except Exception as error:  # a damaged file can fail in any way
        raise BackboneError(f"{path} is not an ONNX model ({one_line(error)})") from error
    if not model.graph.node:
        raise BackboneError(f"{path} is not an ONNX model: it has no graph")
    return model


def triple(option: str, text: str, imagenet: Triple) -> Triple:
    """Parse one number per channel, or one for all channels.

    Args:
        option: The name of the option, for error messages.
        text: "0.5", "0.485/0.456/0.406" or "imagenet".
        imagenet: What "imagenet" stands for.

    Raises:
        SpecError: The text cannot be parsed, or a number is out of range.

    Example:
        >>> triple("std", "0.229/0.224/0.225", IMAGENET_STD)
        (0.229, 0.224, 0.225)
        >>> triple("mean", "0.5", IMAGENET_MEAN)
        (0.5, 0.5, 0.5)
    """
    if text == IMAGENET:
        return imagenet
    try:
        numbers = [float(number) for number in text.split("/")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 3):
        raise SpecError(
            f"cannot parse {option}={text}: give one number, or three as in 0.485/0.456/0.406"
        )
    for number in numbers:
        require_between(option, number, 1e-6 if option == "std" else -1e5, 1e5)
    first, second, third = numbers * (3 // len(numbers))
    return first, second, third
