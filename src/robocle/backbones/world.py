"""The world of a backbone: embeddings of pictures of anything, and of nothing.

What lies in front of a camera is mostly none of the taught objects. Where such pictures lie among
the embeddings depends on the backbone and the pooling, so a world belongs to both. It is not
learned: a learner scores its pictures to find out which scores unrelated objects get.

A world is a safetensors file with one array, `pictures` (n, width), mostly in float16, and its
description in the metadata. The worlds of some backbones come with robocle. `robocle backbones
world` computes others, which are kept in the cache folder and preferred.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from robocle.backbones.model_folder import cache_folder
from robocle.errors import BackboneError
from robocle.files import replace_file
from robocle.images import PREPROCESSING
from robocle.types import Embeddings

SHIPPED = Path(__file__).parent / "worlds"
FORMAT = "world/2"
FEWEST = 20
"""The minimum number of pictures of objects in a world."""


@dataclass(frozen=True)
class SeenAgain:
    """How familiar objects are that are seen again under other conditions.

    This is measured on the shipped home, relative to the mean distance of the class means from the
    origin of the familiarity.
    """

    once: float
    """The median familiarity of objects that were taught one picture each."""
    several: float
    """The same for five pictures each."""
    temperature: float
    """The temperature of the softmax that fits the labels of these objects best, at five."""


@dataclass(frozen=True, eq=False)
class World:
    """Embeddings of pictures of anything, and what was measured with them."""

    backbone: str
    fingerprint: str
    """The fingerprint of the backbone."""
    pooling: str
    """The spec of the pooling, with every option written out."""
    pictures: Embeddings
    """(n, width): pictures of objects first, then pictures of nothing."""
    objects: int
    """How many pictures show objects."""
    seen_again: SeenAgain
    source: str
    """Which pictures these are."""

    @property
    def identity(self) -> str:
        """A hash of everything; states record it."""
        content = hashlib.sha256(self.pictures.tobytes())
        content.update(json.dumps(self._description(), sort_keys=True).encode())
        return content.hexdigest()

    def _description(self) -> dict[str, object]:
        facts = {
            name: getattr(self, name)
            for name in ("backbone", "fingerprint", "pooling", "objects", "source")
        }
        described = {"preprocessing": PREPROCESSING, "seen_again": asdict(self.seen_again)}
        return {"format": FORMAT, **described, **facts}

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
        path = kept_path(self.backbone, self.fingerprint, self.pooling)
        self.write(path)
        return path


def kept_path(backbone: str, fingerprint: str, pooling: str) -> Path:
    """Return the file of a world that was computed on this machine, whether it exists or not."""
    return cache_folder() / "worlds" / file_name(backbone, fingerprint, pooling)


def file_name(backbone: str, fingerprint: str, pooling: str) -> str:
    """Return the name of the file of a world.

    >>> file_name("timm:vit", "1f3a", "avg")
    'timm_vit-034f741da56c2b1e.safetensors'
    """
    key = hashlib.sha256("/".join((fingerprint, pooling, PREPROCESSING)).encode()).hexdigest()
    plain = "".join(sign if sign.isalnum() or sign in "_-" else "_" for sign in backbone)
    return f"{plain[:40]}-{key[:16]}.safetensors"


@lru_cache(maxsize=8)
def world_of(backbone: str, fingerprint: str, pooling: str) -> World | None:
    """Return the world of a backbone and a pooling, or None if there is none on this machine.

    Args:
        backbone: The name of the backbone.
        fingerprint: Its fingerprint.
        pooling: The spec of the pooling, with every option written out.

    Raises:
        BackboneError: The file of the world is damaged, or belongs to another backbone.
    """
    paths = (
        kept_path(backbone, fingerprint, pooling),
        SHIPPED / file_name(backbone, fingerprint, pooling),
    )
    found = next((path for path in paths if path.is_file()), None)
    return read_world(found, fingerprint, pooling) if found else None


def used_world(classifier: object, backbone: str, fingerprint: str, pooling: str) -> World | None:
    """Return the world of a backbone and a pooling, if there is one and a classifier uses it.

    Args:
        classifier: The classifier. It uses a world if its option `world` is above 0.
        backbone: The name of the backbone.
        fingerprint: Its fingerprint.
        pooling: The spec of the pooling, with every option written out.

    Raises:
        BackboneError: The file of the world is damaged.
    """
    if not getattr(classifier, "world", 0):
        return None
    return world_of(backbone, fingerprint, pooling)


def read_world(path: Path, fingerprint: str, pooling: str) -> World:
    """Read the world of a backbone and a pooling from a file.

    Raises:
        BackboneError: The file is damaged, or the world belongs to another backbone or pooling.
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
    if (world.fingerprint, world.pooling) != (fingerprint, pooling):
        raise BackboneError(
            f"the world in {path} belongs to {world.backbone} (sha {world.fingerprint[:8]}) with "
            f"{world.pooling}, not to this backbone (sha {fingerprint[:8]}) with {pooling}: "
            "compute one with `robocle backbones world`"
        )
    return world


def _decoded(head: Mapping[str, object], rows: Embeddings) -> World:
    fields = {**head}
    if (fields.pop("format"), fields.pop("preprocessing")) != (FORMAT, PREPROCESSING):
        raise ValueError("it was written by another version of robocle")
    seen_again = SeenAgain(**fields.pop("seen_again"))  # type: ignore[arg-type]
    world = World(pictures=rows, seen_again=seen_again, **fields)  # type: ignore[arg-type]
    if not (rows.ndim == 2 and np.isfinite(rows).all() and 0 < world.objects <= len(rows)):
        raise ValueError("its pictures cannot be read")
    if not all(0 < number < 10 for number in asdict(seen_again).values()):
        raise ValueError("its measurements cannot be read")
    return world
