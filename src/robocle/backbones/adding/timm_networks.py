"""Networks of the timm collection, cut after timm's `forward_features`.

Only `robocle backbones add` uses this module.
"""

import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import timm
import torch
from timm.data import resolve_model_data_config

from robocle.backbones.adding.graph_ends import Normalisation
from robocle.backbones.adding.torch_networks import (
    TorchNetwork,
    load_weights,
    quietly,
    read_weights,
)
from robocle.backbones.names import SIZES, split_size
from robocle.backbones.onnx_backbone import one_line
from robocle.errors import BackboneError, SpecError
from robocle.spec import suggestion

HUBS = ("hf-hub:", "hf_hub:")


def is_known(name: str) -> bool:
    """Return whether timm has a network of this name, with or without the name of its weights."""
    if name.partition(".")[0] not in timm.list_models():
        return False
    try:
        timm.get_pretrained_cfg(name)
    except RuntimeError:  # it has no weights of this name
        return False
    return True


def own_size(name: str, weights: str = "") -> int:
    """Return the side of a network's own input; 0 for one of a hub, which must be downloaded first.

    Raises:
        BackboneError: The network is unknown.
    """
    _require_known(name)
    return 0 if name.startswith(HUBS) else timm.get_pretrained_cfg(name).input_size[-1]


def load_network(name: str, weights: str, size: int = 0) -> TorchNetwork:
    """Load a network of timm.

    Args:
        name: Its name in timm.
        weights: A checkpoint file. If empty, the published weights are downloaded.
        size: The side of the input. 0 is the network's own.

    Raises:
        BackboneError: The network is unknown, its input is not square or cannot have the size, or
            its weights cannot be downloaded or read, or do not fit.
        SpecError: The size is not a multiple of the patch size.
    """
    _require_known(name)
    module = _from_file(name, Path(weights)) if weights else _published(name)
    config = resolve_model_data_config(module)
    _, height, width = config["input_size"]
    if height != width:
        raise BackboneError(
            f"timm:{name} takes {width}x{height} pictures: choose a network with a square input"
        )
    if size:
        _set_size(module, name, height, size)
    return TorchNetwork(
        name=f"timm:{name}",
        module=module,
        feature_map=partial(_feature_map, module),
        input_size=size or height,
        normalisation=Normalisation(tuple(config["mean"]), tuple(config["std"])),
        licence="that of the file" if weights else _licence(module),
        prefix=getattr(module, "num_prefix_tokens", 0),
        has_token=getattr(module, "cls_token", None) is not None,
    )


def _feature_map(module: Any, pictures: Any) -> Any:
    maps = module.forward_features(pictures)
    if not torch.is_tensor(maps):
        raise BackboneError("its features are not one single map")
    return maps


def _set_size(module: Any, name: str, own: int, size: int) -> None:
    """Prepare a network for another size of the input, and run it to see whether it takes it."""
    if size == own:
        raise BackboneError(f"timm:{name} takes {own}x{own} pictures by itself: leave out --size")
    resizable = hasattr(module, "set_input_size")
    if resizable:
        _require_whole_patches(module, name, size)
    try:
        with quietly(), torch.no_grad():
            if resizable:
                module.set_input_size(img_size=(size, size))
            module.eval().forward_features(torch.zeros(1, 3, size, size))
    except Exception as error:  # a network that takes only one size can fail in any way
        reason = one_line(error) or type(error).__name__
        raise BackboneError(
            f"timm:{name} takes only {own}x{own} pictures: leave out --size ({reason})"
        ) from error


def _require_whole_patches(module: Any, name: str, size: int) -> None:
    """Raise if patches do not cover the input: timm would leave out what is beyond the last one."""
    patch = max(module.patch_embed.patch_size)
    if size % patch:
        raise SpecError(
            f"size={size} is not a multiple of {patch}, the patch size of timm:{name}: "
            f"give a multiple of {math.lcm(patch, SIZES.step)}"
        )


def _require_known(name: str) -> None:
    if name.startswith(HUBS):
        _require_revision(name)
        return
    if is_known(name):
        return
    raise BackboneError(f"timm has no model {name!r}: {_advice(name)}")


def _advice(unknown: str) -> str:
    """Return what to do about an unknown name."""
    network, size = split_size(unknown)
    if size and is_known(network):
        return f"run robocle backbones add timm:{network} --size {size}"
    of_the_same_architecture = timm.list_pretrained(f"{unknown.partition('.')[0]}.*")
    close = suggestion(unknown, of_the_same_architecture or timm.list_models())
    return close if len(close) < 100 else "python -c 'import timm; print(timm.list_models())'"


def _require_revision(name: str) -> None:
    """Raise unless a model of a hub names a commit: without one, its owner could replace it."""
    if not re.fullmatch(r"[^@]+@[0-9a-f]{40}", name):
        raise BackboneError(
            f"timm:{name} names no commit, so it may change: give ...@ and the 40 digits of one"
        )


def _published(name: str) -> Any:
    try:
        return timm.create_model(name, pretrained=True)
    except Exception as error:  # each host that timm downloads from has exceptions of its own
        raise BackboneError(
            f"cannot download the weights of timm:{name} ({one_line(error)}): get them in another "
            f"way and run robocle backbones add timm:{name} --weights FILE"
        ) from error


def _from_file(name: str, file: Path) -> Any:
    tensors = read_weights(file)
    module = timm.create_model(name, pretrained=False)
    heads = module.pretrained_cfg.get("classifier") or "head"
    names = [heads] if isinstance(heads, str) else heads
    load_weights(module, tensors, tuple(f"{head}." for head in names), str(file), f"timm:{name}")
    return module


def _licence(module: Any) -> str:
    return module.pretrained_cfg.get("license") or "see the model's page at timm"
