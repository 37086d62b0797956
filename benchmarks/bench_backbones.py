"""Added networks in ONNX Runtime against PyTorch: `python benchmarks/bench_backbones.py`.

Both compute the map of one picture from uint8 pixels, on one thread. The weights are random: the
speed does not depend on them.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measuring import alternating, finish, report

from robocle.backbones.names import ARCHITECTURES
from robocle.backbones.onnx_backbone import OnnxBackbone

CONVOLUTIONAL = [name for name in ARCHITECTURES if name.startswith(("mobile", "efficient", "res"))]
QUICK = ["mobilenet_v3_small", "resnet18"]
SECONDS = 12
declared: list[Any] = []


def load_torchvision() -> Any:
    """Import torchvision, even next to a torch without its operators, which are not needed here."""
    try:
        import torchvision
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        declared.append(library)  # its operators exist as long as it does
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision
    return torchvision


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these networks")
    parser.add_argument(
        "--quick", action="store_true", help="two small networks, and limits do not count"
    )
    given = parser.parse_args()
    torch.set_num_threads(1)
    torchvision = load_torchvision()
    for name in given.names or (QUICK if given.quick else CONVOLUTIONAL):
        with tempfile.TemporaryDirectory() as folder:
            weights = Path(folder) / "weights.pth"
            torch.manual_seed(0)
            torch.save(torchvision.models.get_model(name).state_dict(), weights)
            compare(name, str(weights), given.quick)
    finish(demanding=not given.quick)


def compare(name: str, weights: str, quick: bool) -> None:
    # Imported here because these modules import torchvision, which load_torchvision prepares.
    from robocle.backbones.adding.inspection import difference
    from robocle.backbones.adding.torch_networks import as_positions, export, reference
    from robocle.backbones.adding.torchvision_networks import load_network

    network = load_network(name, weights)
    manifest, model = export(network)
    ours = OnnxBackbone(manifest, model)
    side = ours.input_size
    pixels = np.random.default_rng(0).integers(0, 256, (1, side, side, 3), np.uint8)
    found = ours.features(pixels).grid[0]
    apart = difference(found, as_positions(reference(network, pixels)[0].numpy(), network.prefix))
    assert apart < 1e-3, f"{name} differs from PyTorch by {apart:.1e}"

    functions = [lambda: reference(network, pixels), lambda: ours.features(pixels)]
    once = sum(alternating(functions, 2))
    theirs, mine = alternating(functions, 3 if quick else max(10, int(SECONDS / once)))
    print(
        f"{name}: PyTorch {theirs * 1e3:.1f} ms, ours {mine * 1e3:.1f} ms, difference {apart:.0e}"
    )
    report(f"{name} against PyTorch", theirs / mine, 1.5, at_least=True)


if __name__ == "__main__":
    main()
