"""Objects on a desk: book, keyboard, remote control, clock, glasses, headphones."""

import numpy as np

from robocle._internal.randomness import Rng
from robocle_sim.arrays import Floats
from robocle_sim.colours import other_paint, paint, rgb
from robocle_sim.materials import Material, any_metal, glass, glossy, matt, satin
from robocle_sim.mesh import Mesh, Piece, SceneObject, merge, shift, shift_object, turn, turn_object
from robocle_sim.outlines import arc, curve, oval
from robocle_sim.patterns import Pattern, cloth, plain
from robocle_sim.shapes import box, cylinder, disc, extrude, lathe, loft, tube

DARK = plain(rgb(0.13, 0.13, 0.15))


def book(rng: Rng) -> SceneObject:
    """A hardback lying on its back cover."""
    wide, tall, thick = rng.uniform(0.64, 0.8), 1.0, rng.uniform(0.1, 0.24)
    base = paint(rng)
    cover = satin(_cover(rng, base, wide, tall))
    plates = [shift(box((wide, tall, 0.025), 0.01), (0, 0, z)) for z in (0.0125, thick + 0.0375)]
    spine = shift(box((0.03, tall, thick + 0.05), 0.012), (-wide / 2 + 0.005, 0, thick / 2 + 0.025))
    pages = shift(box((wide - 0.06, tall - 0.06, thick), 0.004), (0.0, 0, thick / 2 + 0.025))
    return [Piece(plates[0], satin(plain(base))), Piece(plates[1], cover),
            Piece(spine, satin(plain(base))), Piece(pages, matt(_pages()))]  # fmt: skip


def _pages() -> Pattern:
    def colour(rest: Floats, uv: Floats) -> Floats:
        line = 0.86 + 0.14 * (rest[:, 2] * 160 % 1 < 0.6)
        return rgb(0.94, 0.91, 0.82) * line[:, None]

    return colour


def _cover(rng: Rng, base: Floats, wide: float, tall: float) -> Pattern:
    """A title made of bars, and a picture: a disc, bars or a rectangle."""
    ink, second = other_paint(rng, base), paint(rng)
    style, title = int(rng.integers(3)), float(rng.uniform(0.2, 0.32))

    def colour(rest: Floats, uv: Floats) -> Floats:
        x, y = rest[:, 0] / wide, rest[:, 1] / tall
        bars = (np.abs(x) < 0.36) & (np.abs(y - title) < 0.09) & ((y - title + 1) * 11 % 1 < 0.6)
        art = (
            (x * x + (y + 0.15) ** 2 < 0.05, (np.abs(y + 0.18) < 0.16) & (x * 9 % 1 < 0.5),
             (np.abs(x) < 0.3) & (np.abs(y + 0.16) < 0.2))[style]
        )  # fmt: skip
        hinge = np.abs(x + 0.43) < 0.008
        printed = np.where(art[:, None], second, base)
        printed = np.where(bars[:, None], ink, printed)
        return np.where(hinge[:, None], base * 0.5, printed)

    return colour


def _keycap(wide: float, deep: float, high: float) -> Mesh:
    """A key with a tapered rim and few triangles."""
    ring = oval(wide, deep, power=6, count=12)
    levels = ((1.0, 0.0), (0.95, high * 0.6), (0.84, high))
    rings = np.stack([np.column_stack([ring * s, np.full(12, z)]) for s, z in levels])
    return loft(rings)


def keyboard(rng: Rng) -> SceneObject:
    """A computer keyboard: rows of keys and a space bar."""
    base, keys = _key_colours(rng)
    columns = int(rng.integers(11, 16))
    pitch = 1.5 / columns
    caps: list[Mesh] = []
    for row in range(5):
        for column in range(columns):
            if row == 0 and columns * 0.25 < column < columns * 0.7:
                continue
            cap = _keycap(pitch * 0.86, 0.088, 0.045)
            caps.append(shift(cap, ((column - columns / 2 + 0.5) * pitch, (row - 2) * 0.105, 0.05)))
    low, high = int(columns * 0.25) + 1, int(np.ceil(columns * 0.7)) - 1
    space = _keycap(pitch * (high - low + 1) * 0.98, 0.088, 0.045)
    caps.append(shift(space, (((low + high + 1) / 2 - columns / 2) * pitch, -0.21, 0.05)))
    accents = [cap for k, cap in enumerate(caps) if k in (0, columns * 2, len(caps) - 2)]
    board = shift(box((1.6, 0.62, 0.07), 0.03), (0, 0, 0.035))
    tint = satin(plain(keys if rng.random() < 0.5 else paint(rng)))
    rest = [cap for k, cap in enumerate(caps) if k not in (0, columns * 2, len(caps) - 2)]
    return [Piece(board, satin(plain(base))), Piece(merge(rest), satin(plain(keys))),
            Piece(merge(accents), tint)]  # fmt: skip


