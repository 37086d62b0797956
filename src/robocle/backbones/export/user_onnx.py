"""Anyone's own network: an ONNX file, named in a spec.

    onnx:model.onnx,output=map,mean=0.5,std=0.5

The file is checked when it is loaded: what takes no pictures, gives no map or cannot be run is
refused with what is wrong with it. An ONNX model cannot run code, but a hostile one can ask for all
memory: run none of people you do not trust.
"""

import inspect
from pathlib import Path

import onnx

from robocle.backbones.export.pixel_front import IMAGENET_MEAN, IMAGENET_STD, Normalisation, Triple
from robocle.backbones.export.standard_model import Network, standard_model
from robocle.backbones.onnx_backbone import OnnxBackbone, one_line
from robocle.errors import BackboneError, SpecError
from robocle.spec import Spec, require_between, require_choice

IMAGENET = "imagenet"


class UserOnnx(OnnxBackbone):
    """Your own network from an ONNX file, checked before its first use."""

    def __init__(
        self,
        file: str,
        output: str = "",
        mean: str = IMAGENET,
        std: str = IMAGENET,
        white: float = 1,
        order: str = "rgb",
        size: int = 0,
        prefix: int = 0,
        threads: int = 1,
    ) -> None:
        if "," in str(Path(file).absolute()):
            raise SpecError(f"the path of {file} holds a comma, which separates options: rename it")
        require_choice("order", order, ("rgb", "bgr"))
        require_between("prefix", prefix, 0, 16)
        require_between("white", white, 1e-3, 1e5)
        self.file = str(Path(file).absolute())
        self.mean, self.std, self.white, self.order = mean, std, white, order
        self.output, self.size, self.prefix = output, size, prefix
        network = Network(
            name=Path(file).name,
            model=read_onnx(Path(file)),
            source=f"onnx file {Path(file).name}",
            licence="that of the file",
            normalisation=Normalisation(
                triple("mean", mean, IMAGENET_MEAN), triple("std", std, IMAGENET_STD), white, order
            ),
            output=output,
            size=size,
            prefix=prefix,
        )
        manifest, self._model = standard_model(network)
        super().__init__(manifest, self._model, threads)

    @property
    def name(self) -> str:
        """The spec that loads it again, wherever that is done."""
        options = inspect.signature(UserOnnx).parameters.items()
        given = {
            key: getattr(self, key)
            for key, option in options
            if key != "threads" and getattr(self, key) != option.default
        }
        bare = "" if "=" in self.file else given.pop("file")
        return str(Spec("onnx", given, bare))

    def model_bytes(self) -> bytes:
        """The serialised ONNX model."""
        return self._model


def read_onnx(path: Path) -> onnx.ModelProto:
    """The model in a file, with the weights that lie beside it."""
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
        raise BackboneError(f"{path} is not an ONNX model: it holds no graph")
    return model


def triple(option: str, text: str, imagenet: Triple) -> Triple:
    """Three numbers, one for each channel, or one for all.

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
            f"{option}={text} cannot be read: give one number, or three as 0.485/0.456/0.406"
        )
    for number in numbers:
        require_between(option, number, 1e-6 if option == "std" else -1e5, 1e5)
    first, second, third = numbers * (3 // len(numbers))
    return first, second, third
