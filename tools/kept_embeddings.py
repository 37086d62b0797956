"""Embeddings that a measurement keeps: computing them is what takes its time."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocle.backbones.model_folder import cache_folder
from robocle.images import read
from robocle.images.views import VIEWS
from robocle.learner.pipeline import Pipeline
from robocle.poolings import POOLINGS


def embedded(
    pipeline: Pipeline, pictures: Sequence[Path | NDArray[np.uint8]]
) -> NDArray[np.float32]:
    """Return the embeddings of pictures."""
    side = pipeline.backbone.input_size
    return np.vstack([pipeline.embed([read(picture, side).pixels]) for picture in pictures])


def kept(pipeline: Pipeline, pictures: Sequence[Path | NDArray[np.uint8]]) -> NDArray[np.float32]:
    """Return the embeddings of pictures, from an earlier run if there was one."""
    digest = hashlib.sha256("\n".join(_facts(pipeline, pictures)).encode()).hexdigest()
    file = cache_folder() / "kept_embeddings" / f"{digest[:24]}.npy"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, embedded(pipeline, pictures))
    return np.asarray(np.load(file))


def _facts(pipeline: Pipeline, pictures: Sequence[Path | NDArray[np.uint8]]) -> Iterator[str]:
    yield pipeline.backbone.fingerprint
    yield POOLINGS.describe(pipeline.pooling)
    yield VIEWS.describe(pipeline.views)
    for each in pictures:
        if isinstance(each, Path):
            yield "/".join(each.parts[-3:])  # the same on every machine
        else:
            yield hashlib.sha256(each.tobytes()).hexdigest()
