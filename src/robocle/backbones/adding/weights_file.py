"""Loading weights from a checkpoint file into a PyTorch network, without running code in it.

Only `robocle backbones add` uses this module. A checkpoint is a pickle, and a pickle can run code,
so PyTorch is restricted to loading tensors.
"""

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from robocle.backbones.onnx_backbone import one_line
from robocle.errors import BackboneError

WRAPPERS = ("state_dict", "model", "model_state_dict", "state_dict_ema")
COUNTER = "num_batches_tracked"  # counts training steps and does not affect the features


def read_weights(path: Path) -> dict[str, Any]:
    """Read a checkpoint or safetensors file.

    Returns:
        The tensors by name.

    Raises:
        BackboneError: The file cannot be read, or contains anything but tensors.
    """
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            tree: Any = load_file(path)
        else:
            tree = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise BackboneError(f"cannot read {path}: {error.strerror or error}") from error
    except pickle.UnpicklingError as error:
        raise BackboneError(
            f"{path} contains something other than tensors, so loading it could run code: "
            "save the network's state_dict() instead"
        ) from error
    except Exception as error:  # a damaged file can fail in any way
        raise BackboneError(f"{path} is not a PyTorch checkpoint ({one_line(error)})") from error
    return _tensors(tree, path)


def _tensors(tree: Any, path: Path) -> dict[str, Any]:
    """Return the tensors without what training programs wrap around them."""
    for wrapper in WRAPPERS:
        if isinstance(tree, Mapping) and isinstance(tree.get(wrapper), Mapping):
            tree = tree[wrapper]
    if not isinstance(tree, Mapping) or not all(torch.is_tensor(t) for t in tree.values()):
        raise BackboneError(f"{path} is not a state_dict: it must contain tensors by name")
    if not tree:
        raise BackboneError(f"{path} contains no weights")
    return {str(name).removeprefix("module."): tensor for name, tensor in tree.items()}


def load_weights(
    network: Any, tensors: Mapping[str, Any], heads: str | tuple[str, ...], file: str, name: str
) -> None:
    """Load weights into a network. All must fit, except those of the classifier.

    Args:
        network: The PyTorch network.
        tensors: The weights by name.
        heads: The prefixes of the names of the classifier's weights, which are ignored.
        file: The file that the weights are from, for error messages.
        name: The name of the network, for error messages.

    Raises:
        BackboneError: A weight is missing, unexpected or of a different shape.
    """
    wanted = {n: t for n, t in network.state_dict().items() if not n.startswith(heads)}
    given = {n: t for n, t in tensors.items() if not n.startswith(heads)}
    misfits = _misfits(wanted, given)
    if misfits:
        more = f" (and {len(misfits) - 1} more)" if len(misfits) > 1 else ""
        raise BackboneError(
            f"{file} does not fit {name}: {misfits[0]}{more}: give weights of {name}"
        )
    network.load_state_dict(given, strict=False)


def _misfits(wanted: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    return [
        *(f"{n} is missing" for n in wanted if n not in given and not n.endswith(COUNTER)),
        *(f"{n} is unexpected" for n in given if n not in wanted),
        *(
            f"{n} is {_shape(given[n])}, not {_shape(wanted[n])}"
            for n in wanted
            if n in given and given[n].shape != wanted[n].shape
        ),
    ]


def _shape(tensor: Any) -> str:
    return " x ".join(map(str, tensor.shape)) or "one number"
