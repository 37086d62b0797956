"""The camera: its position, and the projection of points of the scene onto the picture.

At azimuth 0 the camera looks along +y at the front of an object. A positive azimuth moves it
anticlockwise around the object, as seen from above.
"""

from dataclasses import dataclass

import numpy as np

from robocle_sim.arrays import Floats, Triple, dot, unit


@dataclass(frozen=True)
class Camera:
    """A pinhole camera that looks at a target.

    Attributes:
        azimuth: Degrees around the target.
        elevation: Degrees above the horizontal.
        distance: From the camera to the target.
        target: The point at the centre of the picture.
        angle_of_view: The full angle between the left and the right edge, in degrees.
    """

    azimuth: float
    elevation: float
    distance: float
    target: Triple = (0.0, 0.0, 0.3)
    angle_of_view: float = 32.0

    @property
    def eye(self) -> Floats:
        """The position of the camera."""
        return np.asarray(self.target) - self.distance * self.axes[2]

    @property
    def axes(self) -> tuple[Floats, Floats, Floats]:
        """Unit vectors to the right, upwards and ahead."""
        azimuth, elevation = np.radians(self.azimuth), np.radians(self.elevation)
        flat = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
        ahead = flat * np.cos(elevation) - np.array([0.0, 0.0, np.sin(elevation)])
        right = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
        return right, unit(np.cross(right, ahead)), ahead


def project(camera: Camera, points: Floats, size: int) -> tuple[Floats, Floats, Floats]:
    """Project points onto a square picture.

    Args:
        camera: The camera.
        points: Positions in the scene, (n, 3).
        size: Side of the picture in pixels.

    Returns:
        The column, the row and the depth of each point, each of shape (n,).
    """
    right, up, ahead = camera.axes
    offset = points - camera.eye
    depth = dot(offset, ahead)
    scale = size / 2 / np.tan(np.radians(camera.angle_of_view / 2))
    safe = np.maximum(depth, 1e-6)
    x = size / 2 + scale * dot(offset, right) / safe
    y = size / 2 - scale * dot(offset, up) / safe
    return x, y, depth


def rays(camera: Camera, size: int) -> Floats:
    """Return the viewing direction of each pixel centre, row by row; its depth component is 1."""
    right, up, ahead = camera.axes
    edge = np.tan(np.radians(camera.angle_of_view / 2))
    tick = (np.arange(size) + 0.5 - size / 2) / (size / 2) * edge
    x, y = np.meshgrid(tick, -tick)
    directions: Floats = x.reshape(-1, 1) * right + y.reshape(-1, 1) * up + ahead
    return directions
