"""Compute the worlds that come with robocle: `python tools/build_world.py FOLDER [BACKBONE ...]`.

FOLDER has a few hundred photographs of different objects, such as one per class of a
large collection.
Only numbers computed from them are kept. Without a BACKBONE, those of all profiles are computed,
each for the views of its profiles. The worlds of the default backbone are kept whole, others are
thinned out: the wheel has its limits.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from robocle.backbones import backbone
from robocle.backbones.world import SHIPPED, World, file_name
from robocle.evaluation.backbones.world_building import build_world
from robocle.images.nothing import KINDS
from robocle.profiles import DEFAULT, PROFILES


def main() -> None:
    """Write one file per backbone and views."""
    folder, *names = sys.argv[1:]
    wanted = {(each.backbone, each.prediction_views) for each in PROFILES.values()}
    for name in names or sorted({each for each, _ in wanted}):
        network = backbone(name)
        for old in SHIPPED.glob(file_name(name, "", "", "").rpartition("-")[0] + "-*"):
            old.unlink()
        for views in sorted(views for other, views in wanted if other == name):
            world = build_world(network, Path(folder), views=views)
            if name != DEFAULT.backbone:
                world = thinned(world)
            facts = world.backbone, world.fingerprint, world.pooling, world.views
            path = SHIPPED / file_name(*facts)
            world.write(path)
            size = f"{path.stat().st_size / 1e6:.2f} MB"
            measured = f"temperature {world.temperature:.4f}, gain {world.gain:.4f}"
            print(f"{path.name}: {world.views}, {world.source}, {size}, {measured}")


def thinned(world: World) -> World:
    """Return a world with every third picture of an object, and as few of nothing of every kind."""
    objects = world.pictures[: world.objects : 3]
    nothing = world.pictures[world.objects :][: len(KINDS) * 3]
    source = world.source.replace(str(world.objects), str(len(objects)), 1)
    rows = np.vstack([objects, nothing])
    return replace(world, pictures=rows, objects=len(objects), source=source)


if __name__ == "__main__":
    main()
