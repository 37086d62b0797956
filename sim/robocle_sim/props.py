"""Props: clutter and occluders. None of them belongs to a category of the home."""

import numpy as np

from robocle._internal.randomness import Rng
from robocle_sim.colours import other_paint, paint, rgb
from robocle_sim.materials import any_metal, matt, satin
from robocle_sim.mesh import (
    Mesh,
    Piece,
    SceneObject,
    grid,
    merge,
    shift,
    shift_object,
    turn,
    turn_object,
)
from robocle_sim.outlines import arc, curve
from robocle_sim.patterns import PINE, cloth, plain, stripes
from robocle_sim.shapes import box, cylinder, lathe, tube


def block(rng: Rng) -> SceneObject:
    """A wooden or painted block."""
    size = rng.uniform(0.15, 0.45, size=3)
    skin = satin(plain(paint(rng))) if rng.random() < 0.6 else matt(PINE)
    return [Piece(shift(box(size, 0.015), (0, 0, size[2] / 2)), skin)]


def tin(rng: Rng) -> SceneObject:
    """A tin with a paper sleeve."""
    radius, height = rng.uniform(0.1, 0.2), rng.uniform(0.2, 0.5)
    base = paint(rng)
    sleeve = stripes(3, base, other_paint(rng, base), along=1, share=0.3)
    side = lathe([(radius, 0.02), (radius, height - 0.02)])
    body = cylinder(radius * 0.99, 0, height, 0.01)
    return [Piece(side, satin(sleeve)), Piece(body, any_metal(rng))]


def cone(rng: Rng) -> SceneObject:
    """A cone on a square foot."""
    height, radius = rng.uniform(0.25, 0.5), rng.uniform(0.1, 0.16)
    base = paint(rng)
    body = lathe([(radius, 0.02), (0.02, height)])
    foot = shift(box((2.3 * radius, 2.3 * radius, 0.03), 0.01), (0, 0, 0.015))
    return [
        Piece(body, satin(stripes(4, base, other_paint(rng, base)))),
        Piece(foot, satin(plain(base))),
    ]


def coil(rng: Rng) -> SceneObject:
    """A coil of rope."""
    turns = np.linspace(0, 2 * np.pi * 4, 120)
    radius = rng.uniform(0.14, 0.24)
    path = np.stack([radius * np.cos(turns), radius * np.sin(turns), 0.03 + 0.011 * turns], axis=1)
    return [Piece(tube(path, 0.03, sides=8), matt(cloth(paint(rng), 0.02)))]


def paper(rng: Rng) -> SceneObject:
    """A sheet with lines of print."""
    sheet = shift(box((rng.uniform(0.3, 0.6), rng.uniform(0.4, 0.7), 0.006), 0.002), (0, 0, 0.003))
    return [
        Piece(
            sheet,
            matt(
                stripes(12, rgb(0.93, 0.92, 0.88), paint(rng, "charcoal", "blue", "grey"), 1, 0.25)
            ),
        )
    ]


def rings(rng: Rng) -> SceneObject:
    """A peg with a stack of wooden rings."""
    pieces = [Piece(cylinder(0.03, 0, 0.42, 0.02, sides=16), matt(PINE))]
    for k in range(int(rng.integers(3, 6))):
        ring = lathe(arc(0.04, 0, 360, 14) + (0.15 - 0.02 * k, 0.04 + 0.08 * k), sides=32)
        pieces.append(Piece(ring, satin(plain(paint(rng)))))
    return pieces


PROPS = (block, block, tin, cone, coil, paper, rings)


