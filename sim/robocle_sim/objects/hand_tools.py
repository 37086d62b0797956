"""Hand-held objects: cutlery, scissors, hammer, screwdriver, key, toothbrush.

They lie along x on the table, top side up.
"""

import numpy as np

from robocle._internal.randomness import Rng
from robocle_sim.arrays import Floats
from robocle_sim.colours import other_paint, paint, rgb
from robocle_sim.materials import (
    BRASS,
    IRON,
    STEEL,
    Material,
    any_metal,
    glossy,
    matt,
    metal,
    satin,
)
from robocle_sim.mesh import Mesh, Piece, SceneObject, grid, merge, shift, turn, turn_object
from robocle_sim.outlines import arc, curve
from robocle_sim.patterns import BEECH, WALNUT, bands, plain
from robocle_sim.shapes import box, cylinder, extrude, lathe, tube


def _cutlery_skin(rng: Rng) -> tuple[Material, Material]:
    """Draw the materials of head and handle."""
    head = (STEEL, STEEL, BRASS, metal(plain(rgb(0.62, 0.62, 0.65)), 0.3))[int(rng.integers(4))]
    grips = head, satin(plain(paint(rng))), matt(BEECH), glossy(plain(paint(rng)))
    return head, grips[int(rng.integers(len(grips)))]


def _cutlery_handle(rng: Rng, neck: float) -> Mesh:
    """A handle along x from `neck` to 1.5 that rises and widens towards its end."""
    x = np.linspace(neck, 1.5, 26)
    t = (x - neck) / (1.5 - neck)
    path = np.stack([x, np.zeros(26), 0.10 + 0.05 * np.sin(t * np.pi)], axis=1)
    end = rng.uniform(0.07, 0.11)
    return tube(path, np.interp(t, [0, 0.3, 0.85, 1], [0.035, 0.04, end, end * 0.8]), flat=0.35)


def spoon(rng: Rng) -> SceneObject:
    """A spoon."""
    long, wide, deep = rng.uniform(0.28, 0.38), rng.uniform(0.17, 0.25), rng.uniform(0.08, 0.13)
    r, a = np.linspace(0, 1, 14)[:, None], np.linspace(0, 2 * np.pi, 40, endpoint=False)[None]
    x, y = long * r * np.cos(a), wide * r * np.sin(a) * (1 - 0.15 * r * np.cos(a))
    z = 0.14 - deep * (1 - r * r) - 0.03 * np.cos(a) * r
    inner = np.stack([x, y, z + 0 * x], axis=-1)
    outer = inner - (0, 0, 0.02)
    shell = merge([grid(inner, wrap=True), grid(outer, wrap=True),
                   grid(np.stack([inner[-1], outer[-1]]), wrap=True)])  # fmt: skip
    head, grip = _cutlery_skin(rng)
    return [Piece(shell, head), Piece(_cutlery_handle(rng, long - 0.02), grip)]


def fork(rng: Rng) -> SceneObject:
    """A fork with three or four tines."""
    tines, half = int(rng.integers(3, 5)), rng.uniform(0.12, 0.17)
    head, grip = _cutlery_skin(rng)
    t = np.linspace(0, 1, 16)
    span = np.linspace(-1, 1, 9)[None]
    width = half * np.sqrt(np.minimum(1.02 - t, 1.0))[:, None]
    palm = np.stack(
        [
            0.05 + 0.4 * t[:, None] + 0 * span,
            width * span,
            _fork_height(0.05 + 0.4 * t)[:, None] + 0.04 * span * span,
        ],
        axis=-1,
    )
    pieces = [Piece(merge([grid(palm), grid(palm - (0, 0, 0.025))]), head)]
    for place in np.linspace(-1, 1, tines):
        x = np.linspace(0.12, -0.43, 16)
        y = np.full(16, place * (half - 0.022))
        z = _fork_height(x) + 0.04 * place**2 - 0.012
        thin = np.interp(x, [-0.43, -0.2, 0.12], [0.012, 0.024, 0.028])
        pieces.append(Piece(tube(np.stack([x, y, z], axis=1), thin, sides=8, flat=0.7), head))
    return [*pieces, Piece(_cutlery_handle(rng, 0.4), grip)]


