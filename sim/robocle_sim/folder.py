"""A folder of rendered pictures: JPEG files, and an index.json that describes them."""

import hashlib
import io
import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, Protocol

from PIL import Image

from robocle._internal.files import replace_file
from robocle.errors import DataError, SpecError

FORMAT = 1
QUALITY = 78  # of the JPEG files; keeps the shipped pictures below 7 MB


class RenderedPicture(NamedTuple):
    """A rendered picture, and what the index records about it."""

    path: str
    category: str
    level: int
    image: Image.Image


class Seeded(Protocol):
    """What only_seed needs to know about a planned picture or a recording."""

    @property
    def seed(self) -> int: ...


def only_seed(planned: Iterable[Seeded]) -> int:
    """Return the one seed of all planned pictures or recordings.

    Raises:
        SpecError: There are several seeds, or none.
    """
    seeds = sorted({each.seed for each in planned})
    if len(seeds) != 1:
        raise SpecError(
            f"a folder holds the pictures of one seed, not of {seeds}: use a folder per seed"
        )
    return seeds[0]


def encode(image: Image.Image, quality: int) -> bytes:
    """Return an image as JPEG bytes, optimised, with colour at half resolution."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, optimize=True, subsampling="4:2:0")
    return buffer.getvalue()


def write_pictures(
    folder: Path, pictures: Iterable[RenderedPicture], *, seed: int, size: int, quality: int
) -> None:
    """Write rendered pictures and, after the last one, their index.json.

    Args:
        folder: Created if it does not exist.
        pictures: The pictures; each is written before the next one is rendered.
        seed: The seed of the home, for the index.
        size: Width and height in pixels, for the index.
        quality: The JPEG quality.

    Raises:
        DataError: A file cannot be written.
    """
    hashes: dict[str, str] = {}
    levels: dict[str, int] = {}
    categories: set[str] = set()
    for path, category, level, image in pictures:
        data = encode(image, quality)
        _write(folder / path, data)
        hashes[path] = hashlib.sha256(data).hexdigest()
        levels[path] = level
        categories.add(category)
    index = {
        "format": FORMAT,
        "seed": seed,
        "size": size,
        "quality": quality,
        "versions": {name: version(name) for name in ("numpy", "pillow")},
        "categories": sorted(categories),
        "levels": {path: level for path, level in levels.items() if level},
        "sha256": dict(sorted(hashes.items())),
    }
    _write(folder / "index.json", (json.dumps(index, indent=1) + "\n").encode())


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error
