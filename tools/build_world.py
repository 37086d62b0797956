"""Compute a world that comes with robocle: `python tools/build_world.py FOLDER [BACKBONE ...]`.

FOLDER has a few hundred photographs of unlike things, such as one per class of a large collection.
Only numbers computed from them are kept. Without a BACKBONE, those of all profiles are computed.
"""

import sys
from pathlib import Path

from robocle.backbones import backbone
from robocle.backbones.export.world_building import build_world
from robocle.backbones.world import SHIPPED, file_name
from robocle.profiles import PROFILES


def main() -> None:
    """Write one file per backbone."""
    folder, *names = sys.argv[1:]
    for name in names or sorted({profile.backbone for profile in PROFILES.values()}):
        world = build_world(backbone(name), Path(folder))
        path = SHIPPED / file_name(world.backbone, world.fingerprint, world.pooling)
        for old in SHIPPED.glob(f"{path.name.rsplit('-', 1)[0]}-*"):
            old.unlink()
        world.write(path)
        print(f"{path}: {world.source}, {path.stat().st_size / 1e6:.2f} MB, {world.met_again}")


if __name__ == "__main__":
    main()
