"""The stage: builds a scene from settings.

The camera moves until the object has the required extent in the picture. An occluder slides in
from the side until it hides the required share of the object. Both are measured on the picture.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np

from robocle._internal.randomness import Key, Rng, keyed_rng
from robocle_sim.arrays import Ints, combine, triple
from robocle_sim.backdrop import SURFACES, WALLS
from robocle_sim.camera import Camera, project
from robocle_sim.conditions import FACTORS, Settings, clean
from robocle_sim.mesh import SceneObject, all_points, merge, settle, shift_object, turn_object
from robocle_sim.objects import CATEGORIES, build
from robocle_sim.props import OCCLUDERS, scattered
from robocle_sim.raster import rasterise
from robocle_sim.scene import Scene

COARSE = 96  # side in pixels of the picture on which occlusion is measured
TOLERANCE = 0.05  # accepted difference between the required and the measured occlusion
REACH = np.linspace(-0.9, 1.3, 111)  # positions of a sliding occluder, in half pictures


@dataclass(frozen=True)
class PlannedPicture:
    """A picture to render. It determines the pixels completely, apart from their number.

    Attributes:
        seed: The seed of the home.
        category: A category of `robocle_sim.home.categories()`.
        instance: Which object of the category, from 1.
        condition: "clean" or the name of a factor.
        level: How severe the factor is, from 1 to 3; 0 for "clean".
        number: Which picture of this object under this condition, from 0.
    """

    seed: int
    category: str
    instance: int
    condition: str = "clean"
    level: int = 0
    number: int = 0

    @property
    def path(self) -> str:
        """The file of the picture, relative to the folder of the data set.

        >>> PlannedPicture(0, "mug", 1, "clean", 0, 4).path
        'clean/mug_01/4.jpg'
        """
        return f"{self.condition}/{self.category}_{self.instance:02d}/{self.number}.jpg"

    def key(self, purpose: str) -> tuple[Key, ...]:
        """Return the key of the random numbers for a purpose.

        It does not contain the level, so that two levels of one picture differ in nothing else.
        """
        return purpose, self.category, self.instance, self.condition, self.number

    def rng(self, purpose: str) -> Rng:
        """Return the random generator of this picture for a purpose."""
        return keyed_rng(self.seed, *self.key(purpose))


def settings_of(planned: PlannedPicture) -> Settings:
    """Draw the settings of a planned picture."""
    usual = clean(planned.rng("view"), planned.category)
    if planned.condition == "clean":
        return usual
    return FACTORS[planned.condition](usual, planned.level, planned.rng("factor"))


def stage(planned: PlannedPicture, settings: Settings) -> Scene:
    """Build the scene of a planned picture under given settings."""
    upright = build(planned.seed, planned.category, planned.instance)
    obj = _posed(upright, planned.category, settings)
    camera = frame(obj, settings)
    rng = planned.rng("backdrop")
    floor = SURFACES[int(rng.integers(len(SURFACES)))](rng)
    wall = WALLS[int(rng.integers(len(WALLS)))](rng)
    return Scene(
        obj,
        scattered(planned.rng("clutter"), settings.clutter, settings.azimuth),
        place_occluder(planned.rng("occluder"), obj, camera, settings.hidden),
        camera,
        settings.lighting,
        floor,
        wall,
        wall_distance=float(rng.uniform(1.1, 2.4)),
        wall_azimuth=settings.azimuth,
        exposure=settings.exposure,
        grain=settings.grain,
        seed=planned.seed,
        grain_key=planned.key("grain"),
    )


def _posed(obj: SceneObject, category: str, settings: Settings) -> SceneObject:
    facing = turn_object(obj, (0, 0, 1), CATEGORIES[category].facing)
    return settle(turn_object(facing, *settings.pose))


def frame(obj: SceneObject, settings: Settings) -> Camera:
    """Move the camera until the object has the extent and the position that the settings ask for.

    Args:
        obj: The object to look at.
        settings: Of which azimuth, elevation, `fill` and `aim` are used.

    Returns:
        The camera after six steps of refinement.
    """
    points = all_points(obj)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    camera = Camera(settings.azimuth, settings.elevation, 3.0, triple(middle))
    for _ in range(6):
        x, y, _depth = project(camera, points, 1)
        across, up, _ahead = camera.axes
        wide = 2 * camera.distance * np.tan(np.radians(camera.angle_of_view / 2))
        right = ((x.min() + x.max()) / 2 - 0.5 - settings.aim[0]) * wide
        down = ((y.min() + y.max()) / 2 - 0.5 - settings.aim[1]) * wide
        target = np.asarray(camera.target) + right * across - down * up
        span = float(max(np.ptp(x), np.ptp(y)))
        camera = replace(
            camera, target=triple(target), distance=camera.distance * span / settings.fill
        )
    return camera


def place_occluder(rng: Rng, obj: SceneObject, camera: Camera, hidden: float) -> SceneObject:
    """Place an occluder that hides a share of the object; for a share of 0 return no pieces."""
    if hidden <= 0:
        return []
    heading = float(rng.choice([0.0, 90.0, 180.0])) + float(rng.uniform(-15, 15))
    for number in rng.permutation(len(OCCLUDERS)):
        model = turn_object(OCCLUDERS[int(number)](rng), (0, 0, 1), heading)
        placed = _slide_in(model, heading, obj, camera, hidden)
        if abs(hidden_share(obj, placed, camera) - hidden) < TOLERANCE:
            break  # otherwise try the next: a hand is too narrow to hide 60 % of a wide object
    return placed


def _slide_in(
    model: SceneObject, heading: float, obj: SceneObject, camera: Camera, hidden: float
) -> SceneObject:
    """Slide an occluder along its heading until it hides the required share."""
    ahead = np.array([np.cos(np.radians(heading)), np.sin(np.radians(heading)), 0.0])

    def slid(step: int) -> SceneObject:
        return _in_front(shift_object(model, ahead * REACH[step]), camera)

    def hides(step: int) -> float:
        return hidden_share(obj, slid(step), camera)

    enough = bisect_left(range(len(REACH) - 1), hidden, key=hides)
    return slid(min(max(enough - 1, 0), enough, key=lambda step: abs(hides(step) - hidden)))


def _in_front(model: SceneObject, camera: Camera) -> SceneObject:
    """Transform an occluder from camera axes to the scene, 0.6 of the way to the target."""
    right, up, ahead = camera.axes
    depth = 0.6 * camera.distance
    half_frame = depth * float(np.tan(np.radians(camera.angle_of_view / 2)))
    centre = camera.eye + depth * ahead
    axes = np.stack([right, up, -ahead])
    moved = []
    for piece in model:
        points = combine(piece.mesh.points * half_frame, axes) + centre
        normals = combine(piece.mesh.normals, axes)
        moved.append(replace(piece, mesh=replace(piece.mesh, points=points, normals=normals)))
    return moved


def hidden_share(obj: SceneObject, occluder: SceneObject, camera: Camera) -> float:
    """Return the share of the object's pixels that lie behind the occluder."""
    own = covered_pixels(obj, camera)
    if not occluder:
        return 0.0
    return float(np.isin(own, covered_pixels(occluder, camera)).mean())


def covered_pixels(obj: SceneObject, camera: Camera) -> Ints:
    """Return the pixels of a coarse picture that an object covers."""
    return rasterise(merge([piece.mesh for piece in obj]), camera, COARSE).pixel
