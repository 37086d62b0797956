"""A process of its own that adds one of torchvision's networks, with weights that it makes up."""

import sys

import torch

try:
    import torchvision
except ImportError:
    sys.exit("torchvision is not installed")
except RuntimeError:  # beside a torch that was built without its operators, as in conftest.py
    declared = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        declared.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

from robocle.cli import main

name, weights = sys.argv[1:]
torch.manual_seed(0)
torch.save(torchvision.models.get_model(name).state_dict(), weights)
main(["backbones", "add", name, "--weights", weights])
