"""The whole pipeline from a camera frame to a label: `python benchmarks/bench_pipeline.py`.

Moments must take hardly more time than avg. Each stage is timed right after the previous one,
because a pooling is slower with cold caches than in a loop of its own. Moments inside the graph of
the network are also compared with moments in numpy.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from bench_embedding import camera_frame
from measuring import finish, report, seconds
from numpy.typing import NDArray

from robocle import Learner, backbone
from robocle.backbones import Backbone
from robocle.images import to_pixels

POOLINGS = ("avg", "moments:r=3,form=root")
OBJECTS, SHOTS = 20, 5
WARM_UP = 1  # before the first frame, the caches are full of the other pipeline's data
FRAMES = 5
Stages = NDArray[np.float64]


def taught_learner(pool: str, network: Backbone) -> Learner:
    learner = Learner(backbone=network, pooling=pool, prediction_views="plain")
    for shown in range(OBJECTS * SHOTS):
        learner.teach(camera_frame(shown), f"object {shown // SHOTS}")
    return learner


def stages(learner: Learner, frame: NDArray[np.uint8]) -> Stages:
    """Return the seconds for pixels, network, pooling and prediction."""
    times = [time.perf_counter()]
    pixels = to_pixels(frame, learner.backbone.input_size)[None]
    times.append(time.perf_counter())
    maps = learner.backbone.features(pixels)
    times.append(time.perf_counter())
    embedding = learner.pooling(maps)[0]
    times.append(time.perf_counter())
    learner.predict_embedding(embedding)
    times.append(time.perf_counter())
    return np.diff(times)


def shortest_stages(learners: list[Learner], frame: NDArray[np.uint8], rounds: int) -> Stages:
    """Return the shortest time of each stage of each pipeline, in alternating runs."""
    best = np.full((len(learners), 4), np.inf)
    for _ in range(rounds):
        for row, learner in zip(best, learners, strict=True):
            for number in range(WARM_UP + FRAMES):
                found = stages(learner, frame)
                if number >= WARM_UP:
                    np.minimum(row, found, out=row)
    best[:, :2] = best[:, :2].min(axis=0)  # pixels and network do not depend on the pooling
    return best


def moments_beside_avg(learners: list[Learner], frame: NDArray[np.uint8], rounds: int) -> None:
    best = shortest_stages(learners, frame, rounds)
    print("milliseconds     pixels  network  pooling  predict   frames/s")
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
        embeddings: NDArray[np.float32] = session.run(None, {"pixels": pixels})[0]
        return embeddings

    difference = float(np.abs(fused() - apart()).max())
    assert difference <= 1e-4, f"the fused moments differ by {difference:.1e}"
    ours, graph = shortest([apart, fused], rounds)
    print(f"moments inside the graph of the network, equal to {difference:.0e}: "
          f"{100 * (ours / graph - 1):+.1f} % frames/s")  # fmt: skip


def with_moments_inside(learner: Learner) -> onnxruntime.InferenceSession:
    """Return the exported graph of a learner, cut after the pooling."""
    with tempfile.TemporaryDirectory() as folder:
        learner.export_onnx(Path(folder) / "learner.onnx")
        model = onnx.load(Path(folder) / "learner.onnx")
    product = next(node for node in model.graph.node if node.op_type == "MatMul")
    wide = next(node for node in model.graph.node if product.input[0] in node.output)
    del model.graph.output[:]
    embeddings = onnx.helper.make_tensor_value_info(wide.input[0], onnx.TensorProto.FLOAT, None)
    model.graph.output.append(embeddings)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def shortest(works: list[Callable[[], object]], rounds: int) -> list[float]:
    """Return the shortest time of each function, in alternating runs of a few frames."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            seconds(work, WARM_UP)
            best[index] = min(best[index], seconds(work, FRAMES))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, and limits do not count")
    quick = parser.parse_args().quick
    network = backbone()
    frame = camera_frame()
    learners = [taught_learner(pool, network) for pool in POOLINGS]
    moments_beside_avg(learners, frame, rounds=2 if quick else 60)
    fused_beside_apart(learners[1], frame, rounds=2 if quick else 40)
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
