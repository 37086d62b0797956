"""A detector of torchvision is exported once, and then finds the same boxes without PyTorch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from command_line import run
from refusal import Refusal
from robocle.errors import BackboneError, FinderError, SpecError
from robocle.finders import finder
from robocle.finders.adding import add_finder, added_finders

NAME = "ssdlite320_mobilenet_v3_large"
SPEC = f"torchvision:{NAME}"


@pytest.fixture
def network(torchvision: Any) -> Any:
    import torch

    torch.manual_seed(0)
    made = torchvision.models.get_model(NAME, weights=None, weights_backbone=None).eval()
    for module in made.head.classification_head.modules():
        if isinstance(module, torch.nn.Conv2d):
            torch.nn.init.normal_(module.weight, std=0.3)
    return made


@pytest.mark.exhaustive
def test_an_added_detector_finds_the_boxes_of_pytorch(
    network: Any, cache: Path, tmp_path: Path, refusal: Refusal
) -> None:
    import torch

    torch.save(network.state_dict(), tmp_path / "weights.pth")
    assert "added" in run("finders", "add", SPEC, "--weights", tmp_path / "weights.pth").stdout
    assert SPEC in run("finders").stdout
    pixels = np.random.default_rng(0).integers(0, 256, (320, 320, 3), np.uint8)
    found = finder(f"{SPEC},threshold=0").corners(pixels) * 320
    boxes, scores = _of_pytorch(network, torch.from_numpy(pixels).permute(2, 0, 1) / 255)
    same = [int(np.abs(boxes - each).max(axis=1).argmin()) for each in found]
    assert sorted(same) == list(range(len(boxes)))
    assert_allclose(found, boxes[same], atol=0.05)
    assert (np.diff(scores[same]) < 1e-4).all()
    assert "--replace" in refusal(FinderError, lambda: add_finder(SPEC))
    (file,) = added_finders().values()
    file.write_bytes(file.read_bytes().replace(b"boxes", b"bOxes"))
    assert "damaged" in refusal(FinderError, lambda: finder(SPEC))


def _of_pytorch(network: Any, picture: Any) -> tuple[Any, Any]:
    """Return the box and the best score of each anchor, as torchvision computes them."""
    import torch

    with torch.inference_mode():
        images, _ = network.transform([picture])
        maps = list(network.backbone(images.tensors).values())
        found = network.head(maps)
        (anchors,) = network.anchor_generator(images, maps)
        boxes = network.box_coder.decode_single(found["bbox_regression"][0], anchors)
        scores = found["cls_logits"][0].softmax(-1)[:, 1:].amax(-1)
    return boxes.numpy(), scores.numpy()


def test_what_cannot_be_added_is_refused_in_one_line(
    torchvision: Any, cache: Path, refusal: Refusal
) -> None:
    assert "robocle finders add" in refusal(FinderError, lambda: finder(SPEC))
    assert "onnx:FILE" in refusal(SpecError, lambda: add_finder("onnx:model.onnx"))
    message = refusal(FinderError, lambda: add_finder("torchvision:ssdlite320"))
    assert NAME in message
    message = refusal(BackboneError, lambda: add_finder(SPEC, weights="none.pth"))
    assert "none.pth is neither a file" in message
