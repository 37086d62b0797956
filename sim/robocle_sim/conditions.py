"""Conditions: the settings of a picture, such as viewpoint, light, occlusion, clutter and pose.

`clean` is the usual viewpoint in soft light. Each factor changes one aspect of it, from level 1
(mild) to level 3 (severe). This module only draws numbers; `stage` builds the scene from them, so
that a camera path or a fixed amount of occlusion can be passed to it as well.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from robocle._internal.randomness import Rng
from robocle_sim.arrays import Triple
from robocle_sim.lighting import Lighting
from robocle_sim.objects import CATEGORIES


@dataclass(frozen=True)
class Settings:
    """The numbers that differ between two pictures of one object.

    Attributes:
        azimuth: Degrees around the object.
        elevation: Degrees above the horizontal.
        fill: Extent of the object relative to the side of the picture.
        aim: Offset of the object from the centre of the picture, relative to its side.
        lighting: The lamp and the sky.
        exposure: Brightness relative to an ordinary picture.
        grain: Standard deviation of the sensor noise, relative to full brightness.
        hidden: Share of the object's pixels that are behind an occluder.
        clutter: Number of unrelated objects around it.
        pose: Axis and angle in degrees by which the object is rotated.
    """

    azimuth: float
    elevation: float
    fill: float
    aim: tuple[float, float] = (0.0, 0.0)
    lighting: Lighting = field(default_factory=Lighting)
    exposure: float = 1.0
    grain: float = 0.0
    hidden: float = 0.0
    clutter: int = 0
    pose: tuple[Triple, float] = ((1.0, 0.0, 0.0), 0.0)


def clean(rng: Rng, category: str) -> Settings:
    """Draw the settings of the usual viewpoint in soft light."""
    usual = CATEGORIES[category]
    warmth = float(rng.uniform(-0.05, 0.05))
    lighting = Lighting(
        key_azimuth=float(rng.uniform(-80, 80)),
        key_elevation=float(rng.uniform(35, 65)),
        key_strength=float(rng.uniform(0.9, 1.25)),
        key_softness=float(rng.uniform(6, 14)),
        key_colour=(1.0 + warmth, 0.98, 0.94 - warmth),
        sky_strength=float(rng.uniform(0.7, 0.9)),
    )
    return Settings(
        azimuth=float(rng.uniform(-35, 35)),
        elevation=float(rng.uniform(usual.low, usual.high)),
        fill=float(rng.uniform(0.58, 0.76)),
        aim=(float(rng.uniform(-0.05, 0.05)), float(rng.uniform(-0.05, 0.05))),
        lighting=lighting,
    )


def illumination(settings: Settings, level: int, rng: Rng) -> Settings:
    """Dim the light (which adds noise), move it to one side, or colour it."""
    kind = (_dim, _side, _coloured)[int(rng.integers(3))]
    return kind(settings, level, rng)


def _dim(settings: Settings, level: int, rng: Rng) -> Settings:
    exposure = (0.50, 0.28, 0.14)[level - 1] * float(rng.uniform(0.85, 1.15))
    return replace(settings, exposure=exposure, grain=(0.008, 0.016, 0.026)[level - 1])


def _side(settings: Settings, level: int, rng: Rng) -> Settings:
    side = float(rng.choice([-1.0, 1.0])) * float(rng.uniform(75, 150))
    lighting = replace(
        settings.lighting,
        key_azimuth=settings.azimuth + side,
        key_elevation=float(rng.uniform(12, 25)),
        key_strength=(1.6, 1.9, 2.2)[level - 1],
        key_softness=3.0,
        sky_strength=(0.45, 0.24, 0.10)[level - 1],
    )
    return replace(settings, lighting=lighting)


def _coloured(settings: Settings, level: int, rng: Rng) -> Settings:
    tints = ((1.0, 0.62, 0.25), (0.35, 0.55, 1.0), (0.45, 0.95, 0.55), (1.0, 0.45, 0.70))
    tint = tints[int(rng.integers(len(tints)))]
    share = (0.45, 0.7, 0.95)[level - 1]
    red, green, blue = (1 - share + share * channel for channel in tint)
    lighting = replace(
        settings.lighting, key_colour=(red, green, blue), sky_colour=(red, green, blue)
    )
    return replace(settings, lighting=lighting, exposure=(0.95, 0.8, 0.65)[level - 1])


def occlusion(settings: Settings, level: int, rng: Rng) -> Settings:
    """Hide about 20, 40 or 60 % of the object behind an occluder."""
    return replace(settings, hidden=(0.2, 0.4, 0.6)[level - 1] + float(rng.uniform(-0.04, 0.04)))


def scale(settings: Settings, level: int, rng: Rng) -> Settings:
    """Move the camera away, so that the object is small and off-centre."""
    fill = (0.42, 0.31, 0.22)[level - 1] * float(rng.uniform(0.92, 1.08))
    reach = 0.4 * (1 - fill)
    aim = float(rng.uniform(-reach, reach)), float(rng.uniform(-0.6 * reach, 0.6 * reach))
    return replace(settings, fill=fill, aim=aim)


def clutter(settings: Settings, level: int, rng: Rng) -> Settings:
    """Add unrelated blocks, tins, cones and papers around and behind the object."""
    fill = settings.fill * (0.9, 0.8, 0.72)[level - 1]
    return replace(settings, clutter=(4, 8, 14)[level - 1], fill=fill)


def pose(settings: Settings, level: int, rng: Rng) -> Settings:
    """Show the object from the side or behind (1), from above or lying (2), or tumbled (3)."""
    turned = replace(settings, azimuth=float(rng.choice([-1.0, 1.0])) * float(rng.uniform(70, 180)))
    if level == 1:
        return turned
    direction = float(rng.uniform(0, 2 * np.pi))
    axis = float(np.cos(direction)), float(np.sin(direction)), 0.0
    if level == 2 and rng.random() < 0.5:
        return replace(turned, elevation=float(rng.uniform(66, 82)))
    tilt = float(rng.uniform(75, 105)) if level == 2 else float(rng.uniform(110, 180))
    return replace(turned, pose=(axis, tilt), elevation=float(rng.uniform(12, 60)))


Factor = Callable[[Settings, int, Rng], Settings]
"""Changes the settings of a clean picture; the level is 1, 2 or 3."""
FACTORS: dict[str, Factor] = {
    "illumination": illumination,
    "occlusion": occlusion,
    "scale": scale,
    "clutter": clutter,
    "pose": pose,
}
CONDITIONS = ("clean", *FACTORS)
