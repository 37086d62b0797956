"""What a report shows besides metrics: example pictures, and the paper's figure of moments.

The figure shows how much each moment changes under each corruption. The values of each block of a
moment pooling are compared between clean and corrupted pictures by their Wasserstein distance, both
absolute and in units of the standard deviation of the clean values.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from robocle.evaluation.embedding import backbone_facts, corrupted_pixels, embed_into
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.scenarios import evenly_spaced
from robocle.evaluation.trial import Trial
from robocle.images.square import thumbnail
from robocle.poolings import pooling

MEASURED_PICTURES = 400
SHOWN_PICTURES = 8
BINS = 60
NAMES = {1: "mean", 2: "deviation", 3: "order 3 (skewness)"}


def measure_moments(trial: Trial, cache: EmbeddingCache) -> dict[str, Any]:
    """Return histograms and distances of each block, for one backbone and form of moments."""
    paths = evenly_spaced(_tested(trial), MEASURED_PICTURES)
    for corruption in trial.tested:
        unreadable = embed_into(cache, trial.test_setup(corruption), [trial.pooling], paths)
        paths = [path for path in paths if str(path) not in unreadable]
    shape = len(paths), pooling(trial.pooling).blocks, -1
    embeddings = {
        corruption: cache.read(trial.test_setup(corruption).keys(paths, trial.pooling))
        for corruption in trial.tested
    }
    return {
        "pooling": trial.pooling,
        "pictures": len(paths),
        "blocks": [
            _compared(
                NAMES.get(order + 1, f"order {order + 1}"),
                {name: rows.reshape(shape)[:, order].ravel() for name, rows in embeddings.items()},
            )
            for order in range(shape[1])
        ],
    }


def example_pictures(trial: Trial, unreadable: Collection[str]) -> dict[str, list[str]]:
    """Return a few test pictures under each corruption of a trial, as data URLs."""
    readable = [path for path in _tested(trial) if str(path) not in unreadable]
    paths = evenly_spaced(readable, SHOWN_PICTURES)
    side = backbone_facts(trial.backbone).input_size
    conditions = dict.fromkeys((trial.taught, *trial.tested))
    return {
        condition: [
            thumbnail(corrupted_pixels(path, side, trial.test_setup(condition))) for path in paths
        ]
        for condition in conditions
    }


def _tested(trial: Trial) -> list[Path]:
    return [example.path for example in trial.stream().tested]


def _compared(name: str, values: dict[str, NDArray[np.float32]]) -> dict[str, Any]:
    clean = values["clean"]
    edges = np.histogram_bin_edges(np.concatenate(list(values.values())), BINS)
    deviation = float(clean.std()) or 1.0
    distances = {
        corruption: float(wasserstein_distance(clean, of))
        for corruption, of in values.items()
        if corruption != "clean"
    }
    return {
        "name": name,
        "edges": edges.tolist(),
        "counts": {c: np.histogram(of, edges)[0].tolist() for c, of in values.items()},
        "distances": distances,
        "relative_distances": {c: d / deviation for c, d in distances.items()},
    }
