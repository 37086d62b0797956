"""Networks of the timm collection, cut after timm's `forward_features`.

Only `robocle backbones add` uses this module.
"""

import re
from functools import partial
from pathlib import Path
from typing import Any

import timm
import torch
from timm.data import resolve_model_data_config

from robocle.backbones.export.pixel_input import Normalisation
from robocle.backbones.export.torch_export import TorchNetwork
from robocle.backbones.export.weights_file import load_weights, read_weights
from robocle.backbones.onnx_backbone import one_line
from robocle.errors import BackboneError
from robocle.spec import suggestion


def timm_network(name: str, weights: str) -> TorchNetwork:
    """Load a network of timm.

    Args:
        name: Its name in timm.
        weights: A checkpoint file. If empty, the published weights are downloaded.

    Raises:
        BackboneError: The network is unknown, its input is not square, or its weights cannot be
            downloaded or read, or do not fit.
    """
    _require_known(name)
    module = _from_file(name, Path(weights)) if weights else _published(name)
    config = resolve_model_data_config(module)
    _, height, width = config["input_size"]
    if height != width:
        raise BackboneError(
            f"timm:{name} takes {width}x{height} pictures: choose a network with a square input"
        )
    return TorchNetwork(
        name=f"timm:{name}",
        module=module,
        feature_map=partial(_feature_map, module),
        input_size=height,
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


def _require_known(name: str) -> None:
    if name.startswith(("hf-hub:", "hf_hub:")):
        _require_revision(name)
        return
    known = timm.list_models()
    if name.partition(".")[0] not in known:
        close = suggestion(name, known)
        advice = close if len(close) < 100 else "python -c 'import timm; print(timm.list_models())'"
        raise BackboneError(f"timm has no model {name!r}: {advice}")


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
