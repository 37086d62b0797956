"""Adds a network of torchvision with random weights; tests run it as a separate process."""

import sys
from typing import Any


def load_torchvision() -> Any:
    """Import torchvision, even next to a torch that was built without its operators.

    The operators are for object detection, which no network here needs. But without their
    declarations the import fails.
    """
    import torch

    try:
        import torchvision
    except ImportError:
        sys.exit("torchvision is not installed")
    except RuntimeError:
        declared = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            declared.define(
                f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            )
        import torchvision

        torchvision.operators_declared_for_tests = declared  # they are removed with their library
    return torchvision


def add(name: str, weights: str) -> None:
    """Write random weights to a file and add the network with them."""
    import torch

    from robocle.cli import main

    torch.manual_seed(0)
    torch.save(load_torchvision().models.get_model(name).state_dict(), weights)
    main(["backbones", "add", name, "--weights", weights])


if __name__ == "__main__":
    add(*sys.argv[1:])
