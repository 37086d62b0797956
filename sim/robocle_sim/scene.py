"""Scenes, and how one is rendered to a picture.

A `Scene` has nothing random: objects, camera, light and backdrop are all given. `draw` shades it
at twice the size, composites transparent pieces, averages the sub-pixels, and applies exposure
and sensor noise.
"""

from dataclasses import dataclass, fields

import numpy as np
from PIL import Image

from robocle._internal.randomness import Key, keyed_rng
from robocle_sim.arrays import Floats, Ints, unit
from robocle_sim.backdrop import behind
from robocle_sim.camera import Camera, rays
from robocle_sim.lighting import Lighting, Surface, mirror_share, reflection, shade, surroundings
from robocle_sim.materials import Material
from robocle_sim.mesh import Mesh, SceneObject, merge
from robocle_sim.patterns import Pattern
from robocle_sim.raster import Seen, facing_normals, interpolate, rasterise
from robocle_sim.shadows import casters

OVERSAMPLE = 2


@dataclass(frozen=True)
class Scene:
    """Everything in a picture.

    Attributes:
        object: The object that the picture is of.
        clutter: Unrelated objects around it.
        occluder: An object that hides a share of it. It is close to the camera and casts no shadow.
        camera: The viewpoint.
        lighting: The lamp and the sky.
        floor: Pattern of the floor.
        wall: Pattern of the wall.
        wall_distance: Distance of the wall from the origin.
        wall_azimuth: Azimuth of a camera that looks straight at the wall.
        exposure: Brightness relative to an ordinary picture.
        grain: Standard deviation of the sensor noise, relative to full brightness.
        seed: Seed of the sensor noise.
        grain_key: Key of the sensor noise.
    """

    object: SceneObject
    clutter: SceneObject
    occluder: SceneObject
    camera: Camera
    lighting: Lighting
    floor: Pattern
    wall: Pattern
    wall_distance: float = 2.0
    wall_azimuth: float = 0.0
    exposure: float = 1.0
    grain: float = 0.0
    seed: int = 0
    grain_key: tuple[Key, ...] = ()


@dataclass(frozen=True)
class _Layer:
    """The visible surface of some pieces, with depth and transparency per point."""

    surface: Surface
    depth: Floats
    clear: Floats


def draw(scene: Scene, size: int) -> Image.Image:
    """Render a scene to a square picture of `size` x `size` pixels."""
    fine = size * OVERSAMPLE
    standing = [*scene.object, *scene.clutter]
    pieces = [*standing, *scene.occluder]
    solid = [piece for piece in pieces if piece.material.clear == 0]
    clear = [piece for piece in pieces if piece.material.clear > 0]
    cast = casters(merge([piece.mesh for piece in standing]))
    layer = _layer(solid, scene.camera, fine)
    depth = np.full(fine * fine, np.inf)
    depth[layer.surface.pixel] = layer.depth
    surface = _concatenated(layer.surface, _backdrop(scene, fine, np.flatnonzero(np.isinf(depth))))
    light = np.empty((fine * fine, 3))
    light[surface.pixel] = shade(surface, cast, scene.lighting, fine)
    if clear:
        _add_glass(light, depth, _layer(clear, scene.camera, fine), scene.lighting)
    return _expose(scene, light.reshape(fine, fine, 3))


def _backdrop(scene: Scene, fine: int, pixel: Ints) -> Surface:
    """Return the floor and the wall at the given pixels."""
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


def _concatenated(one: Surface, two: Surface) -> Surface:
    pairs = [(getattr(one, item.name), getattr(two, item.name)) for item in fields(Surface)]
    return Surface(*(np.concatenate(pair) for pair in pairs))


def _layer(pieces: SceneObject, camera: Camera, fine: int) -> _Layer:
    """Rasterise pieces and look up their materials."""
    mesh = merge([piece.mesh for piece in pieces])
    owner = np.repeat(np.arange(len(pieces)), [len(piece.mesh.faces) for piece in pieces])
    seen = rasterise(mesh, camera, fine)
    place = interpolate(seen, mesh, mesh.points)
    materials = [piece.material for piece in pieces]
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


def _add_glass(light: Floats, depth: Floats, layer: _Layer, lighting: Lighting) -> None:
    """Composite glass over the picture: tint, darker rim and reflections."""
    near = np.flatnonzero(layer.depth < depth[layer.surface.pixel])
    s = layer.surface
    pixel = s.pixel[near]
    facing = np.clip((s.to_eye * s.normal).sum(axis=1), 0.08, 1)[near, None]
    through = layer.clear[near, None] * s.colour[near] * (0.35 + 0.65 * np.sqrt(facing))
    open_sky = np.ones(len(s.pixel))
    gloss = 1.6 * mirror_share(s) * surroundings(reflection(s), s.roughness, lighting, open_sky)
    light[pixel] = light[pixel] * through + gloss[near]


def _expose(scene: Scene, light: Floats) -> Image.Image:
    """Apply the exposure, average the sub-pixels, add noise and round to 8 bits."""
    fine = 1 - np.exp(-1.2 * scene.exposure * light)
    mean = (fine[::2, ::2] + fine[1::2, ::2] + fine[::2, 1::2] + fine[1::2, 1::2]) / 4
    stored = mean ** (1 / 2.2) * 1.03
    if scene.grain > 0:
        rng = keyed_rng(scene.seed, *scene.grain_key)
        stored = stored + scene.grain * rng.normal(size=stored.shape)
    return Image.fromarray((np.clip(stored, 0, 1) * 255 + 0.5).astype(np.uint8))
