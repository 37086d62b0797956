"""A scene and how it becomes a picture.

A `Scene` holds nothing random: things, camera, light and backdrop are all given. `draw` shades it
at twice the size, lays clear parts over it, adds the camera's exposure and grain, and halves it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from PIL import Image

from robocle.randomness import Key, keyed_rng
from robocle.sim.backdrop import behind
from robocle.sim.camera import Camera, rays
from robocle.sim.lighting import (
    Lighting,
    Surface,
    mirror_share,
    reflection,
    shade,
    surroundings,
)
from robocle.sim.materials import Material, Pattern
from robocle.sim.mesh import Floats, Ints, Mesh, Thing, merge, unit
from robocle.sim.raster import Seen, facing_normals, interpolate, rasterise
from robocle.sim.shadows import casters

OVERSAMPLE = 2


@dataclass(frozen=True)
class Scene:
    """All that is in a picture; what is in `front` is near the camera and casts no shadow."""

    thing: Thing
    others: Thing
    front: Thing
    camera: Camera
    lighting: Lighting
    floor: Pattern
    wall: Pattern
    wall_distance: float = 2.0
    wall_azimuth: float = 0.0  # of a camera that looks straight at the wall
    exposure: float = 1.0
    grain: float = 0.0
    seed: int = 0
    grain_key: tuple[Key, ...] = ()


@dataclass(frozen=True)
class _Layer:
    """What the camera sees of some parts, and which material is where."""

    surface: Surface
    depth: Floats
    clear: Floats


def draw(scene: Scene, size: int) -> Image.Image:
    """Render a scene to a square picture."""
    fine = size * OVERSAMPLE
    standing = [*scene.thing, *scene.others]
    parts = [*standing, *scene.front]
    solid = [part for part in parts if part.material.clear == 0]
    clear = [part for part in parts if part.material.clear > 0]
    cast = casters(merge([part.mesh for part in standing]))
    layer = _layer(solid, scene.camera, fine)
    depth = np.full(fine * fine, np.inf)
    depth[layer.surface.pixel] = layer.depth
    surface = _together(layer.surface, _backdrop(scene, fine, np.flatnonzero(np.isinf(depth))))
    light = np.empty((fine * fine, 3))
    light[surface.pixel] = shade(surface, cast, scene.lighting, fine)
    if clear:
        _lay_over(light, depth, _layer(clear, scene.camera, fine), scene.lighting)
    return _expose(scene, light.reshape(fine, fine, 3))


def _backdrop(scene: Scene, fine: int, pixel: Ints) -> Surface:
    """Floor and wall at the given pixels."""
    directions = rays(scene.camera, fine)[pixel]
    place, normal, on_plane = behind(
        scene.camera, scene.wall_distance, scene.wall_azimuth, directions
    )
    on_wall = normal[:, 2] < 0.5
    colour = np.empty_like(place)
    colour[on_wall] = scene.wall(on_plane[on_wall], on_plane[on_wall, :2])
    colour[~on_wall] = scene.floor(on_plane[~on_wall], on_plane[~on_wall, :2])
    none = np.zeros(len(pixel))
    return Surface(place, normal, unit(-directions), colour, none + 0.7, none, none, pixel)


def _together(one: Surface, two: Surface) -> Surface:
    pairs = [(getattr(one, item.name), getattr(two, item.name)) for item in fields(Surface)]
    return Surface(*(np.concatenate(pair) for pair in pairs))


def _layer(parts: Thing, camera: Camera, fine: int) -> _Layer:
    """Rasterise parts and look up their materials."""
    mesh = merge([part.mesh for part in parts])
    owner = np.repeat(np.arange(len(parts)), [len(part.mesh.faces) for part in parts])
    seen = rasterise(mesh, camera, fine)
    place = interpolate(seen, mesh, mesh.points)
    materials = [part.material for part in parts]
    mine: Ints = owner[seen.face]
    surface = Surface(
        place,
        facing_normals(seen, mesh, place, camera.eye),
        unit(camera.eye - place),
        _colours(materials, mine, seen, mesh),
        np.array([m.roughness for m in materials])[mine],
        np.array([m.metallic for m in materials])[mine],
        np.array([m.glow for m in materials])[mine],
        seen.pixel,
    )
    return _Layer(surface, seen.depth, np.array([m.clear for m in materials])[mine])


def _colours(materials: list[Material], mine: Ints, seen: Seen, mesh: Mesh) -> Floats:
    rest, uv = interpolate(seen, mesh, mesh.rest), interpolate(seen, mesh, mesh.uv)
    colours = np.empty_like(rest)
    for number, material in enumerate(materials):
        here = np.flatnonzero(mine == number)
        if len(here):
            colours[here] = material.colour(rest[here], uv[here])
    return colours


def _lay_over(light: Floats, depth: Floats, layer: _Layer, lighting: Lighting) -> None:
    """Lay glass over what is behind it: tint it, darken its rim, add its reflections."""
    near = np.flatnonzero(layer.depth < depth[layer.surface.pixel])
    s = layer.surface
    pixel = s.pixel[near]
    facing = np.clip((s.to_eye * s.normal).sum(axis=1), 0.08, 1)[near, None]
    through = layer.clear[near, None] * s.colour[near] * (0.35 + 0.65 * np.sqrt(facing))
    open_sky = np.ones(len(s.pixel))
    gloss = 1.6 * mirror_share(s) * surroundings(reflection(s), s.roughness, lighting, open_sky)
    light[pixel] = light[pixel] * through + gloss[near]


def _expose(scene: Scene, light: Floats) -> Image.Image:
    """Average the sub-pixels, then expose, add grain and store as 8 bits."""
    fine = 1 - np.exp(-1.2 * scene.exposure * light)
    mean = (fine[::2, ::2] + fine[1::2, ::2] + fine[::2, 1::2] + fine[1::2, 1::2]) / 4
    stored = mean ** (1 / 2.2) * 1.03
    if scene.grain > 0:
        rng = keyed_rng(scene.seed, *scene.grain_key)
        stored = stored + scene.grain * rng.normal(size=stored.shape)
    return Image.fromarray((np.clip(stored, 0, 1) * 255 + 0.5).astype(np.uint8))
