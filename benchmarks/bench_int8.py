"""The default backbone in int8 against the original: `python benchmarks/bench_int8.py`.

One is the built-in `numbers=int8`. The other is the twin of `robocle backbones quantise`, which is
calibrated on some pictures of the rendered home. Both are compared on the others.
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
    built_in = EfficientNetLite0(numbers="int8")
    twins = (
        ("built in", built_in, model_of(built_in)),
        ("calibrated", OnnxBackbone(manifest, small), small),
    )
    for name, twin, twin_model in twins:
        sizes = (len(model), len(twin_model))
        found = compared(original, twin, sizes, check, lambda items, _: items)
        is_exact = name == "built in" or not int8_sums_saturate()
        assert found.cosine > LEAST_COSINE or not is_exact, f"cosine {found.cosine:.4f}"
        before, after = found.accuracies.mean(axis=0)
        print(f"{name}, {found.checked_on}: cosine {found.cosine:.4f}, "
              f"accuracy {before:.1f} % before, {after:.1f} % after")  # fmt: skip
        report(f"{name}: speed, one picture, one thread", found.speed, 1.5, at_least=True)
        report(f"{name}: size", found.size, 0.33, at_least=False)
        report(f"{name}: points of accuracy lost", found.lost, 1, at_least=False, unit="")
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
