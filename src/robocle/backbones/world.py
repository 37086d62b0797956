"""The world of a backbone: embeddings of pictures of arbitrary objects, and of nothing.

A camera mostly sees none of the taught objects. A learner measures how familiar the pictures of the
world look, and calls an object unknown that looks no more familiar. The embeddings depend on the
backbone, the pooling and the views of pictures to recognise, so a world belongs to these.

A world is a safetensors file with one array, `pictures` (n, width), mostly in float16, and its
description in the metadata. The worlds of some backbones come with robocle. `robocle backbones
world` computes others, which are kept in the cache folder and preferred.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from robocle._internal.files import replace_file
from robocle.backbones.model_folder import cache_folder
from robocle.errors import BackboneError
from robocle.images import PREPROCESSING
from robocle.profiles import PROFILES
from robocle.types import Embeddings

SHIPPED = Path(__file__).parent / "worlds"
FORMAT = "world/3"
FEWEST = 20
"""The minimum number of pictures of objects in a world."""
COMMON_VIEWS = tuple(dict.fromkeys(each.prediction_views for each in PROFILES.values()))
"""The views of the profiles. A world of one of them stands in for that of other views."""


@dataclass(frozen=True, eq=False)
class World:
    """Embeddings of pictures of arbitrary objects, and two measurements with them."""

    backbone: str
    fingerprint: str
    """The fingerprint of the backbone."""
    pooling: str
    """The spec of the pooling, with every option written out."""
    views: str
    """The spec of the views of pictures to recognise."""
    pictures: Embeddings
    """(n, width): pictures of objects first, then pictures of nothing."""
    objects: int
    """How many pictures show objects."""
    temperature: float
    """The temperature of the softmax that fits the objects of the shipped home best, when they are
    seen again under other conditions. It is relative to the distance of the class means."""
    gain: float
    """How familiar these objects are with the views of pictures to recognise, relative to the
    views of taught pictures."""
    source: str
    """Which pictures these are."""

    @property
    def identity(self) -> str:
        """A hash of everything; states record it."""
        content = hashlib.sha256(self.pictures.tobytes())
        content.update(json.dumps(self._description(), sort_keys=True).encode())
        return content.hexdigest()

    def _description(self) -> dict[str, object]:
        facts = {each.name: getattr(self, each.name) for each in fields(self)}
        del facts["pictures"]
        return {"format": FORMAT, "preprocessing": PREPROCESSING, **facts}

    def write(self, path: Path) -> None:
        """Write the world to a file.

        Raises:
            BackboneError: The file cannot be written.
        """
        # A backbone whose features are too large for float16 has its own scale.
        small = np.abs(self.pictures).max() < np.finfo(np.float16).max
        rows = {"pictures": self.pictures.astype(np.float16 if small else np.float32)}
        content = safetensors.numpy.save(rows, {"robocle": json.dumps(self._description())})
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content)
        except OSError as error:
            raise BackboneError(f"cannot write {path}: {error.strerror or error}") from error
        world_of.cache_clear()

    def keep(self) -> Path:
        """Write the world where learners on this machine find it, and return its path."""
        path = kept_path(self.backbone, self.fingerprint, self.pooling, self.views)
        self.write(path)
        return path


def kept_path(backbone: str, fingerprint: str, pooling: str, views: str) -> Path:
    """Return the file of a world that was computed on this machine, whether it exists or not."""
    return cache_folder() / "worlds" / file_name(backbone, fingerprint, pooling, views)


def file_name(backbone: str, fingerprint: str, pooling: str, views: str) -> str:
    """Return the name of the file of a world.

    >>> file_name("timm:vit", "1f3a", "avg", "plain")
    'timm_vit-9b8d8c815e1266cf.safetensors'
    """
    parts = fingerprint, pooling, views, PREPROCESSING
    key = hashlib.sha256("/".join(parts).encode()).hexdigest()
    plain = "".join(sign if sign.isalnum() or sign in "_-" else "_" for sign in backbone)
    return f"{plain[:40]}-{key[:16]}.safetensors"


@lru_cache(maxsize=8)
def world_of(backbone: str, fingerprint: str, pooling: str, views: str) -> World | None:
    """Return the world of a backbone and a pooling, or None if there is none on this machine.

    Args:
        backbone: The name of the backbone.
        fingerprint: Its fingerprint.
        pooling: The spec of the pooling, with every option written out.
        views: The spec of the views of pictures to recognise. If there is no world of these, one of
            other views is returned.

    Raises:
        BackboneError: The file of the world is damaged, or belongs to another backbone.
    """
    for each in dict.fromkeys((views, *COMMON_VIEWS)):
        paths = (
            kept_path(backbone, fingerprint, pooling, each),
            SHIPPED / file_name(backbone, fingerprint, pooling, each),
        )
        if found := next((path for path in paths if path.is_file()), None):
            return read_world(found, fingerprint, pooling, each)
    return None


def used_world(
    classifier: object, backbone: str, fingerprint: str, pooling: str, views: str
) -> World | None:
    """Return the world of a backbone and a pooling, if there is one and a classifier uses it.

    Args:
        classifier: The classifier. It uses a world if its option `world` is above 0.
        backbone: The name of the backbone.
        fingerprint: Its fingerprint.
        pooling: The spec of the pooling, with every option written out.
        views: The spec of the views of pictures to recognise.

    Raises:
        BackboneError: The file of the world is damaged.
    """
    if not getattr(classifier, "world", 0):
        return None
    return world_of(backbone, fingerprint, pooling, views)


def read_world(path: Path, fingerprint: str, pooling: str, views: str) -> World:
    """Read the world of a backbone, a pooling and views from a file.

    Raises:
        BackboneError: The file is damaged, or the world belongs to others.
    """
    try:
        with safe_open(path, "numpy") as file:
            head = json.loads((file.metadata() or {}).get("robocle", "{}"))
            rows = file.get_tensor("pictures").astype(np.float32)
            rows.flags.writeable = False  # all learners of the process share them
        world = _decoded(head, rows)
    except (OSError, SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise BackboneError(
            f"the world in {path} is damaged ({error}): compute it again with `robocle backbones "
            "world`, or delete it"
        ) from error
    if (world.fingerprint, world.pooling, world.views) != (fingerprint, pooling, views):
        raise BackboneError(
            f"the world in {path} belongs to {world.backbone} (sha {world.fingerprint[:8]}) with "
            f"{world.pooling} and {world.views}, not to this backbone (sha {fingerprint[:8]}) with "
            f"{pooling} and {views}: compute one with `robocle backbones world`"
        )
    return world


def _decoded(head: Mapping[str, object], rows: Embeddings) -> World:
    facts = {**head}
    if (facts.pop("format"), facts.pop("preprocessing")) != (FORMAT, PREPROCESSING):
        raise ValueError("it was written by another version of robocle")
    world = World(pictures=rows, **facts)  # type: ignore[arg-type]
    if not (rows.ndim == 2 and np.isfinite(rows).all() and 0 < world.objects <= len(rows)):
        raise ValueError("its pictures cannot be read")
    if not all(0 < number < 10 for number in (world.temperature, world.gain)):
        raise ValueError("its measurements cannot be read")
    return world
