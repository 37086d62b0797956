"""Rooms: the boxes of their objects."""

from dataclasses import replace

import numpy as np
import pytest

from robocle.finders.boxes import overlap
from robocle_sim.colours import rgb
from robocle_sim.materials import matt
from robocle_sim.patterns import plain
from robocle_sim.room import Room
from robocle_sim.scene import draw


@pytest.mark.slow
def test_the_boxes_are_where_the_objects_are() -> None:
    """An object that is painted black changes the picture in its box, and casts no other shadow."""
    room = Room(0, 1)
    picture, objects = room.render(96)
    assert picture == room.render(96)[0]
    scene, standing = room._scene()
    assert len({each.category for each in objects}) == len(objects) == len(standing)
    black = matt(plain(rgb(0, 0, 0)))
    for number, seen in enumerate(objects):
        own = list(standing.values())[number]
        mine = {id(piece.mesh) for piece in own}
        painted = [
            replace(each, material=black) if id(each.mesh) in mine else each
            for each in scene.object
        ]
        changed = np.any(np.asarray(draw(replace(scene, object=painted), 96)) != picture, axis=2)
        rows, columns = np.nonzero(changed)
        x, y = float(columns.min()), float(rows.min())
        box = x, y, float(columns.max()) + 1 - x, float(rows.max()) + 1 - y
        assert overlap(box, seen.box) > 0.75
        assert 0.3 < seen.share <= 1
