"""The int8 twin of the default backbone against the original: `python benchmarks/bench_int8.py`.

The twin is calibrated on some pictures of the rendered home and compared on the others.
"""

import argparse

import numpy as np
from measuring import finish, report

from robocle.backbones.adding.int8 import int8_sums_saturate, quantised
from robocle.backbones.efficientnet_lite import LITE0, EfficientNetLite0
from robocle.backbones.onnx_backbone import OnnxBackbone, model_of
from robocle.evaluation.backbones.int8 import Check, compared, pixel_batches
from robocle.evaluation.datasets import dataset

LEAST_COSINE = 0.98


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="few pictures, and limits do not count"
    )
    quick = parser.parse_args().quick
    examples = dataset("home").examples()
    order = np.random.default_rng(0).permutation(len(examples))
    calibrated = {examples[index].path for index in order[: 16 if quick else 100]}
    others = [example for example in examples if example.path not in calibrated]
    check = Check(tuple(others), "the rendered home")
    original = EfficientNetLite0()
    model = model_of(original)
    manifest, small = quantised(LITE0.manifest, model, pixel_batches(sorted(calibrated), 224))
    sizes = (len(model), len(small))
    found = compared(original, OnnxBackbone(manifest, small), sizes, check, lambda items, _: items)
    assert found.cosine > LEAST_COSINE or int8_sums_saturate(), f"cosine {found.cosine:.4f}"
    before, after = found.accuracies.mean(axis=0)
    print(f"int8, {found.checked_on}: cosine {found.cosine:.4f}, "
          f"accuracy {before:.1f} % before, {after:.1f} % after")  # fmt: skip
    report("speed, one picture, one thread", found.speed, 1.5, at_least=True)
    report("size", found.size, 0.33, at_least=False)
    report("points of accuracy lost", found.lost, 1, at_least=False, unit="")
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
