"""Embedding pictures: what is not in the cache is looked at, once, for all poolings."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robocle.backbones import Backbone, backbone
from robocle.errors import ImageError
from robocle.evaluation.corruptions import CORRUPTIONS, corruption, corruption_rng
from robocle.evaluation.embedding_cache import EmbeddingCache, embedding_key
from robocle.images import PREPROCESSING, to_pixels
from robocle.images.views import VIEWS
from robocle.pooling import POOLINGS

WRITTEN_AT_ONCE = 64


@dataclass(frozen=True)
class View:
    """How pictures are looked at: through which backbone, under which corruption.

    The corruption's draw is keyed by its seed and the picture, never by the method or the ordering.
    """

    backbone: str
    corruption: str = "clean"
    corruption_seed: int = 0
    views: str = "plain"
    """What is made of a picture before it is looked at; where it is asked, nothing."""

    def keys(self, paths: Sequence[Path], pooling: str) -> list[bytes]:
        """The cache keys of pictures, pooled in one way."""
        network = backbone_facts(self.backbone)
        seed = "" if self.corruption == "clean" else str(self.corruption_seed)
        seen = CORRUPTIONS.describe(corruption(self.corruption, unit=network.pixel_unit))
        pooled = POOLINGS.describe(POOLINGS.build(pooling))
        code = code_revision(
            "pooling", "evaluation/corruptions", "images/reading.py", "randomness.py"
        )
        fixed = [network.fingerprint, PREPROCESSING, seen, seed, pooled, code]
        if self.views != "plain":
            fixed += [VIEWS.describe(VIEWS.build(self.views)), code_revision("images/views.py")]
        return [embedding_key(*fixed, content_hash(path)) for path in paths]


@lru_cache(maxsize=4)
def loaded_backbone(spec: str) -> Backbone:
    """A backbone, loaded once a process."""
    return backbone(spec)


@dataclass(frozen=True)
class BackboneFacts:
    """What is asked of a backbone for every trial."""

    fingerprint: str
    input_size: int
    pixel_unit: float
    has_token: bool


@cache
def backbone_facts(spec: str) -> BackboneFacts:
    """A backbone's facts; with many large ones, the networks themselves do not all stay loaded."""
    network = loaded_backbone(spec)
    return BackboneFacts(
        network.fingerprint, network.input_size, network.pixel_unit, network.has_token
    )


@cache
def code_revision(*parts: str) -> str:
    """A hash of some of robocle's own files: changed code may compute something else."""
    package = Path(str(files("robocle")))
    sources = [
        source
        for part in parts
        for source in sorted([package / part, *(package / part).rglob("*.py")])
        if source.is_file()
    ]
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]


@lru_cache(maxsize=1_000_000)
def content_hash(path: Path) -> str:
    """The hash of a picture's bytes: a renamed or moved file is not embedded again."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ImageError(f"cannot read {path}: {error.strerror}") from error


def embed(
    cache: EmbeddingCache, view: View, poolings: Sequence[str], paths: Sequence[Path]
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
    cache: EmbeddingCache,
    view: View,
    poolings: Sequence[str],
    paths: Sequence[Path],
    complaints: dict[str, str],
) -> dict[Path, dict[str, bytes]]:
    """The keys by pooling that each picture lacks; unreadable files become complaints."""
    readable = []
    for path in paths:
        try:
            content_hash(path)
            readable.append(path)
        except ImageError as error:
            complaints[str(path)] = str(error)
    by_pooling = {spec: view.keys(readable, spec) for spec in poolings}
    keys = {
        path: {spec: by_pooling[spec][place] for spec in poolings}
        for place, path in enumerate(readable)
    }
    known = cache.known([key for of_path in keys.values() for key in of_path.values()])
    cache.touch(list(known))
    lacking = {
        path: {spec: key for spec, key in of_path.items() if key not in known}
        for path, of_path in keys.items()
    }
    return {path: wanted for path, wanted in lacking.items() if wanted}


def _vectors(view: View, path: Path, wanted: dict[str, bytes]) -> dict[bytes, NDArray[np.float32]]:
    network = loaded_backbone(view.backbone)
    pixels = corrupted_pixels(path, network.input_size, view)
    maps = network.features(VIEWS.build(view.views)(pixels))
    return {key: POOLINGS.build(spec)(maps).mean(axis=0) for spec, key in wanted.items()}


def corrupted_pixels(path: Path, side: int, view: View) -> NDArray[np.uint8]:
    """A picture's pixels as the backbone gets them under a view."""
    rng = corruption_rng(view.corruption_seed, content_hash(path), view.corruption)
    unit = backbone_facts(view.backbone).pixel_unit
    return corruption(view.corruption, unit=unit)(to_pixels(path, side), rng)
