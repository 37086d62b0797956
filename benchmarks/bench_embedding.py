"""Embedding a picture against the backbone alone: `python benchmarks/bench_embedding.py`.

Everything that robocle adds to the network (decoding, resizing, pooling) must take little time
compared to it.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from measuring import alternating, finish, report
from numpy.typing import NDArray
from PIL import Image

from robocle import Learner, backbone, pooling
from robocle.images import to_pixels


def camera_frame(seed: int = 0) -> NDArray[np.uint8]:
    """Return a 640x480 frame with the detail of a photograph: smooth shapes and fine texture."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (15, 20, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((640, 480), Image.Resampling.BICUBIC), np.float32)
    return np.clip(smooth + rng.normal(0, 8, smooth.shape), 0, 255).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, and limits do not count")
    quick = parser.parse_args().quick
    rounds = 5 if quick else 200
    network = backbone()
    learner = Learner(backbone=network, prediction_views="plain")
    embed = learner.embed_for_prediction
    frame = camera_frame()
    pixels = to_pixels(frame, network.input_size)[None]
    with tempfile.TemporaryDirectory() as folder:
        jpeg = Path(folder) / "frame.jpg"
        Image.fromarray(frame).save(jpeg, quality=90)
        alone, from_jpeg, from_frame = alternating(
            [
                lambda: network.features(pixels),
                lambda: embed(jpeg),
                lambda: embed(frame),
            ],
            rounds,
        )
        agreement = _cosine(embed(jpeg).values, embed(frame).values)
    expected = pooling(learner.parts.pooling)(network.features(pixels))[0]
    assert np.array_equal(embed(frame).values, expected), "the embedding of the frame differs"
    assert agreement > 0.99, f"the embeddings of JPEG and frame differ (cosine {agreement:.4f})"
    print(f"backbone alone {alone * 1e3:.2f} ms; JPEG and frame agree (cosine {agreement:.4f})")
    report("embedding a 640x480 JPEG", from_jpeg / alone, 1.4, at_least=False)
    report("embedding a raw 640x480 frame", from_frame / alone, 1.15, at_least=False)
    finish(demanding=not quick)


def _cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


if __name__ == "__main__":
    main()
