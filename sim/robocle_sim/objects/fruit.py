"""Fruit: apple and banana. Ripeness, shape and number vary."""

import numpy as np

from robocle._internal.randomness import Rng
from robocle_sim.arrays import Floats
from robocle_sim.colours import rgb
from robocle_sim.materials import Material, matt, satin
from robocle_sim.mesh import Piece, SceneObject, shift, turn
from robocle_sim.outlines import curve
from robocle_sim.patterns import Pattern, mottled, plain, speckled
from robocle_sim.shapes import ellipsoid, lathe, tube


def apple(rng: Rng) -> SceneObject:
    """An apple with a stem and in some cases a leaf."""
    tall = rng.uniform(0.82, 1.02)
    skins = (
        (rgb(0.70, 0.10, 0.12), rgb(0.86, 0.62, 0.25)),
        (rgb(0.52, 0.68, 0.22), rgb(0.72, 0.78, 0.38)),
        (rgb(0.90, 0.76, 0.28), rgb(0.82, 0.30, 0.18)),
        (rgb(0.50, 0.08, 0.14), rgb(0.66, 0.16, 0.16)),
    )
    one, two = skins[int(rng.integers(len(skins)))]
    profile = np.array(
        [
            (0, 0.10),
            (0.14, 0.03),
            (0.30, 0.05),
            (0.45, 0.30),
            (0.5, 0.58),
            (0.40, 0.86),
            (0.22, 0.95),
            (0.08, 0.88),
            (0, 0.80),
        ]
    )
    body = lathe(curve(profile * (1, tall), 46))
    stem = curve([(0, 0, 0.8 * tall), (0.02, 0, 0.95 * tall), (0.08, 0.02, 1.1 * tall)], 10)
    pieces = [
        Piece(body, Material(mottled(one, two, 0.22), roughness=0.25)),
        Piece(tube(stem, 0.022, sides=8), matt(plain(rgb(0.32, 0.22, 0.13)))),
    ]
    if rng.random() < 0.6:
        leaf = turn(shift(ellipsoid((0.17, 0.075, 0.012)), (0.17, 0, 0)), (0, 1, 0), -25)
        leaf = shift(turn(leaf, (0, 0, 1), float(rng.uniform(-60, 60))), (0.04, 0, 0.98 * tall))
        pieces.append(Piece(leaf, satin(plain(rgb(0.26, 0.45, 0.16)))))
    return pieces


def banana(rng: Rng) -> SceneObject:
    """One to three bananas joined at the stem."""
    skins = rgb(0.93, 0.79, 0.24), rgb(0.72, 0.74, 0.26), rgb(0.88, 0.70, 0.22)
    skin = Material(_peel(skins[int(rng.integers(3))]), roughness=0.5)
    bend, count = rng.uniform(0.28, 0.5), int(rng.integers(1, 4))
    t = np.linspace(0, 1, 40)
    path = np.stack([1.3 * t, 0 * t, bend * ((2 * t - 1) ** 2 - 1)], axis=1)
    stations, widths = (
        [0, 0.05, 0.2, 0.5, 0.82, 0.95, 1],
        [0.035, 0.045, 0.12, 0.145, 0.11, 0.04, 0.03],
    )
    fruit = tube(path, np.interp(t, stations, widths), sides=10)
    pieces: SceneObject = []
    for k in range(count):
        rolled = turn(fruit, (1, 0, 0), 80.0 - 34 * k)
        pieces.append(Piece(turn(rolled, (0, 0, 1), 12.0 * k), skin))
    if count > 1:
        pieces.append(Piece(ellipsoid((0.1, 0.07, 0.07), 16), matt(plain(rgb(0.35, 0.27, 0.12)))))
    return pieces


def _peel(skin: Floats) -> Pattern:
    spots = speckled(skin, rgb(0.45, 0.30, 0.12), 0.05, share=0.22)
    brown = rgb(0.30, 0.22, 0.10)

    def colour(rest: Floats, uv: Floats) -> Floats:
        end = (uv[:, 1] < 0.04) | (uv[:, 1] > 0.965)
        return np.where(end[:, None], brown, spots(rest, uv))

    return colour
