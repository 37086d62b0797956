"""What the earlier map costs: `python benchmarks/bench_earlier_map.py`.

Each built-in backbone is timed as it is and without its earlier map, on one picture and one thread.
The last map must be the same to the bit.
"""

import argparse
from dataclasses import replace

import numpy as np
import onnx
from measuring import alternating, finish, report

from robocle.backbones.efficientnet_lite import LITE0, PUBLISHED, Published, build_model
from robocle.backbones.onnx_backbone import OnnxBackbone

LIMIT = 1.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="the smallest only, and limits do not count"
    )
    quick = parser.parse_args().quick
    for network in (LITE0,) if quick else PUBLISHED.values():
        compare(network, 5 if quick else 500)
    finish(demanding=not quick)


def compare(network: Published, rounds: int) -> None:
    manifest, model = network.manifest, build_model(network)
    ours = OnnxBackbone(manifest, model)
    graph = onnx.load_from_string(model)
    del graph.graph.output[1:]
    none = replace(manifest, earlier="", earlier_channels=0, earlier_positions=0)
    without = OnnxBackbone(none, graph.SerializeToString())
    shape = (1, manifest.input_size, manifest.input_size, 3)
    pixels = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    assert np.array_equal(ours.features(pixels).grid, without.features(pixels).grid)

    before, after = alternating(
        [lambda: without.features(pixels), lambda: ours.features(pixels)], rounds
    )
    print(f"{network.name}: {before * 1e3:.2f} ms without, {after * 1e3:.2f} ms with it")
    report(f"{network.name} with its earlier map", after / before, LIMIT, at_least=False)


if __name__ == "__main__":
    main()
