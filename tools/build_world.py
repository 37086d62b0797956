"""Compute a world that comes with robocle: `python tools/build_world.py FOLDER [BACKBONE ...]`.

FOLDER has a few hundred photographs of unlike things, such as one per class of a large collection.
Only numbers computed from them are kept. Without a BACKBONE, those of all profiles are computed.
The world of the default backbone is kept whole, others are thinned out: the wheel has its limits.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from robocle.backbones import backbone
from robocle.backbones.export.world_building import build_world
from robocle.backbones.world import SHIPPED, World, file_name
from robocle.images.nothing import KINDS
from robocle.profiles import DEFAULT, PROFILES


def main() -> None:
    """Write one file per backbone."""
    folder, *names = sys.argv[1:]
    for name in names or sorted({profile.backbone for profile in PROFILES.values()}):
        world = build_world(backbone(name), Path(folder))
        if name != DEFAULT.backbone:
            world = thinned(world)
        path = SHIPPED / file_name(world.backbone, world.fingerprint, world.pooling)
        for old in SHIPPED.glob(f"{path.name.rsplit('-', 1)[0]}-*"):
            old.unlink()
        world.write(path)
        print(f"{path}: {world.source}, {path.stat().st_size / 1e6:.2f} MB, {world.met_again}")


def thinned(world: World) -> World:
    """Return a world with every third picture of a thing, and as few of nothing of every kind."""
    things = world.pictures[: world.things : 3]
    nothing = world.pictures[world.things :][: len(KINDS) * 3]
    source = world.source.replace(str(world.things), str(len(things)), 1)
    rows = np.vstack([things, nothing])
    return replace(world, pictures=rows, things=len(things), source=source)


if __name__ == "__main__":
    main()