def _fork_height(x: Floats) -> Floats:
    """The side view of a fork: a dip below the neck, then tines that curve up to their tips."""
    dip = 0.10 - 0.07 * np.sin(np.clip((x + 0.15) / 0.6, -1, 1) * np.pi)
    return np.where(x > -0.15, dip, 0.10 + 0.35 * (x + 0.15) ** 2)


def scissors(rng: Rng) -> SceneObject:
    """Scissors that are slightly open."""
    opening, blade = rng.uniform(9, 22), rng.uniform(0.75, 1.0)
    handle = satin(plain(paint(rng)))
    tip = [(0.0, -0.055), (blade * 0.6, -0.05), (blade, 0.02), (blade * 0.5, 0.055), (0, 0.06)]
    shank = [(0.05, -0.055), (0.05, 0.06), (-0.25, 0.10), (-0.28, 0.03)]
    pieces: SceneObject = []
    wide, long = rng.uniform(0.13, 0.17), rng.uniform(0.17, 0.26)
    for sign, level in ((1.0, 0.03), (-1.0, 0.06)):
        a = np.linspace(0, 2 * np.pi, 30, endpoint=False)
        ring = np.stack(
            [-0.42 - long + long * np.cos(a), 0.14 + wide * np.sin(a), 0 * a + 0.02], axis=1
        )
        stem = curve([(-0.15, 0.05, 0.02), (-0.3, 0.09, 0.02), (-0.45, 0.13, 0.02)], 10)
        grip = merge([tube(ring, 0.042, closed=True, flat=0.8), tube(stem, 0.05, flat=0.8)])
        blades = merge([extrude(tip, 0.03, 0.008), extrude(shank, 0.03, 0.008)])
        for mesh, skin in ((blades, STEEL), (grip, handle)):
            flipped = turn(mesh, (1, 0, 0), 180) if sign < 0 else mesh
            pieces.append(
                Piece(shift(turn(flipped, (0, 0, 1), sign * opening), (0, 0, level)), skin)
            )
    return [*pieces, Piece(cylinder(0.035, 0.05, 0.11, 0.01, sides=20), IRON)]


def hammer(rng: Rng) -> SceneObject:
    """A claw hammer."""
    skin = (STEEL, IRON, metal(plain(rgb(0.55, 0.56, 0.6)), 0.35))[int(rng.integers(3))]
    grip_paint = paint(rng)
    length = rng.uniform(1.1, 1.5)
    x = np.linspace(0, length, 30)
    thick = np.interp(x / length, [0, 0.35, 0.75, 0.97, 1], [0.05, 0.048, 0.068, 0.072, 0.06])
    grip = tube(np.stack([x, 0 * x, 0 * x], axis=1), thick, flat=1.25)
    grip = turn(grip, (1, 0, 0), 90)
    wooden = matt(BEECH if rng.random() < 0.5 else WALNUT)
    coated = satin(bands(0, (0.0, 0.45 * length), grip_paint, other_paint(rng, grip_paint)))
    face = turn(
        lathe(
            curve([(0.07, 0.0), (0.07, 0.16)], 4),
            [(0.07, 0.16), (0.1, 0.18), (0.105, 0.30)],
            [(0.105, 0.30), (0.095, 0.31), (0, 0.31)],
        ),
        (1, 0, 0),
        90,
    )
    claws = []
    for side in (-1, 1):
        path = curve([(0, 0.06, 0.025 * side), (0.01, 0.2, 0.035 * side), (0.08, 0.36, 0.06 * side),
                      (0.2, 0.46, 0.085 * side)], 16)  # fmt: skip
        claws.append(tube(path, np.linspace(0.06, 0.022, 16), flat=0.8))
    hub = box((0.17, 0.2, 0.17), 0.035)
    head = shift(merge([face, *claws, hub]), (0.02, 0, 0))
    return [Piece(head, skin), Piece(grip, wooden if rng.random() < 0.5 else coated)]