def _key_colours(rng: Rng) -> tuple[Floats, Floats]:
    base = paint(rng, "charcoal", "white", "grey", "cream", "navy", "pink", "mint")
    keys = paint(rng, "charcoal", "white", "grey", "cream", "sky")
    return base, keys if float(np.abs(keys - base).sum()) > 0.05 else base * 0.6


def remote(rng: Rng) -> SceneObject:
    """A remote control with rows of buttons."""
    wide, base = (
        rng.uniform(0.22, 0.32),
        paint(rng, "charcoal", "grey", "white", "navy", "cream", "red"),
    )
    body = extrude(oval(wide, 1.0, power=rng.uniform(3.5, 8), count=40), 0.1, 0.025)
    ink = other_paint(rng, base)
    buttons: list[Mesh] = []
    for row in range(int(rng.integers(5, 8))):
        for column in (-1, 0, 1):
            spot = (column * wide * 0.27, -0.38 + row * 0.075, 0.09)
            buttons.append(shift(cylinder(0.026, 0, 0.03, 0.006, sides=14), spot))
    pad = shift(lathe(arc(0.022, 0, 180, 8) + (wide * 0.26, 0.0)), (0, 0.25, 0.1))
    centre = shift(cylinder(wide * 0.15, 0, 0.025, 0.008), (0, 0.25, 0.09))
    power = shift(cylinder(0.03, 0, 0.03, 0.006, sides=18), (-wide * 0.25, 0.42, 0.09))
    return [
        Piece(body, satin(plain(base))),
        Piece(merge(buttons), satin(plain(ink))),
        Piece(merge([pad, centre]), satin(plain(ink))),
        Piece(power, satin(plain(rgb(0.8, 0.12, 0.1)))),
    ]


def clock(rng: Rng) -> SceneObject:
    """An alarm clock with two bells, hands and feet, facing -y."""
    base = any_metal(rng) if rng.random() < 0.4 else glossy(plain(paint(rng)))
    depth = rng.uniform(0.2, 0.32)
    case = lathe(
        [(0.42, 0), (0.45, 0.03), (0.45, depth - 0.03), (0.42, depth)],
        [(0.42, 0), (0, 0)],
        curve([(0.42, depth), (0.40, depth + 0.01), (0.38, depth - 0.02)], 8),
    )
    face = disc(0.39, depth - 0.02)
    dial = paint(rng, "white", "cream", "sky", "yellow", "charcoal")
    ink = other_paint(rng, dial)
    hour, minute = rng.uniform(0, 360), rng.uniform(0, 360)
    hands = [
        turn(
            shift(box((w, length, 0.015), 0.006), (0, length / 2 - 0.03, depth + k * 0.01)),
            (0, 0, 1),
            angle,
        )
        for k, (w, length, angle) in enumerate(((0.045, 0.22, hour), (0.03, 0.32, minute)))
    ]
    front: SceneObject = [
        Piece(case, base),
        Piece(face, matt(_dial(dial, ink))),
        Piece(merge(hands), satin(plain(ink))),
    ]
    standing = shift_object(turn_object(front, (1, 0, 0), 90), (0, depth / 2, 0.5))
    return [*standing, *_bells_and_feet(any_metal(rng))]


def _bells_and_feet(skin: Material) -> SceneObject:
    dome = lathe(curve([(0.16, 0), (0.14, 0.08), (0.0, 0.13)], 12), [(0, 0), (0.16, 0)])
    pieces: SceneObject = []
    for side in (-1, 1):
        bell = shift(turn(shift(dome, (0, 0, 0.47)), (0, 1, 0), 32.0 * side), (0, 0, 0.5))
        foot = tube([(0.2 * side, 0, 0.12), (0.33 * side, 0, -0.02)], [0.045, 0.03])
        pieces += [Piece(bell, skin), Piece(foot, skin)]
    return pieces


