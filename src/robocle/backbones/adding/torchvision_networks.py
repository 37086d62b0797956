"""The paper's sixteen networks from torchvision, each cut off before its global pooling.

Only `robocle backbones add` uses this module. torchvision downloads its published weights. A
checkpoint file can be used instead, even one with another classifier, because the classifier is
not part of the backbone.
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
from torchvision.models.vision_transformer import interpolate_embeddings

from robocle.backbones.adding.graph_ends import Normalisation
from robocle.backbones.adding.torch_networks import TorchNetwork, load_weights, read_weights
from robocle.backbones.onnx_backbone import one_line
from robocle.errors import BackboneError
from robocle.spec import suggestion

LICENCE = "BSD-3-Clause (torchvision)"


@dataclass(frozen=True)
class _Family:
    """How the feature map of the networks of one family is computed."""

    head: str
    """The prefix of the names of the classifier's weights."""
    feature_map: Callable[[Any, Any], Any]
    """Computes the map before pooling, from a network and pictures."""
    prefix: int = 0
    """The number of prefix tokens, which precede the tokens of the positions."""


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
class SelectedWeights:
    """Weights that have been selected but not read yet."""

    read: Callable[[], dict[str, Any]]
    licence: str
    published: Any
    """The published weights with the same preprocessing."""


def own_size(name: str, weights: str) -> int:
    """Return the side of the input that weights were trained for.

    Args:
        name: The name of the network in torchvision.
        weights: The name of published weights, or a checkpoint file.

    Raises:
        BackboneError: The weights cannot be found.
    """
    (side,) = selected_weights(name, weights).published.transforms().crop_size
    return int(side)


def load_network(name: str, weights: str, size: int = 0) -> TorchNetwork:
    """Load one of the sixteen networks.

    Args:
        name: The name of the network in torchvision.
        weights: The name of published weights, which are downloaded, or a checkpoint file.
        size: The side of the input. 0 is the one that the weights were trained for.

    Raises:
        BackboneError: The weights cannot be found, downloaded or read, or do not fit.
    """
    selected = selected_weights(name, weights)
    family = next(family for prefix, family in FAMILIES.items() if name.startswith(prefix))
    preprocessing = selected.published.transforms()
    (side,) = preprocessing.crop_size
    tensors = selected.read()
    module = get_model(name, weights=None, **({"image_size": side} if family.prefix else {}))
    load_weights(module, tensors, family.head, weights, name)
    if size and family.prefix:
        module = _with_positions(module, name, size)
    return TorchNetwork(
        name=name,
        module=module,
        feature_map=partial(family.feature_map, module),
        input_size=size or side,
        normalisation=Normalisation(tuple(preprocessing.mean), tuple(preprocessing.std)),
        licence=selected.licence,
        prefix=family.prefix,
    )


def _with_positions(module: Any, name: str, size: int) -> Any:
    """Return a ViT for another size: its position embeddings are interpolated."""
    sized = get_model(name, weights=None, image_size=size)
    sized.load_state_dict(interpolate_embeddings(size, module.patch_size, module.state_dict()))
    return sized


def selected_weights(name: str, weights: str) -> SelectedWeights:
    """Return the weights of a model of torchvision, which are not read yet.

    Args:
        name: The name of the model in torchvision.
        weights: The name of published weights, or a checkpoint file.

    Raises:
        BackboneError: The weights cannot be found.
    """
    published = get_model_weights(name).__members__
    if weights in published:
        named = published[weights]
        licence = named.meta.get("license", LICENCE)
        return SelectedWeights(partial(_downloaded, name, named), licence, named)
    file = Path(weights)
    if not file.is_file():
        raise BackboneError(
            f"{weights} is neither a file nor the name of published weights of {name}: "
            f"{suggestion(weights, published)}"
        )
    first = next(iter(published.values()))
    return SelectedWeights(partial(read_weights, file), "that of the file", first)


def _downloaded(name: str, published: Any) -> dict[str, Any]:
    try:
        with contextlib.redirect_stdout(sys.stderr):
            tensors: dict[str, Any] = published.get_state_dict(
                progress=sys.stderr.isatty(), check_hash=True, weights_only=True
            )
    except (OSError, RuntimeError) as error:
        raise BackboneError(
            f"cannot download {published.url} ({one_line(error)}): obtain the file of {name} in "
            "another way and give it with --weights FILE"
        ) from error
    return tensors
