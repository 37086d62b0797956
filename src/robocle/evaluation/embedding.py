"""Embedding pictures into the cache: each picture once per setup, for all poolings together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from robocle.backbones import Backbone, backbone, earlier_channels
from robocle.errors import ImageError
from robocle.evaluation.corruptions import CORRUPTIONS, corruption, corruption_rng
from robocle.evaluation.embedding_cache import EmbeddingCache
from robocle.evaluation.keys import code_of, content_hash, key, versions
from robocle.images import PREPROCESSING, to_pixels
from robocle.images.views import VIEWS
from robocle.learner.pipeline import feature_maps, pooled
from robocle.poolings import POOLINGS
from robocle.types import Embeddings, Pixels

WRITTEN_AT_ONCE = 64
# What this module imports decides an embedding, except for what is done with it afterwards.
AFTERWARDS = (
    "robocle.classifiers",
    *(f"robocle.evaluation.{name}" for name in ("embedding_cache", "keys")),
)
LIBRARIES = ("numpy", "onnxruntime", "pillow")


@dataclass(frozen=True)
class EmbeddingSetup:
    """How pictures are embedded, apart from the pooling.

    The corruption of a picture is keyed by the seed and the picture, never by the method or the
    ordering.
    """

    backbone: str
    corruption: str = "clean"
    corruption_seed: int = 0
    views: str = "plain"
    """The views over which an embedding is averaged."""

    def keys(self, paths: Sequence[Path], pooling: str) -> list[bytes]:
        """Return the cache keys of pictures for one pooling.

        Raises:
            ImageError: A file cannot be read.
        """
        network = backbone_facts(self.backbone)
        corrupt = corruption(self.corruption, unit=network.pixel_unit)
        pool, look = POOLINGS.build(pooling), VIEWS.build(self.views)
        classes = (network.kind, *(type(part) for part in (corrupt, pool, look)))
        fixed = key(
            network.fingerprint,
            PREPROCESSING,
            CORRUPTIONS.describe(corrupt),
            "" if self.corruption == "clean" else self.corruption_seed,
            POOLINGS.describe(pool),
            VIEWS.describe(look),
            code_of(*classes, also=[__name__], without=AFTERWARDS),
            versions(*LIBRARIES),
        )
        return [bytes.fromhex(key(fixed, content_hash(path))) for path in paths]


@lru_cache(maxsize=4)
def loaded_backbone(spec: str) -> Backbone:
    """Return a backbone, loaded once per process."""
    return backbone(spec)


@dataclass(frozen=True)
class BackboneFacts:
    """The facts about a backbone that every trial needs."""

    kind: type
    name: str
    fingerprint: str
    input_size: int
    pixel_unit: float
    has_token: bool
    earlier_channels: int
    """0 if it has no earlier map."""


@cache
def backbone_facts(spec: str) -> BackboneFacts:
    """Return the facts about a backbone, without keeping the network in memory."""
    network = loaded_backbone(spec)
    return BackboneFacts(
        type(network),
        network.name,
        network.fingerprint,
        network.input_size,
        network.pixel_unit,
        network.has_token,
        earlier_channels(network),
    )


def embed_into(
    cache: EmbeddingCache, setup: EmbeddingSetup, poolings: Sequence[str], paths: Sequence[Path]
) -> dict[str, str]:
    """Embed those pictures that the cache does not have yet.

    Args:
        cache: Where the embeddings are written.
        setup: How the pictures are embedded.
        poolings: Specs of poolings: all of them are computed from one run of the backbone.
        paths: The pictures.

    Returns:
        An error message for each picture that cannot be read, by its path.
    """
    errors: dict[str, str] = {}
    fresh: dict[bytes, Embeddings] = {}
    readable = [path for path in paths if _is_readable(path, errors)]
    keys = {spec: setup.keys(readable, spec) for spec in poolings}
    known = cache.known([key for of_pooling in keys.values() for key in of_pooling])
    cache.touch(list(known))
    for path, *of_path in zip(readable, *keys.values(), strict=True):
        missing = {s: key for s, key in zip(keys, of_path, strict=True) if key not in known}
        try:
            fresh |= _embeddings(setup, path, missing) if missing else {}
        except ImageError as error:
            errors[str(path)] = str(error)
        if len(fresh) >= WRITTEN_AT_ONCE:
            cache.write(fresh)
            fresh = {}
    if fresh:
        cache.write(fresh)
    return errors


def _is_readable(path: Path, errors: dict[str, str]) -> bool:
    """Return whether a file can be read; if not, its message is added to the errors."""
    try:
        return bool(content_hash(path))
    except ImageError as error:
        errors[str(path)] = str(error)
        return False


def _embeddings(
    setup: EmbeddingSetup, path: Path, missing: dict[str, bytes]
) -> dict[bytes, Embeddings]:
    network = loaded_backbone(setup.backbone)
    pixels = corrupted_pixels(path, network.input_size, setup)
    maps = feature_maps(network, VIEWS.build(setup.views), [pixels])
    return {key: pooled(POOLINGS.build(spec), maps, 1)[0] for spec, key in missing.items()}


def corrupted_pixels(path: Path, side: int, setup: EmbeddingSetup) -> Pixels:
    """Return the square pixels of a picture under the corruption of a setup.

    Raises:
        ImageError: The picture cannot be read.
    """
    rng = corruption_rng(setup.corruption_seed, content_hash(path), setup.corruption)
    unit = backbone_facts(setup.backbone).pixel_unit
    return corruption(setup.corruption, unit=unit)(to_pixels(path, side), rng)
