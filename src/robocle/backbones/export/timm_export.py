"""Networks of the timm collection, cut where timm itself ends its features.

Only `robocle backbones add` comes here.
"""

from functools import partial
from pathlib import Path
from typing import Any

import timm
import torch
from timm.data import resolve_model_data_config

from robocle.backbones.export.pixel_front import Normalisation
from robocle.backbones.export.torch_export import TorchNetwork
from robocle.backbones.export.weights_file import load_weights, read_weights
from robocle.backbones.onnx_backbone import one_line
from robocle.errors import BackboneError
from robocle.spec import suggestion


def timm_network(name: str, weights: str) -> TorchNetwork:
    """A timm network by its name, with the weights of a file or else its published ones."""
    _require_known(name)
    module = _from_file(name, Path(weights)) if weights else _published(name)
    prepared = resolve_model_data_config(module)
    _, height, width = prepared["input_size"]
    if height != width:
        raise BackboneError(f"timm:{name} takes {width}x{height} pictures: they must be square")
    return TorchNetwork(
        name=f"timm:{name}",
        module=module,
        feature_map=partial(_feature_map, module),
        input_size=height,
        normalisation=Normalisation(tuple(prepared["mean"]), tuple(prepared["std"])),
        licence="that of the file" if weights else _licence(module),
        prefix=getattr(module, "num_prefix_tokens", 0),
        has_token=getattr(module, "cls_token", None) is not None,
    )


def _feature_map(module: Any, pictures: Any) -> Any:
    maps = module.forward_features(pictures)
    if not torch.is_tensor(maps):
        raise BackboneError("its features are no single map")
    return maps


def _require_known(name: str) -> None:
    known = timm.list_models()
    if name.partition(".")[0] not in known and not name.startswith(("hf-hub:", "hf_hub:")):
        close = suggestion(name, known)
        advice = close if len(close) < 100 else "python -c 'import timm; print(timm.list_models())'"
        raise BackboneError(f"timm has no model {name!r}: {advice}")


def _published(name: str) -> Any:
    try:
        return timm.create_model(name, pretrained=True)
    except Exception as error:  # each of the places that timm downloads from fails in its own way
        raise BackboneError(
            f"cannot download the weights of timm:{name} ({one_line(error)}): fetch them in "
            f"another way and give them with robocle backbones add timm:{name} --weights FILE"
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
