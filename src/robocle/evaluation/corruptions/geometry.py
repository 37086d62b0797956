"""Geometry: the picture is rotated, shifted, scaled, sheared, put in perspective and flipped.

Everything is one homography and therefore one resampling: several would blur the picture and cost
several times as much. Points are measured from the centre as fractions of the side, x to the right
and y down, so the corners are at (+-1/2, +-1/2).
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robocle.evaluation.corruptions import side_of
from robocle.spec import Described, require_between, require_choice
from robocle.types import Pixels

Homography = NDArray[np.float64]
Inset = tuple[float, float]
ShearUnit = Literal["degrees", "tangent"]

# Top left, top right, bottom right, bottom left.
CORNERS = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
PERSPECTIVE_CHANCE, MIRROR_CHANCE, FLIP_CHANCE = 0.2, 0.5, 0.3


@dataclass(frozen=True, slots=True)
class Motion:
    """How a picture is moved, in this order; the defaults leave it unchanged."""

    scale: float = 1.0
    shear: float = 0.0
    """How far a point moves left per unit down: the tangent of the shear angle."""
    degrees: float = 0.0
    """Clockwise, about the centre."""
    right: float = 0.0
    """As a fraction of the side."""
    down: float = 0.0
    """As a fraction of the side."""
    insets: tuple[Inset, ...] = ((0.0, 0.0),) * 4
    """How far each of CORNERS moves inwards along x and y, as fractions of the side."""
    mirrored: bool = False
    """Left and right are swapped."""
    upended: bool = False
    """Top and bottom are swapped."""


class Geometry(Described):
    """One random homography: affine, perspective and flips; uncovered areas are black."""

    in_words: ClassVar[str] = "turned or moved"
    advice: ClassVar[str] = "also teach it turned, tilted, from further away and off-centre"
    checked: ClassVar[bool] = True

    def __init__(self, strength: float = 1.0, shear_unit: ShearUnit = "degrees") -> None:
        """Set the size of the motion.

        Args:
            strength: Scales all ranges: 1 is the paper's, 0 moves nothing but flips.
            shear_unit: How the paper's shear of +-0.1 is read: as an angle in degrees, as
                torchvision does, or as the tangent of the angle.
        """
        require_between("strength", strength, 0, 2)
        require_choice("shear_unit", shear_unit, get_args(ShearUnit))
        self.strength = strength
        self.shear_unit = shear_unit

    def __call__(self, pixels: Pixels, rng: np.random.Generator) -> Pixels:
        return moved(pixels, draw_motion(rng, self.strength, self.shear_unit))


def draw_motion(
    rng: np.random.Generator, strength: float = 1.0, shear_unit: ShearUnit = "degrees"
) -> Motion:
    """Draw from the paper's ranges, whose distance from neutral is multiplied by the strength.

    The probabilities of perspective and flips do not change. Every number is drawn even if it is
    not needed, so the same generator produces the same motion at every strength, only further.
    """
    degrees, right, down, scale, shear = (strength * rng.uniform(-1, 1, 5)).tolist()
    slant, mirror, upend = rng.random(3).tolist()
    insets = strength * rng.uniform(0, 0.2 / 2, (4, 2)) * (slant < PERSPECTIVE_CHANCE)
    return Motion(
        scale=1 + 0.2 * scale,
        shear=0.1 * shear if shear_unit == "tangent" else math.tan(math.radians(0.1 * shear)),
        degrees=30 * degrees,
        right=0.2 * right,
        down=0.2 * down,
        insets=tuple((x, y) for x, y in insets.tolist()),
        mirrored=mirror < MIRROR_CHANCE,
        upended=upend < FLIP_CHANCE,
    )


def moved(pixels: Pixels, motion: Motion) -> Pixels:
    """Return the picture after this motion, sampled bilinearly."""
    side = side_of(pixels)
    to_pixels = np.array([[side, 0, side / 2], [0, side, side / 2], [0, 0, 1]])
    # PIL takes the inverse map: where each pixel comes from.
    origin = to_pixels @ np.linalg.inv(homography(motion)) @ np.linalg.inv(to_pixels)
    image = Image.fromarray(pixels).transform(
        (side, side),
        Image.Transform.PERSPECTIVE,
        (origin / origin[2, 2]).ravel()[:8].tolist(),
        Image.Resampling.BILINEAR,
    )
    return np.asarray(image)


def homography(motion: Motion) -> Homography:
    """Return the homography that moves the points of the picture."""
    flip = np.diag([-1.0 if motion.mirrored else 1.0, -1.0 if motion.upended else 1.0, 1.0])
    return flip @ _perspective(motion.insets) @ _affine(motion)


def _affine(motion: Motion) -> Homography:
    angle = math.radians(motion.degrees)
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    matrix = np.eye(3)
    matrix[:2, :2] = motion.scale * turn @ np.array([[1.0, -motion.shear], [0.0, 1.0]])
    matrix[:2, 2] = motion.right, motion.down
    return matrix


def _perspective(insets: tuple[Inset, ...]) -> Homography:
    """Return the homography that moves CORNERS inwards: 8 equations, 8 unknowns."""
    ends = CORNERS - np.sign(CORNERS) * np.array(insets)
    equations = []
    for (x, y), (u, v) in zip(CORNERS, ends, strict=True):
        equations.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        equations.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    entries = np.linalg.solve(np.array(equations), ends.ravel())
    return np.append(entries, 1.0).reshape(3, 3)
