"""Embedding pictures: what is not in the cache is looked at, once, for all poolings."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocle.backbones import Backbone, backbone
from robocle.bench.vector_cache import VectorCache, vector_key
from robocle.corruptions import corruption, corruption_rng
from robocle.errors import ImageError
from robocle.images import PREPROCESSING, to_pixels
from robocle.pooling import pooling

WRITTEN_AT_ONCE = 64


@dataclass(frozen=True)
class View:
    """How pictures are looked at: through which backbone, under which corruption.

    The corruption's draw is keyed by its seed and the picture, never by the method or the ordering.
    """

    backbone: str
    corruption: str = "clean"
    corruption_seed: int = 0

    def keys(self, paths: Sequence[Path], pooling: str) -> list[bytes]:
        """The cache keys of pictures, pooled in one way."""
        fingerprint = loaded_backbone(self.backbone).fingerprint
        seed = "" if self.corruption == "clean" else str(self.corruption_seed)
        fixed = (fingerprint, PREPROCESSING, self.corruption, seed, pooling)
        return [vector_key(*fixed, content_hash(path)) for path in paths]


@lru_cache(maxsize=4)
def loaded_backbone(spec: str) -> Backbone:
    """A backbone, loaded once a process."""
    return backbone(spec)


@lru_cache(maxsize=1_000_000)
def content_hash(path: Path) -> str:
    """The hash of a picture's bytes: a renamed or moved file is not embedded again."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ImageError(f"cannot read {path}: {error.strerror}") from error


def embed(
    cache: VectorCache, view: View, poolings: Sequence[str], paths: Sequence[Path]
) -> dict[str, str]:
    """Make sure that the cache has these pictures; gives those that cannot be read, and why."""
    complaints: dict[str, str] = {}
    fresh: dict[bytes, NDArray[np.float32]] = {}
    for path, wanted in _missing(cache, view, poolings, paths, complaints).items():
        try:
            fresh |= _vectors(view, path, wanted)
        except ImageError as error:
            complaints[str(path)] = str(error)
        if len(fresh) >= WRITTEN_AT_ONCE:
            cache.write(fresh)
            fresh = {}
    if fresh:
        cache.write(fresh)
    return complaints


def _missing(
    cache: VectorCache,
    view: View,
    poolings: Sequence[str],
    paths: Sequence[Path],
    complaints: dict[str, str],
) -> dict[Path, dict[str, bytes]]:
    """The keys by pooling that each picture lacks; unreadable files become complaints."""
    keys: dict[Path, dict[str, bytes]] = {}
    for path in paths:
        try:
            keys[path] = {spec: view.keys([path], spec)[0] for spec in poolings}
        except ImageError as error:
            complaints[str(path)] = str(error)
    known = cache.known([key for of_path in keys.values() for key in of_path.values()])
    cache.touch(list(known))
    lacking = {
        path: {spec: key for spec, key in of_path.items() if key not in known}
        for path, of_path in keys.items()
    }
    return {path: wanted for path, wanted in lacking.items() if wanted}


def _vectors(view: View, path: Path, wanted: dict[str, bytes]) -> dict[bytes, NDArray[np.float32]]:
    network = loaded_backbone(view.backbone)
    maps = network.features(corrupted_pixels(path, network.input_size, view)[None])
    return {key: pooling(spec)(maps)[0] for spec, key in wanted.items()}


def corrupted_pixels(path: Path, side: int, view: View) -> NDArray[np.uint8]:
    """A picture's pixels as the backbone gets them under a view."""
    rng = corruption_rng(view.corruption_seed, content_hash(path), view.corruption)
    return corruption(view.corruption)(to_pixels(path, side), rng)
