"""Rooms: the boxes of their objects, and what is measured in them."""

from dataclasses import replace

import numpy as np
import pytest

from robocle import Find, Prediction
from robocle.finders.boxes import overlap
from robocle_sim.colours import rgb
from robocle_sim.materials import matt
from robocle_sim.patterns import plain
from robocle_sim.room import Room, Visible
from robocle_sim.scene import draw
from scripts import imported_script


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


def test_what_is_found_in_a_room_is_counted() -> None:
    measure = imported_script("tools/measure_rooms.py")
    mug, pan = (Visible("mug", 1, (10, 10, 50, 50), 1), Visible("pan", 1, (200, 10, 50, 50), 1))
    finds = [found("mug", 12, 0.9), found("mug", 9, 0.8), found("pan", 12, 0.75)]
    tally = measure.Tally()
    tally.add([mug, pan], finds, [each.box for each in finds])
    # Of two mugs one is there, and of two taught objects one is found, in the only box of either.
    assert tally.figures() == pytest.approx([50, 50, 100, 1])


def test_the_average_precision_is_that_of_the_definition() -> None:
    measure = imported_script("tools/measure_rooms.py")
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores = [measure.Score(float(rng.random()), bool(rng.random() < 0.6)) for _ in range(9)]
        ranked = [each.is_hit for each in sorted(scores, reverse=True)]
        points = [(sum(ranked[:n]) / 12, sum(ranked[:n]) / n) for n in range(1, 10)]
        levels = np.arange(1, 13) / 12
        best = [max([p for r, p in points if r >= level - 1e-9], default=0) for level in levels]
        assert measure.average_precision(scores, 12) == pytest.approx(np.mean(best))


def found(label: str, x: float, confidence: float) -> Find:
    known = {label: confidence}
    return Find((x, 10, 50, 50), Prediction(label, confidence, known, label, confidence, known))
