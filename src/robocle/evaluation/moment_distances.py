"""How much each moment changes under each corruption: the paper's figure of moment distributions.

The values of each block of a moment pooling are compared between clean and corrupted pictures by
their Wasserstein distance, both absolute and in units of the standard deviation of the clean
values.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from robocle.evaluation.embedding import EmbeddingSetup
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.poolings import pooling

BINS = 60
NAMES = {1: "mean", 2: "deviation", 3: "order 3 (skewness)"}


def moment_distances(
    paths: Sequence[Path],
    setup: EmbeddingSetup,
    spec: str,
    corruptions: Sequence[str],
    cache: EmbeddingCache,
) -> dict[str, Any]:
    """Return histograms and distances of each block, ready for JSON.

    Args:
        paths: The pictures.
        setup: How the pictures are embedded, apart from the corruption.
        spec: The spec of the moment pooling.
        corruptions: The corruptions to compare. "clean" must be one of them.
        cache: The cache, which must already contain all of the embeddings.
    """
    blocks = pooling(spec).blocks
    values = {
        corruption: _values(paths, replace(setup, corruption=corruption), spec, blocks, cache)
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
    paths: Sequence[Path], setup: EmbeddingSetup, spec: str, blocks: int, cache: EmbeddingCache
) -> list[NDArray[np.float32]]:
    """Return all values of each block."""
    embeddings = cache.read(setup.keys(paths, spec)).reshape(len(paths), blocks, -1)
    return [embeddings[:, order].ravel() for order in range(blocks)]


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
