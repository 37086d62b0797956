"""Kitchen objects: mug, bowl, bottle, teapot, pan, watering can.

Most are turned on a lathe. The front faces -y and a handle points to +x. Sizes are free, because
`build` scales every object to the same largest extent.
"""

import numpy as np

from robocle._internal.randomness import Rng
from robocle_sim.arrays import Floats
from robocle_sim.colours import other_paint, paint, rgb
from robocle_sim.materials import IRON, STEEL, Material, any_metal, glossy, matt, metal, satin
from robocle_sim.mesh import Piece, SceneObject, shift, turn
from robocle_sim.outlines import arc, curve
from robocle_sim.patterns import Pattern, checks, dots, label, plain, speckled, stripes
from robocle_sim.shapes import cylinder, disc, ellipsoid, lathe, tube


def print_on(rng: Rng, base: Floats) -> Pattern:
    """Draw a glaze or print: plain, striped, dotted, chequered, speckled or labelled."""
    ink = other_paint(rng, base)
    count = int(rng.integers(3, 8))
    prints = (
        plain(base),
        stripes(count, base, ink, along=1, share=float(rng.uniform(0.2, 0.5))),
        stripes(2 * count, base, ink, along=0, share=float(rng.uniform(0.2, 0.5))),
        dots(3 * count, count, base, ink),
        checks(2 * count, count, base, ink),
        speckled(base, ink, 0.05),
        label((0.60, 0.90), (0.25, 0.8), plain(base), paint(rng, "white", "cream"), ink),
    )
    return prints[int(rng.integers(len(prints)))]


def mug(rng: Rng) -> SceneObject:
    """A cup with one handle."""
    height, wide, narrow = rng.uniform(0.75, 1.15), rng.uniform(0.36, 0.44), rng.uniform(0.28, 0.42)
    base = paint(rng)
    inside = plain(base if rng.random() < 0.4 else paint(rng, "white", "cream"))
    outer = curve([(narrow - 0.05, 0), (narrow, 0.02), ((wide + narrow) / 2, height / 2),
                   (wide, height)], 30)  # fmt: skip
    lip = arc(0.015, 0, 180, 6) + (wide - 0.015, height)
    inner = curve([(wide - 0.03, height), ((wide + narrow) / 2 - 0.03, height / 2),
                   (narrow - 0.05, 0.08), (0, 0.05)], 24)  # fmt: skip
    top, reach = rng.uniform(0.75, 0.88) * height, rng.uniform(0.16, 0.26)
    low = rng.uniform(0.15, 0.3) * height
    side = (wide + narrow) / 2 - 0.03
    path = curve([(side, 0, top), (side + reach, 0, top), (side + reach * 1.15, 0, (top + low) / 2),
                  (side + reach * 0.8, 0, low), (side - 0.02, 0, low)], 26)  # fmt: skip
    handle = tube(path, float(rng.uniform(0.035, 0.055)), flat=1.35)
    return [
        Piece(lathe(outer), glossy(print_on(rng, base))),
        Piece(lathe(lip, inner, [(0, 0), (narrow - 0.05, 0)]), glossy(inside)),
        Piece(handle, glossy(plain(base))),
    ]


def bowl(rng: Rng) -> SceneObject:
    """A bowl on a foot."""
    height, foot = rng.uniform(0.38, 0.6), rng.uniform(0.2, 0.32)
    base = paint(rng)
    belly = rng.uniform(0.55, 0.8)
    outer = curve([(foot, 0.04), (belly * 0.9, height * 0.35), (0.78, height)], 24)
    inner = curve([(0.75, height), (belly * 0.86, height * 0.38), (foot, 0.09), (0, 0.07)], 24)
    lip = arc(0.015, 0, 180, 6) + (0.765, height)
    ring = [(foot - 0.04, 0), (foot, 0), (foot, 0.04)]
    pale = paint(rng, "white", "cream")
    ringed = stripes(int(rng.integers(3, 7)), pale, other_paint(rng, pale), share=0.2)
    inside = (plain(base), plain(pale), ringed)[int(rng.integers(3))]
    return [
        Piece(lathe(outer, ring), glossy(print_on(rng, base))),
        Piece(lathe(lip, inner), glossy(inside)),
    ]


def bottle(rng: Rng) -> SceneObject:
    """A bottle with a neck, a cap and a label."""
    radius, shoulder = rng.uniform(0.24, 0.36), rng.uniform(0.8, 1.2)
    neck, top = rng.uniform(0.08, 0.12), shoulder + rng.uniform(0.35, 0.6)
    base = paint(rng)
    waist = radius * rng.uniform(0.85, 1.0)
    side = curve([(radius - 0.04, 0), (radius, 0.05), (waist, shoulder * 0.55), (radius, shoulder),
                  (neck * 1.3, shoulder + 0.24), (neck, top - 0.08), (neck, top)], 50)  # fmt: skip
    body = label((0.5, 1.0), (0.18, 0.46), plain(base), paint(rng, "white", "cream", "yellow"),
                 paint(rng))  # fmt: skip
    ring = lathe(arc(0.025, -90, 90, 8) + (neck, top - 0.1))
    cap = cylinder(neck * 1.25, top - 0.03, top + 0.13, 0.02)
    return [
        Piece(lathe(side, [(0, 0), (radius - 0.04, 0)]), Material(body, roughness=0.12)),
        Piece(ring, glossy(plain(base))),
        Piece(cap, satin(plain(paint(rng)))),
    ]


