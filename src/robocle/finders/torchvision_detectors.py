"""The SSD detectors of torchvision, exported without their classes and without suppression.

Only `robocle finders add` uses this module. The model takes pictures from 0 to 1 and returns the
box of each anchor in pixels, its best score and that class. Which boxes are looked at is chosen
afterwards, as for every finder.
"""

from typing import Any

import torch
from torchvision.models import get_model, list_models
from torchvision.models.detection.image_list import ImageList

from robocle.backbones.adding.torch_networks import (
    OPSET,
    load_weights,
    quietly,
    remove_annotations,
)
from robocle.backbones.adding.torchvision_networks import selected_weights
from robocle.backbones.onnx_backbone import one_line
from robocle.errors import FinderError
from robocle.spec import suggestion


def exported(name: str, weights: str) -> bytes:
    """Return a detector as an ONNX model.

    Args:
        name: Its name in torchvision, such as "ssdlite320_mobilenet_v3_large".
        weights: The name of published weights, which are downloaded, or a checkpoint file.

    Raises:
        FinderError: There is no such detector, or it cannot be exported.
        BackboneError: The weights cannot be found, downloaded or read, or do not fit.
    """
    known = list_models(include="ssd*")
    if name not in known:
        raise FinderError(
            f"torchvision has no SSD detector {name!r} (export another one, and use it as "
            f"onnx:FILE): {suggestion(name, known)}"
        )
    network: Any = get_model(name, weights=None, weights_backbone=None)
    load_weights(network, selected_weights(name, weights).read(), (), weights, name)
    try:
        return _exported(network.eval())
    except Exception as error:  # a network that cannot be traced can fail in any way
        raise FinderError(f"cannot export {name}: {one_line(error)}") from error


def _exported(network: Any) -> bytes:
    height, width = network.transform.fixed_size
    picture = torch.zeros(1, 3, height, width)
    with quietly(), torch.no_grad():
        program: Any = torch.onnx.export(
            _boxes_module(network, picture),
            (picture,),
            dynamo=True,
            verbose=False,
            opset_version=OPSET,
            input_names=["pictures"],
            output_names=["boxes", "scores", "classes"],
        )
    model = program.model_proto
    remove_annotations(model)
    content: bytes = model.SerializeToString()
    return content


def _boxes_module(network: Any, picture: Any) -> Any:
    """Return a module that computes the box, the best score and its class of each anchor."""
    maps = list(network.backbone(picture).values())
    (anchors,) = network.anchor_generator(ImageList(picture, [picture.shape[2:]]), maps)
    how = network.transform
    mean, std = (torch.tensor(each).view(3, 1, 1) for each in (how.image_mean, how.image_std))

    def forward(_: Any, pictures: Any) -> tuple[Any, Any, Any]:
        found = network.head(list(network.backbone((pictures - mean) / std).values()))
        boxes = network.box_coder.decode_single(found["bbox_regression"][0], anchors)
        scores, classes = found["cls_logits"][0].softmax(-1)[:, 1:].max(-1)
        return boxes, scores, classes

    module = type("Boxes", (torch.nn.Module,), {"forward": forward})()
    module.network = network
    return module.eval()
