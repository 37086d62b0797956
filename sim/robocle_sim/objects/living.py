"""Objects in a living room: chair, potted plant, umbrella, candle, lamp."""

import numpy as np

from robocle._internal.randomness import Rng
from robocle_sim.arrays import Floats
from robocle_sim.colours import other_paint, paint, rgb
from robocle_sim.materials import Material, any_metal, glossy, matt, satin
from robocle_sim.mesh import Mesh, Piece, SceneObject, grid, merge, shift, turn, turn_object
from robocle_sim.objects.kitchen import print_on
from robocle_sim.outlines import arc, curve
from robocle_sim.patterns import BEECH, WALNUT, bands, cloth, dots, mottled, plain, stripes
from robocle_sim.shapes import box, cylinder, disc, ellipsoid, lathe, tube


def chair(rng: Rng) -> SceneObject:
    """A small chair with four legs and a slatted back, facing -y."""
    woods = (BEECH, WALNUT, plain(paint(rng)), plain(paint(rng)))
    skin = satin(woods[int(rng.integers(len(woods)))])
    seat_skin = skin if rng.random() < 0.5 else matt(cloth(paint(rng), 0.03))
    wide, seat, back = rng.uniform(0.42, 0.54), rng.uniform(0.42, 0.5), rng.uniform(0.45, 0.6)
    thick = float(rng.uniform(0.02, 0.032))
    pieces = [Piece(shift(box((wide + 0.06, wide + 0.06, 0.06), 0.025), (0, 0, seat)), seat_skin)]
    half = wide / 2
    for x in (-half, half):
        front = tube([(x * 1.08, -half * 1.08, thick), (x, -half, seat)], thick)
        post = tube(
            curve(
                [(x * 1.08, half * 1.1, thick), (x, half, seat), (x, half + 0.1, seat + back)], 16
            ),
            thick,
        )
        rail = tube([(x * 1.04, -half, seat * 0.45), (x * 1.04, half, seat * 0.45)], thick * 0.7)
        pieces += [Piece(front, skin), Piece(post, skin), Piece(rail, skin)]
    slats = int(rng.integers(2, 5))
    if rng.random() < 0.5:
        for k in range(slats):
            height = back * (0.35 + 0.62 * k / max(slats - 1, 1))
            slat = box((wide, 0.025, 0.45 * back / slats), 0.01)
            pieces.append(Piece(shift(slat, (0, half + 0.1 * height / back, seat + height)), skin))
    else:
        pieces.append(
            Piece(shift(box((wide + 0.05, 0.03, 0.1), 0.012), (0, half + 0.095, seat + back)), skin)
        )
        for x in np.linspace(-half * 0.7, half * 0.7, slats + 2):
            bar = tube([(float(x), half, seat), (float(x), half + 0.09, seat + back)], thick * 0.55)
            pieces.append(Piece(bar, skin))
    return pieces


def plant(rng: Rng) -> SceneObject:
    """A plant in a pot, with broad or narrow leaves."""
    base = paint(rng)
    rim, foot = rng.uniform(0.26, 0.32), rng.uniform(0.17, 0.22)
    clay = matt(mottled(rgb(0.72, 0.42, 0.30), rgb(0.62, 0.36, 0.26), 0.1))
    pot_skin, lip_skin = clay, clay
    if rng.random() < 0.6:
        pot_skin, lip_skin = satin(print_on(rng, base)), satin(plain(base))
    pot = lathe([(foot, 0), (rim - 0.02, 0.36)], [(0, 0), (foot, 0)])
    lip = lathe(
        [
            (rim - 0.02, 0.36),
            (rim + 0.02, 0.36),
            (rim + 0.02, 0.45),
            (rim - 0.02, 0.45),
            (rim - 0.03, 0.38),
        ]
    )
    pieces = [
        Piece(pot, pot_skin),
        Piece(lip, lip_skin),
        Piece(disc(rim - 0.025, 0.4), matt(plain(rgb(0.22, 0.16, 0.12)))),
    ]
    greens = (
        rgb(0.24, 0.45, 0.18),
        rgb(0.35, 0.55, 0.22),
        rgb(0.16, 0.36, 0.24),
        rgb(0.50, 0.58, 0.30),
    )
    green = greens[int(rng.integers(4))]
    leaf_skin = satin(mottled(green, green * 0.6, 0.12))
    long, wide = rng.uniform(0.45, 0.75), rng.uniform(0.06, 0.17)
    leaves = [
        turn(
            _leaf(long * float(rng.uniform(0.7, 1.1)), wide, float(rng.uniform(15, 75))),
            (0, 0, 1),
            137.5 * k,
        )
        for k in range(int(rng.integers(11, 18)))
    ]
    return [*pieces, Piece(shift(merge(leaves), (0, 0, 0.4)), leaf_skin)]


def _leaf(long: float, wide: float, lean: float) -> Mesh:
    """A leaf that starts at the origin, leans outwards by `lean` degrees and droops."""
    t, s = np.linspace(0, 1, 14)[:, None], np.linspace(-1, 1, 7)[None]
    angle = np.radians(90 - lean * (0.35 + t))
    step = long / 14
    x, z = np.cumsum(np.cos(angle), axis=0) * step, np.cumsum(np.sin(angle), axis=0) * step
    width = wide * np.sin(np.pi * (0.06 + 0.94 * t) ** 0.7)
    return grid(np.stack([x + 0 * s, width * s, z + 0.35 * width * np.abs(s)], axis=-1))