def scattered(rng: Rng, count: int, azimuth: float) -> SceneObject:
    """Place props around the origin, but not between it and a camera at the given azimuth."""
    pieces: SceneObject = []
    start = rng.uniform(0, 300)
    for k in range(count):
        prop = PROPS[int(rng.integers(len(PROPS)))](rng)
        angle = np.radians(azimuth + 60 + (start + 137.5 * k + rng.uniform(-20, 20)) % 240)
        reach = rng.uniform(0.72, 1.05) + 0.45 * (k % 3 == 2)
        place = (reach * np.sin(angle), -reach * np.cos(angle), 0.0)
        turned = turn_object(prop, (0, 0, 1), float(rng.uniform(0, 360)))
        pieces += shift_object(turned, place)
    return pieces


# Occluders reach from the origin towards -x, in camera axes: x right, y up, z towards the camera.


def board(rng: Rng) -> SceneObject:
    """The edge of a board or a wall."""
    skin = (matt(PINE), satin(plain(paint(rng))), matt(cloth(paint(rng), 0.03)))[
        int(rng.integers(3))
    ]
    return [Piece(shift(box((3.0, 3.0, 0.08), 0.03), (-1.5, 0, 0)), skin)]


def boxes(rng: Rng) -> SceneObject:
    """Stacked boxes with a ragged edge."""
    pieces: SceneObject = []
    for k in range(6):
        edge = float(rng.uniform(-0.18, 0.0))
        mesh = shift(box((2.0, 0.30, 0.3), 0.02), (edge - 1.0, -0.75 + 0.3 * k, 0))
        pieces.append(Piece(mesh, satin(plain(paint(rng)))))
    return pieces


def hand(rng: Rng) -> SceneObject:
    """A hand with spread fingers and a sleeve."""
    skin_tones = (
        rgb(0.86, 0.66, 0.54),
        rgb(0.62, 0.42, 0.31),
        rgb(0.38, 0.25, 0.19),
        rgb(0.92, 0.76, 0.66),
    )
    meshes: list[Mesh] = [shift(box((0.62, 0.62, 0.2), 0.1), (-0.72, 0, 0))]
    for y, long, lean in (
        (-0.24, 0.40, -0.10),
        (-0.08, 0.50, -0.03),
        (0.08, 0.48, 0.03),
        (0.24, 0.36, 0.12),
    ):
        path = curve(
            [(-0.5, y, 0), (-0.5 + long * 0.5, y + lean * 0.5, 0.02), (-0.5 + long, y + lean, 0)],
            10,
        )
        meshes.append(tube(path, 0.082))
    thumb = curve([(-0.85, 0.2, 0), (-0.7, 0.45, 0.03), (-0.5, 0.56, 0.03)], 10)
    meshes.append(tube(thumb, 0.09))
    sleeve = tube([(-3.0, 0, 0), (-1.6, 0, 0), (-1.0, 0, 0)], [0.42, 0.38, 0.34])
    tone = skin_tones[int(rng.integers(4))]
    return [Piece(merge(meshes), matt(plain(tone))), Piece(sleeve, matt(cloth(paint(rng), 0.03)))]


def leaves(rng: Rng) -> SceneObject:
    """Large leaves that hang into the picture."""
    green = rgb(0.22, 0.40, 0.18) * float(rng.uniform(0.7, 1.5))
    meshes = []
    for k in range(11):
        t, s = np.linspace(0, 1, 12)[:, None], np.linspace(-1, 1, 7)[None]
        width = 0.24 * np.sin(np.pi * (0.05 + 0.95 * t) ** 0.7)
        sheet = np.stack(
            [0.9 * t - 0.9 + 0 * s, width * s, 0.3 * width * np.abs(s) - 0.1 * t], axis=-1
        )
        leaf = turn(grid(sheet), (0, 0, 1), float(rng.uniform(-28, 28)))
        meshes.append(shift(leaf, (-0.45 * (k % 2), -0.8 + 0.16 * k, 0.03 * (k % 3))))
    backing = shift(box((2.0, 2.4, 0.05), 0.02), (-1.75, 0, -0.1))
    return [Piece(merge(meshes), satin(plain(green))), Piece(backing, matt(plain(green * 0.6)))]


OCCLUDERS = (board, boxes, hand, leaves)