def screwdriver(rng: Rng) -> SceneObject:
    """A screwdriver with a fluted handle."""
    length, thick = rng.uniform(0.45, 0.62), rng.uniform(0.085, 0.125)
    shaft = rng.uniform(0.55, 0.95)
    base = paint(rng)
    z = np.linspace(0, length, 30)
    t = z / length
    radius = thick * np.interp(
        t, [0, 0.06, 0.2, 0.7, 0.82, 0.92, 1], [0.6, 0.92, 1, 0.95, 0.7, 0.8, 0.55]
    )
    a = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    flute = 1 - 0.11 * np.interp(t, [0.05, 0.15, 0.7, 0.8], [0, 1, 1, 0])[:, None] * (
        np.cos(6 * a) > 0.3
    )
    rings = np.stack([radius[:, None] * flute * np.cos(a), radius[:, None] * flute * np.sin(a),
                      z[:, None] + 0 * a], axis=-1)  # fmt: skip
    skin = glossy(bands(2, (0.70 * length, length), base, other_paint(rng, base)))
    rod = cylinder(0.032, length - 0.02, length + shaft, 0.005, sides=16)
    tip = extrude(
        [(-0.03, 0), (0.03, 0), (0.045, 0.07), (0.04, 0.12), (-0.04, 0.12), (-0.045, 0.07)],
        0.016,
        0.003,
    )
    tip = shift(turn(tip, (1, 0, 0), 90), (0, 0.008, length + shaft - 0.02))
    pieces = [Piece(grid(rings, wrap=True), skin), Piece(lathe([(0, 0), (radius[0], 0)]), skin),
             Piece(rod, STEEL), Piece(tip, STEEL)]  # fmt: skip
    return turn_object(pieces, (0, 1, 0), 90)


def key(rng: Rng) -> SceneObject:
    """A door key with bow, stem, bit and teeth, and in some cases a tag."""
    skin = any_metal(rng)
    ring = float(rng.uniform(0.17, 0.24))
    a = np.linspace(0, 2 * np.pi, 36, endpoint=False)
    squash = rng.uniform(0.8, 1.25)
    bow = np.stack([ring * np.cos(a) - ring, squash * ring * np.sin(a), 0 * a], axis=1)
    stem = tube([(0, 0, 0), (0.4, 0, 0), (0.95, 0, 0)], 0.05)
    collar = turn(cylinder(0.075, 0.02, 0.07, 0.015, sides=20), (0, 1, 0), 90)
    teeth = [
        shift(box((0.07, float(rng.uniform(0.12, 0.24)), 0.05), 0.01), (0.62 + 0.085 * k, -0.1, 0))
        for k in range(int(rng.integers(3, 5)))
    ]
    bit = shift(box((0.36, 0.1, 0.045), 0.01), (0.76, -0.06, 0))
    pieces = [
        Piece(merge([tube(bow, 0.05, flat=0.7, closed=True), stem, collar, bit, *teeth]), skin)
    ]
    if rng.random() < 0.5:
        tag = extrude(arc(0.16, 0, 360, 24)[:-1] * (1.3, 1.0), 0.03, 0.008)
        loop = np.column_stack([arc(0.13, 0, 350, 24), np.zeros(24)])
        pieces.append(
            Piece(shift(tube(loop, 0.014, closed=True), (-2 * ring - 0.08, 0.02, -0.02)), STEEL)
        )
        pieces.append(Piece(shift(tag, (-2 * ring - 0.38, 0.0, -0.05)), satin(plain(paint(rng)))))
    return pieces


def toothbrush(rng: Rng) -> SceneObject:
    """A toothbrush with its bristles up."""
    base = paint(rng)
    t = np.linspace(0, 1, 36)
    bend = rng.uniform(0.03, 0.09)
    path = np.stack([1.6 * t, 0 * t, 0.08 + bend * np.sin(t * np.pi * 1.2)], axis=1)
    thick = np.interp(t, [0, 0.22, 0.3, 0.5, 0.9, 1], [0.075, 0.07, 0.04, 0.06, 0.075, 0.06])
    handle = tube(path, thick, flat=0.6)
    grip = bands(0, (0.75, 0.82, 0.9, 0.97, 1.05, 1.4), base, other_paint(rng, base))
    ink = paint(rng)
    tufts: dict[bool, list[Mesh]] = {True: [], False: []}
    for column in range(9):
        for row in range(3):
            place = (0.0 + 0.042 * column, 0.042 * (row - 1), 0)
            height = 0.24 + 0.02 * ((column + row) % 2)
            tufts[column < 3].append(shift(cylinder(0.019, 0.1, height, sides=7), place))
    return [
        Piece(handle, satin(grip)),
        Piece(merge(tufts[True]), matt(plain(ink))),
        Piece(merge(tufts[False]), matt(plain(rgb(0.93, 0.94, 0.95)))),
    ]
