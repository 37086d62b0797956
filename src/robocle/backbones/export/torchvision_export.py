"""The paper's sixteen networks from torchvision, each cut at the map before its pooling.

Only `robocle backbones add` comes here. torchvision downloads its published weights by itself; a
checkpoint file does as well, also one with another classifier, since that is cut off.
"""

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torchvision.models import get_model, get_model_weights

from robocle.backbones.export.pixel_front import Normalisation
from robocle.backbones.export.torch_export import TorchNetwork
from robocle.backbones.export.weights_file import load_weights, read_weights
from robocle.backbones.onnx_backbone import one_line
from robocle.errors import BackboneError
from robocle.spec import suggestion

LICENCE = "BSD-3-Clause (torchvision)"


@dataclass(frozen=True)
class _Family:
    """How the networks of one kind are cut."""

    head: str
    """What the names of the classifier's weights begin with."""
    feature_map: Callable[[Any, Any], Any]
    """From a network and pictures to the map before pooling."""
    prefix: int = 0
    """Tokens before those of the positions."""


def _features(network: Any, pictures: Any) -> Any:
    return network.features(pictures)


def _residual_stages(network: Any, pictures: Any) -> Any:
    stem = network.maxpool(network.relu(network.bn1(network.conv1(pictures))))
    return network.layer4(network.layer3(network.layer2(network.layer1(stem))))


def _windows(network: Any, pictures: Any) -> Any:
    return network.norm(network.features(pictures))


def _tokens(network: Any, pictures: Any) -> Any:
    patches = network._process_input(pictures)
    token = network.class_token.expand(patches.shape[0], -1, -1)
    return network.encoder(torch.cat([token, patches], dim=1))


FAMILIES = {
    "mobilenet": _Family("classifier.", _features),
    "efficientnet": _Family("classifier.", _features),
    "resnet": _Family("fc.", _residual_stages),
    "swin": _Family("head.", _windows),
    "vit": _Family("heads.", _tokens, prefix=1),
}


@dataclass(frozen=True)
class _Weights:
    """Weights that were chosen, and not read yet."""

    read: Callable[[], dict[str, Any]]
    licence: str
    like: Any
    """The published weights whose way of preparing pictures holds for them."""


def torchvision_network(name: str, weights: str) -> TorchNetwork:
    """One of the sixteen with its published weights, by their name, or with those of a file."""
    chosen = _chosen(name, weights)
    how = next(family for prefix, family in FAMILIES.items() if name.startswith(prefix))
    prepared = chosen.like.transforms()
    (side,) = prepared.crop_size
    tensors = chosen.read()
    module = get_model(name, weights=None, **({"image_size": side} if how.prefix else {}))
    load_weights(module, tensors, how.head, weights, name)
    return TorchNetwork(
        name=name,
        module=module,
        feature_map=partial(how.feature_map, module),
        input_size=side,
        normalisation=Normalisation(tuple(prepared.mean), tuple(prepared.std)),
        licence=chosen.licence,
        prefix=how.prefix,
    )


def _chosen(name: str, weights: str) -> _Weights:
    published = get_model_weights(name).__members__
    if weights in published:
        chosen = published[weights]
        licence = chosen.meta.get("license", LICENCE)
        return _Weights(partial(_downloaded, name, chosen), licence, chosen)
    file = Path(weights)
    if not file.is_file():
        raise BackboneError(
            f"there is no weights file {weights}, and no published weights of {name} have this "
            f"name: {suggestion(weights, published)}"
        )
    like = next(iter(published.values()))
    return _Weights(partial(read_weights, file), "that of the file", like)


def _downloaded(name: str, published: Any) -> dict[str, Any]:
    watched = sys.stderr.isatty()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            tensors: dict[str, Any] = published.get_state_dict(
                progress=watched, check_hash=True, weights_only=True
            )
    except (OSError, RuntimeError) as error:
        raise BackboneError(
            f"cannot download {published.url} ({one_line(error)}): fetch that file in another way "
            f"and give it with robocle backbones add {name} --weights FILE"
        ) from error
    return tensors