def _dial(dial: Floats, ink: Floats) -> Pattern:
    """A dial with twelve ticks."""

    def colour(rest: Floats, uv: Floats) -> Floats:
        radius = np.sqrt(rest[:, 0] ** 2 + rest[:, 1] ** 2)
        tick = (uv[:, 0] * 12 + 0.12) % 1 < 0.24
        marked = tick & (radius > 0.28) & (radius < 0.35)
        return np.where((marked | (radius < 0.03))[:, None], ink, dial)

    return colour


def glasses(rng: Rng) -> SceneObject:
    """Spectacles with open temples, facing -y."""
    wide, high = rng.uniform(0.2, 0.26), rng.uniform(0.14, 0.24)
    thick = float(rng.uniform(0.014, 0.034))
    frame = any_metal(rng) if thick < 0.02 else glossy(plain(paint(rng)))
    tint = (rgb(0.97, 0.98, 1), rgb(0.35, 0.35, 0.38), rgb(0.7, 0.5, 0.3), rgb(0.4, 0.55, 0.7))[
        int(rng.integers(4))
    ]
    outline = oval(2 * wide, 2 * high, power=rng.uniform(2, 4), count=40)
    pieces: SceneObject = []
    for side in (-1.0, 1.0):
        centre = (side * (wide + 0.06), 0.0, high)
        rim = np.stack([outline[:, 0], 0 * outline[:, 0], outline[:, 1]], axis=1)
        lens = turn(extrude(outline, 0.008), (1, 0, 0), 90)
        pieces.append(Piece(shift(tube(rim, thick, closed=True), centre), frame))
        pieces.append(Piece(shift(lens, centre), glass(tint)))
        outer = side * (2 * wide + 0.06)
        arm = curve(
            [
                (outer, 0, high * 1.4),
                (outer + side * 0.03, 0.06, high * 1.42),
                (outer + side * 0.02, 0.6, high * 1.35),
                (outer - side * 0.02, 0.82, high * 0.7),
            ],
            24,
        )
        pieces.append(Piece(tube(arm, thick * 0.9, flat=1.3), frame))
    bridge = curve([(-0.07, 0, high * 1.2), (0, -0.01, high * 1.42), (0.07, 0, high * 1.2)], 12)
    return [*pieces, Piece(tube(bridge, thick), frame)]


def headphones(rng: Rng) -> SceneObject:
    """Headphones with the band on top."""
    base = paint(rng)
    band_paint = base if rng.random() < 0.5 else paint(rng)
    radius, cup = rng.uniform(0.46, 0.54), rng.uniform(0.18, 0.25)
    t = np.radians(np.linspace(-12, 192, 44))
    path = np.stack([radius * np.cos(t), 0 * t, 0.45 + radius * np.sin(t)], axis=1)
    pad = path[12:32] - np.array([0, 0, 0.035])
    pieces = [Piece(tube(path, 0.045, flat=0.4), satin(plain(band_paint))),
             Piece(tube(pad, 0.07, flat=0.45), matt(cloth(rgb(0.2, 0.2, 0.22), 0.02)))]  # fmt: skip
    shell_shape = lathe(curve([(cup * 0.5, 0.15), (cup * 0.9, 0.13), (cup, 0.05), (cup, 0.0)], 14),
                        [(0, 0.15), (cup * 0.5, 0.15)])  # fmt: skip
    cushion = lathe(arc(0.06, 0, 360, 18) + (cup - 0.05, -0.03))
    grille = disc(cup - 0.06, -0.03)
    for side in (-1.0, 1.0):
        for mesh, skin in (
            (shell_shape, glossy(plain(base))),
            (cushion, matt(DARK)),
            (grille, matt(DARK)),
        ):
            turned = turn(mesh, (0, 1, 0), 90.0 * side)
            pieces.append(Piece(shift(turned, (side * (radius - 0.04), 0, 0.32)), skin))
    return pieces