def teapot(rng: Rng) -> SceneObject:
    """A round pot with a spout, a handle and a lid."""
    squash, base = rng.uniform(0.75, 1.1), paint(rng)
    glaze = glossy(print_on(rng, base))
    trim = glossy(plain(base)) if rng.random() < 0.6 else any_metal(rng)
    body = curve([(0.26, 0), (0.44, 0.14 * squash), (0.52, 0.4 * squash), (0.4, 0.68 * squash),
                  (0.22, 0.78 * squash)], 34)  # fmt: skip
    top = 0.78 * squash
    lid = curve([(0.24, top), (0.2, top + 0.05), (0.08, top + 0.1), (0.0, top + 0.11)], 14)
    knob = shift(ellipsoid((0.06, 0.06, 0.055)), (0, 0, top + 0.15))
    lift = rng.uniform(0.0, 0.12)
    spout = curve([(-0.42, 0, 0.22 * squash), (-0.62, 0, 0.3 * squash), (-0.72, 0, 0.52 * squash),
                   (-0.86, 0, 0.7 * squash + lift)], 24)  # fmt: skip
    grip = curve([(0.36, 0, 0.68 * squash), (0.62, 0, 0.72 * squash), (0.74, 0, 0.48 * squash),
                  (0.64, 0, 0.22 * squash), (0.44, 0, 0.16 * squash)], 28)  # fmt: skip
    return [
        Piece(lathe(body, [(0, 0), (0.26, 0)]), glaze),
        Piece(lathe(lid), glossy(plain(base))),
        Piece(knob, trim),
        Piece(tube(spout, np.linspace(0.12, 0.055, 24)), glossy(plain(base))),
        Piece(tube(grip, 0.045, flat=1.2), trim),
    ]


def pan(rng: Rng) -> SceneObject:
    """A frying pan or saucepan with one long handle."""
    height, flare = rng.uniform(0.16, 0.42), rng.uniform(0.03, 0.12)
    radius = 0.55
    skin = (STEEL, IRON, satin(plain(paint(rng))), metal(plain(rgb(0.85, 0.54, 0.40)), 0.3))[
        int(rng.integers(4))
    ]
    lining = satin(plain(rgb(0.16, 0.16, 0.17))) if rng.random() < 0.6 else STEEL
    outer = curve([(radius - 0.06, 0), (radius, 0.05), (radius + flare, height)], 20)
    inner = curve(
        [(radius + flare - 0.025, height), (radius - 0.03, 0.07), (radius - 0.1, 0.03)], 20
    )
    lip = arc(0.0125, 0, 180, 6) + (radius + flare - 0.0125, height)
    start, rise = radius + flare - 0.03, rng.uniform(0.02, 0.2)
    path = curve([(start, 0, height * 0.75), (start + 0.3, 0, height * 0.75 + rise * 0.6),
                  (start + 0.95, 0, height * 0.75 + rise)], 24)  # fmt: skip
    thick = 0.05 + 0.02 * np.sin(np.linspace(0, 3, 24))
    grip = satin(plain(paint(rng, "charcoal", "brown", "red", "navy", "cream", "grey")))
    return [
        Piece(lathe(outer, [(0, 0), (radius - 0.06, 0)]), skin),
        Piece(lathe(lip, inner), lining),
        Piece(disc(radius - 0.1, 0.03), lining),
        Piece(tube(path, thick, flat=0.55), grip),
    ]


def watering_can(rng: Rng) -> SceneObject:
    """A can with a long spout, a rose and a curved handle."""
    height, radius = rng.uniform(0.6, 0.85), rng.uniform(0.34, 0.44)
    skin = satin(plain(paint(rng))) if rng.random() < 0.7 else any_metal(rng)
    side = [(radius, 0), (radius * 0.92, height)]
    rim = lathe(arc(0.02, -90, 90, 6) + (radius * 0.92, height - 0.02))
    cover = lathe([(radius * 0.92, height), (radius * 0.5, height + 0.03)])
    tip = np.array([-radius - 0.62, 0.0, height + rng.uniform(0.0, 0.2)])
    spout = curve([(-radius + 0.04, 0, 0.16), (-radius - 0.25, 0, 0.32), tuple(tip)], 20)
    rose = turn(
        lathe(curve([(0.05, -0.1), (0.08, 0), (0.15, 0.06)], 10), [(0.15, 0.06), (0, 0.09)]),
        (0, 1, 0),
        -50,
    )
    bow = curve([(radius * 0.3 - 0.4, 0, height), (-0.1, 0, height + 0.3),
                 (radius * 0.7, 0, height + 0.26), (radius + 0.2, 0, height * 0.7),
                 (radius * 0.97, 0, height * 0.25)], 34)  # fmt: skip
    dark = matt(plain(rgb(0.08, 0.08, 0.09)))
    return [
        Piece(lathe(side, [(0, 0), (radius, 0)]), skin),
        Piece(cover, skin),
        Piece(disc(radius * 0.5, height + 0.02), dark),
        Piece(rim, skin),
        Piece(tube(spout, np.linspace(0.08, 0.05, 20)), skin),
        Piece(shift(rose, tip), any_metal(rng)),
        Piece(tube(bow, 0.035, flat=1.3), skin),
    ]
