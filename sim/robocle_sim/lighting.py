"""Lighting: a soft key light, a sky, and the reflections of glossy surfaces.

Soft shadows come from many light directions. The picture is shaded at twice its size, and each of
the four sub-pixels of a pixel samples a different quarter of the directions. Their average covers
all directions at a quarter of the cost.
"""

from dataclasses import dataclass

import numpy as np

from robocle_sim.arrays import Floats, Ints, Triple, dot, unit
from robocle_sim.shadows import Casters, Columns, across, along, columns, lit, shadow_map

GROUPS = 4
KEY_SAMPLES, SKY_SAMPLES = 4, 6
KEY_GAIN, SKY_GAIN = 1.15, 0.85


@dataclass(frozen=True)
class Lighting:
    """A key light and a sky.

    Angles are in degrees, measured like those of the camera. Strengths are relative to an ordinary
    room. The softness is the angular radius of the key light.
    """

    key_azimuth: float = 40.0
    key_elevation: float = 50.0
    key_strength: float = 1.0
    key_softness: float = 12.0
    key_colour: Triple = (1.0, 0.97, 0.92)
    sky_strength: float = 1.0
    sky_colour: Triple = (0.94, 0.97, 1.0)


@dataclass(frozen=True)
class Surface:
    """Points to shade, one row each: position, normal, direction to the camera, and material."""

    place: Floats
    normal: Floats
    to_eye: Floats
    colour: Floats
    roughness: Floats
    metallic: Floats
    glow: Floats
    pixel: Ints


@dataclass(frozen=True)
class Arriving:
    """Light that arrives at each point, and the visible shares of the key light and the sky."""

    light: Floats
    key_open: Floats
    sky_open: Floats


def towards(azimuth: float, elevation: float) -> Floats:
    """Return the unit vector from the origin in a direction given by two angles in degrees."""
    a, e = np.radians(azimuth), np.radians(elevation)
    return np.array([np.sin(a) * np.cos(e), -np.cos(a) * np.cos(e), np.sin(e)])


def key_directions(lighting: Lighting) -> Floats:
    """Return directions spread over the disc of the key light (a sunflower spiral)."""
    centre = towards(lighting.key_azimuth, lighting.key_elevation)
    one, two = across(centre)
    count = GROUPS * KEY_SAMPLES
    k = np.arange(count)
    radius = np.sqrt((k + 0.5) / count) * np.tan(np.radians(lighting.key_softness))
    angle = k * 2.399963229728653
    spread = radius * np.cos(angle), radius * np.sin(angle)
    return unit(centre + spread[0][:, None] * one + spread[1][:, None] * two)


def sky_directions() -> Floats:
    """Return directions spread evenly over the upper hemisphere."""
    count = GROUPS * SKY_SAMPLES
    k = np.arange(count)
    z = 0.06 + 0.94 * (k + 0.5) / count
    angle = k * 2.399963229728653
    flat = np.sqrt(1 - z * z)
    return np.stack([flat * np.cos(angle), flat * np.sin(angle), z], axis=1)


def irradiance(surface: Surface, cast: Casters, lighting: Lighting, size: int) -> Arriving:
    """Return the light that arrives at each point, sampled along its sub-pixel's directions."""
    key, sky = np.empty((2, len(surface.pixel))), np.empty((2, len(surface.pixel)))
    group = surface.pixel // size % 2 * 2 + surface.pixel % 2
    for number in range(GROUPS):
        mine = np.flatnonzero(group == number)
        lifted = surface.place[mine] + surface.normal[mine] * (1.5 * cast.cell) - cast.centre
        place, normal = columns(lifted), columns(surface.normal[mine])
        key[:, mine] = _sampled(cast, key_directions(lighting)[number::GROUPS], place, normal)
        sky[:, mine] = _sampled(cast, sky_directions()[number::GROUPS], place, normal)
    down = 0.5 - 0.5 * surface.normal[:, 2]
    bounced = 0.04 + 0.16 * down * (0.3 + 0.7 * sky[0])
    total = (
        (KEY_GAIN * lighting.key_strength * key[1])[:, None] * np.asarray(lighting.key_colour)
        + (lighting.sky_strength * (SKY_GAIN * sky[1] + bounced))[:, None]
        * np.asarray(lighting.sky_colour)
    )  # fmt: skip
    return Arriving(total, key[0], sky[0])


def _sampled(cast: Casters, directions: Floats, place: Columns, normal: Columns) -> Floats:
    """Return the means over directions of visibility, and of visibility times the cosine."""
    free, cosine = np.zeros(len(place[0])), np.zeros(len(place[0]))
    for direction in directions:
        reaches = lit(cast, shadow_map(cast, direction), direction, place)
        free += reaches
        cosine += reaches * np.maximum(along(normal, direction), 0)
    return np.stack([free, cosine]) / len(directions)


def shade(surface: Surface, cast: Casters, lighting: Lighting, size: int) -> Floats:
    """Return the linear light that leaves each point towards the camera."""
    arriving = irradiance(surface, cast, lighting, size)
    diffuse = surface.colour * (1 - surface.metallic)[:, None] * arriving.light
    mirrored = surroundings(reflection(surface), surface.roughness, lighting, arriving.key_open)
    gloss = mirror_share(surface) * mirrored * (0.25 + 0.75 * arriving.sky_open)[:, None]
    total: Floats = diffuse + gloss + surface.colour * surface.glow[:, None]
    return total


def reflection(surface: Surface) -> Floats:
    """Return the mirrored viewing direction at each point."""
    facing = (surface.to_eye * surface.normal).sum(axis=1, keepdims=True)
    mirrored: Floats = 2 * facing * surface.normal - surface.to_eye
    return mirrored


def mirror_share(surface: Surface) -> Floats:
    """Return the Fresnel reflectance per colour channel; rough surfaces reflect less at the rim."""
    facing = np.clip((surface.to_eye * surface.normal).sum(axis=1), 0, 1)
    straight = 0.04 + (surface.colour - 0.04) * surface.metallic[:, None]
    rim = np.maximum(1 - surface.roughness[:, None], straight) - straight
    away = 1 - facing
    share: Floats = straight + rim * (away * away * away * away * away)[:, None]
    return share


def surroundings(
    direction: Floats, roughness: Floats, lighting: Lighting, key_open: Floats
) -> Floats:
    """Return the reflected room (floor, walls, ceiling, lamp, window), blurred by roughness."""
    blur = 0.08 + 0.9 * roughness
    sky = lighting.sky_strength * np.asarray(lighting.sky_colour)
    height = _step(direction[:, 2], 0.0, blur)
    upper = _step(direction[:, 2], 0.75, blur)
    room = (0.22 + 0.40 * height + 0.55 * upper)[:, None] * sky
    side = towards(lighting.key_azimuth - 115, 25)
    window = _step(dot(direction, side), 0.86, blur * 0.5) / (1 + 2 * roughness)
    lamp = towards(lighting.key_azimuth, lighting.key_elevation)
    size = np.cos(np.radians(lighting.key_softness + 6))
    bright = _step(dot(direction, lamp), size, blur * 0.22) / (0.25 + 3 * roughness * roughness)
    key = (1.6 * lighting.key_strength * bright * key_open)[:, None] * np.asarray(
        lighting.key_colour
    )
    seen: Floats = room + (1.3 * window)[:, None] * sky + key
    return seen


def _step(value: Floats, edge: float, blur: Floats) -> Floats:
    t = np.clip((value - edge) / blur * 0.5 + 0.5, 0, 1)
    return t * t * (3 - 2 * t)
