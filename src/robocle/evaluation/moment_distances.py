"""How far each moment moves under each corruption: the paper's figure of moment distributions.

For the pictures of a study, the values of each block of a moment pooling are compared between
clean and corrupted pictures by the Wasserstein distance, raw and in units of the clean values'
deviation.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import wasserstein_distance

from robocle.evaluation.embedding import View
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.pooling import pooling

BINS = 60
NAMES = {1: "mean", 2: "deviation", 3: "order 3 (skewness)"}


def moment_distances(
    paths: Sequence[Path], view: View, spec: str, corruptions: Sequence[str], cache: EmbeddingCache
) -> dict[str, Any]:
    """Histograms and distances of each block, as plain data."""
    blocks = pooling(spec).blocks
    values = {
        corruption: _values(paths, replace(view, corruption=corruption), spec, blocks, cache)
        for corruption in corruptions
    }
    return {
        "pooling": spec,
        "pictures": len(paths),
        "blocks": [
            _compared(
                NAMES.get(order + 1, f"order {order + 1}"),
                {corruption: of[order] for corruption, of in values.items()},
            )
            for order in range(blocks)
        ],
    }


def _values(
    paths: Sequence[Path], view: View, spec: str, blocks: int, cache: EmbeddingCache
) -> list[np.ndarray]:
    vectors = cache.read(view.keys(paths, spec)).reshape(len(paths), blocks, -1)
    return [vectors[:, order].ravel() for order in range(blocks)]


def _compared(name: str, values: dict[str, np.ndarray]) -> dict[str, Any]:
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
