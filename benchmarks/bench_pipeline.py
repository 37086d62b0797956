"""The whole way from a camera frame to a label: `python benchmarks/bench_pipeline.py`.

Moments must cost next to nothing beside avg. The stages of both pipelines are timed where they
run, each right after the one before it, for a pooling is slower with cold caches than in a loop of
its own. Moments inside the network's graph are measured beside those of numpy.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
from bench_embedding import camera_frame
from measuring import finish, report, seconds
from numpy.typing import NDArray

from robocle import Learner, backbone
from robocle.backbones import Backbone
from robocle.export.onnx_model import onnx_model
from robocle.images import to_pixels

POOLINGS = ("avg", "moments:r=3,form=root")
OBJECTS, SHOTS = 20, 5
WARM_UP = 1  # the first frame after another pipeline finds that one's memory in the caches
FRAMES = 5
Stages = NDArray[np.float64]


def taught_learner(pool: str, network: Backbone) -> Learner:
    learner = Learner(backbone=network, pooling=pool)
    for shown in range(OBJECTS * SHOTS):
        learner.teach(camera_frame(shown), f"object {shown // SHOTS}")
    return learner


def stages(learner: Learner, frame: NDArray[np.uint8]) -> Stages:
    """Seconds for the pixels, the network, the pooling and the answer."""
    times = [time.perf_counter()]
    pixels = to_pixels(frame, learner.backbone.input_size)[None]
    times.append(time.perf_counter())
    maps = learner.backbone.features(pixels)
    times.append(time.perf_counter())
    vector = learner.pooling(maps)[0]
    times.append(time.perf_counter())
    learner.predict_embedding(vector)
    times.append(time.perf_counter())
    return np.diff(times)


def shortest_stages(learners: list[Learner], frame: NDArray[np.uint8], rounds: int) -> Stages:
    """The shortest time of each stage of each pipeline, measured in turns of a few frames."""
    best = np.full((len(learners), 4), np.inf)
    for _ in range(rounds):
        for row, learner in zip(best, learners, strict=True):
            for number in range(WARM_UP + FRAMES):
                found = stages(learner, frame)
                if number >= WARM_UP:
                    np.minimum(row, found, out=row)
    best[:, :2] = best[:, :2].min(axis=0)  # pixels and network are the same work in both
    return best


def moments_beside_avg(learners: list[Learner], frame: NDArray[np.uint8], rounds: int) -> None:
    best = shortest_stages(learners, frame, rounds)
    print("milliseconds     pixels  network  pooling   answer   frames/s")
    for name, row in zip(POOLINGS, best, strict=True):
        listed = "".join(f"{value * 1e3:>9.3f}" for value in row)
        print(f"  {name.partition(':')[0]:<12}{listed}{1 / row.sum():>11.1f}")
    total = best.sum(axis=1)
    lost = 100 * (1 - total[0] / total[1])
    report("frames/s that moments lose against avg", lost, 2, at_least=False, unit="%")


def fused_beside_apart(learner: Learner, frame: NDArray[np.uint8], rounds: int) -> None:
    pixels = to_pixels(frame, learner.backbone.input_size)[None]
    session = with_moments_inside(learner)

    def apart() -> NDArray[np.float32]:
        return learner.pooling(learner.backbone.features(pixels))

    def fused() -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = session.run(None, {"pixels": pixels})[0]
        return vectors

    difference = float(np.abs(fused() - apart()).max())
    assert difference <= 1e-4, f"the fused moments differ by {difference:.1e}"
    ours, graph = shortest([apart, fused], rounds)
    print(f"moments inside the network's graph, equal to {difference:.0e}: "
          f"{100 * (ours / graph - 1):+.1f} % frames/s")  # fmt: skip


def with_moments_inside(learner: Learner) -> onnxruntime.InferenceSession:
    """The learner's exported graph, cut after the pooling."""
    model = onnx_model(learner)
    weighed = next(node for node in model.graph.node if node.op_type == "MatMul")
    wide = next(node for node in model.graph.node if weighed.input[0] in node.output)
    del model.graph.output[:]
    vectors = onnx.helper.make_tensor_value_info(wide.input[0], onnx.TensorProto.FLOAT, None)
    model.graph.output.append(vectors)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def shortest(works: list[Callable[[], object]], rounds: int) -> list[float]:
    """The shortest time of each work, measured in turns of a few frames."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            seconds(work, WARM_UP)
            best[index] = min(best[index], seconds(work, FRAMES))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds: agreement only")
    quick = parser.parse_args().quick
    network = backbone()
    frame = camera_frame()
    learners = [taught_learner(pool, network) for pool in POOLINGS]
    moments_beside_avg(learners, frame, rounds=2 if quick else 60)
    fused_beside_apart(learners[1], frame, rounds=2 if quick else 40)
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
