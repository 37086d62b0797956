"""The home: which pictures the demo set holds, and writing them to disk.

The first five clean pictures of instance 1 are for teaching. Instances 2 and 3 and all other
pictures are for asking, so what is measured is how well a category carries over to other things
of its kind and to other conditions.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

from PIL import Image

from robocle.errors import DataError, SpecError
from robocle.randomness import keyed_rng
from robocle.sim.conditions import FACTORS
from robocle.sim.objects import CATEGORIES
from robocle.sim.scene import draw
from robocle.sim.stage import Shot, settings_of, stage

FORMAT = 1
QUALITY = 78  # of the JPEGs: keeps the shipped set below 7 MB
TEACH = 5
CLEAN_FIRST, CLEAN_OTHERS, PER_FACTOR = 8, 2, 2


def categories() -> tuple[str, ...]:
    """All categories, in alphabetical order."""
    return tuple(sorted(CATEGORIES))


def render(shot: Shot, size: int = 224) -> Image.Image:
    """Render one shot; it depends on nothing but the shot and the size."""
    return draw(stage(shot, settings_of(shot)), size)


def home_plan(seed: int, instances: int = 3) -> list[Shot]:
    """List the shots of the demo set."""
    shots = []
    for category in categories():
        for instance in range(1, instances + 1):
            count = CLEAN_FIRST if instance == 1 else CLEAN_OTHERS
            shots += [Shot(seed, category, instance, "clean", 0, k) for k in range(count)]
            shots += [
                Shot(
                    seed,
                    category,
                    instance,
                    factor,
                    level_of(seed, category, instance, factor, k),
                    k,
                )
                for factor in FACTORS
                for k in range(PER_FACTOR)
            ]
    return shots


def level_of(seed: int, category: str, instance: int, factor: str, number: int) -> int:
    """Draw the level 1..3 of a picture."""
    return int(keyed_rng(seed, "level", category, instance, factor, number).integers(1, 4))


def is_teaching(shot: Shot) -> bool:
    """Whether a shot is meant to be taught rather than asked about."""
    return shot.condition == "clean" and shot.instance == 1 and shot.number < TEACH


def encode(picture: Image.Image, quality: int) -> bytes:
    """JPEG bytes; optimised, with colour at half resolution."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality, optimize=True, subsampling="4:2:0")
    return buffer.getvalue()


def _as_they_come(shots: Iterable[Shot]) -> Iterable[Shot]:
    return shots


def render_home(
    folder: Path,
    shots: Sequence[Shot],
    size: int = 224,
    quality: int = QUALITY,
    progress: Callable[[Iterable[Shot]], Iterable[Shot]] = _as_they_come,
) -> None:
    """Write the pictures of the shots under a folder, and an index.json that describes them."""
    seed = only_seed(shots)
    hashes = {}
    for shot in progress(shots):
        hashes[shot.path] = write_picture(folder, shot.path, render(shot, size), quality)
    write_index(
        folder,
        seed=seed,
        size=size,
        quality=quality,
        categories={shot.category for shot in shots},
        levels={shot.path: shot.level for shot in shots if shot.level},
        hashes=hashes,
    )


def write_picture(folder: Path, name: str, picture: Image.Image, quality: int) -> str:
    """Write a picture under a folder; return the hash of its bytes."""
    data = encode(picture, quality)
    _write(folder / name, data)
    return hashlib.sha256(data).hexdigest()


def write_index(
    folder: Path,
    *,
    seed: int,
    size: int,
    quality: int,
    categories: Iterable[str],
    levels: Mapping[str, int],
    hashes: Mapping[str, str],
) -> None:
    """Write the index.json that describes the pictures of a folder."""
    index = {
        "format": FORMAT,
        "seed": seed,
        "size": size,
        "quality": quality,
        "versions": {name: version(name) for name in ("numpy", "pillow")},
        "categories": sorted(categories),
        "levels": dict(levels),
        "sha256": dict(sorted(hashes.items())),
    }
    _write(folder / "index.json", (json.dumps(index, indent=1) + "\n").encode())


class Seeded(Protocol):
    """Something to render: a shot or a recording."""

    @property
    def seed(self) -> int: ...


def only_seed(shots: Iterable[Seeded]) -> int:
    """The seed that all of them have."""
    seeds = sorted({shot.seed for shot in shots})
    if len(seeds) != 1:
        raise SpecError(f"a folder holds the pictures of one seed, not of {seeds}: split the shots")
    return seeds[0]


def _write(path: Path, data: bytes) -> None:
    """Write beside the target, then rename: a reader never sees half a file."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        beside.replace(path)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error