def umbrella(rng: Rng) -> SceneObject:
    """An open umbrella that rests on its rim and on the end of its handle."""
    one = paint(rng)
    two = one if rng.random() < 0.4 else paint(rng)
    gores, rise = 8, rng.uniform(0.28, 0.42)
    a = np.linspace(0, 2 * np.pi, gores * 8, endpoint=False)[None]
    t = np.linspace(0, 1, 18)[:, None]
    between = np.abs(np.sin(a * gores / 2))
    radius = 0.8 * t * (1 - 0.05 * between * t)
    height = rise * (1 - t * t) + 0.05 * between * t * t
    canopy = np.stack([radius * np.cos(a), radius * np.sin(a), height + 0 * a], axis=-1)

    def colour(rest: Floats, uv: Floats) -> Floats:
        return np.where((np.floor(uv[:, 0] * gores) % 2 == 0)[:, None], one, two)

    rod = tube([(0, 0, -0.72), (0, 0, rise + 0.1)], 0.016, sides=10)
    hook = tube(
        curve(
            [(0, 0, -0.6), (0, 0, -0.85), (0.06, 0, -0.94), (0.14, 0, -0.92), (0.17, 0, -0.84)], 20
        ),
        0.028,
    )
    ribs = [
        tube(
            curve(
                [
                    (0, 0, rise - 0.01),
                    (0.45 * np.cos(b), 0.45 * np.sin(b), rise * 0.68 - 0.012),
                    (0.79 * np.cos(b), 0.79 * np.sin(b), 0.0),
                ],
                10,
            ),
            0.007,
            sides=6,
        )
        for b in np.linspace(0, 2 * np.pi, gores, endpoint=False)
    ]
    grip = matt(WALNUT) if rng.random() < 0.5 else glossy(plain(paint(rng)))
    pieces = [Piece(grid(canopy, wrap=True), Material(colour, roughness=0.6)),
             Piece(merge([rod, *ribs]), any_metal(rng)), Piece(hook, grip)]  # fmt: skip
    lean = float(np.degrees(np.arctan2(0.95, 0.8)))
    return turn_object(turn_object(pieces, (0, 1, 0), lean), (0, 0, 1), float(rng.uniform(40, 75)))


def candle(rng: Rng) -> SceneObject:
    """A burning candle in a holder with a ring-shaped grip."""
    radius, height = rng.uniform(0.09, 0.16), rng.uniform(0.55, 0.95)
    wax, holder = paint(rng), any_metal(rng) if rng.random() < 0.6 else glossy(plain(paint(rng)))
    dish = curve([(0.28, 0), (0.36, 0.02), (0.42, 0.1)], 12)
    inner = curve([(0.40, 0.1), (0.34, 0.04), (0, 0.04)], 12)
    socket = cylinder(radius + 0.035, 0.03, 0.17, 0.01)
    grip = shift(
        turn(
            tube(np.column_stack([arc(0.12, 0, 345, 24), np.zeros(24)]), 0.022, closed=True),
            (1, 0, 0),
            90,
        ),
        (0.5, 0, 0.13),
    )
    top = 0.1 + height
    body = lathe(
        [(radius, 0.1), (radius, top - 0.03)],
        curve(
            [
                (radius, top - 0.03),
                (radius * 0.8, top),
                (radius * 0.4, top - 0.03),
                (0, top - 0.03),
            ],
            12,
        ),
    )
    flame = lathe(curve([(0, 0), (0.04, 0.05), (0.03, 0.12), (0, 0.22)], 14), sides=20)
    pattern = (
        plain(wax)
        if rng.random() < 0.5
        else bands(2, (0.3, 0.36, 0.42, 0.48), wax, other_paint(rng, wax))
    )
    return [
        Piece(lathe(dish, inner, [(0, 0), (0.28, 0)]), holder),
        Piece(socket, holder),
        Piece(grip, holder),
        Piece(body, Material(pattern, roughness=0.4)),
        Piece(shift(cylinder(0.012, 0, 0.1), (0, 0, top - 0.03)), matt(plain(rgb(0.1, 0.1, 0.1)))),
        Piece(shift(flame, (0, 0, top + 0.03)), Material(plain(rgb(1.0, 0.82, 0.42)), glow=1.6)),
    ]


def lamp(rng: Rng) -> SceneObject:
    """A table lamp with a shade."""
    base = any_metal(rng) if rng.random() < 0.4 else glossy(plain(paint(rng)))
    height, low, high = rng.uniform(0.45, 0.75), rng.uniform(0.36, 0.46), rng.uniform(0.16, 0.32)
    top = height + rng.uniform(0.36, 0.48)
    belly = rng.uniform(0.04, 0.2)
    foot = curve([(0.27, 0), (0.26, 0.03), (0.08, 0.07), (0.04 + belly, 0.22), (0.035, 0.42),
                  (0.03, height + 0.1)], 40)  # fmt: skip
    shade_paint = paint(
        rng, "white", "cream", "yellow", "red", "teal", "sky", "pink", "green", "orange"
    )
    ink = other_paint(rng, shade_paint)
    pattern = (plain(shade_paint), stripes(24, shade_paint, ink, along=0, share=0.35),
               dots(18, 5, shade_paint, ink))[int(rng.integers(3))]  # fmt: skip
    shade = lathe([(low, height), (high, top)], [(high - 0.01, top), (low - 0.01, height)])
    bulb = shift(ellipsoid((0.07, 0.07, 0.09)), (0, 0, height + 0.16))
    return [Piece(lathe(foot, [(0, 0), (0.27, 0)]), base),
            Piece(shade, Material(pattern, roughness=0.9, glow=0.35)),
            Piece(bulb, Material(plain(rgb(1, 0.9, 0.7)), glow=1.5))]  # fmt: skip
