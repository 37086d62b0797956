"""The camera: where it stands, and where a point of the world falls on the picture.

Azimuth 0 looks along +y at the front of an object; positive azimuth walks anticlockwise around it
as seen from above.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robocle.sim.mesh import Floats, unit

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Camera:
    """Angles in degrees; `distance` from the target; `view` is the full opening angle."""

    azimuth: float
    elevation: float
    distance: float
    target: Triple = (0.0, 0.0, 0.3)
    view: float = 32.0

    @property
    def eye(self) -> Floats:
        """Where the camera stands."""
        return np.asarray(self.target) - self.distance * self.axes[2]

    @property
    def axes(self) -> tuple[Floats, Floats, Floats]:
        """Unit vectors to the right, up and ahead."""
        azimuth, elevation = np.radians(self.azimuth), np.radians(self.elevation)
        flat = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
        ahead = flat * np.cos(elevation) - np.array([0.0, 0.0, np.sin(elevation)])
        right = np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
        return right, unit(np.cross(right, ahead)), ahead


def dot(vectors: Floats, fixed: Floats) -> Floats:
    """Row-wise product with one vector, without BLAS."""
    product: Floats = vectors[:, 0] * fixed[0] + vectors[:, 1] * fixed[1] + vectors[:, 2] * fixed[2]
    return product


def project(camera: Camera, points: Floats, size: int) -> tuple[Floats, Floats, Floats]:
    """Return column, row (in pixels of a square picture) and depth of each point."""
    right, up, ahead = camera.axes
    offset = points - camera.eye
    depth = dot(offset, ahead)
    scale = size / 2 / np.tan(np.radians(camera.view / 2))
    safe = np.maximum(depth, 1e-6)
    x = size / 2 + scale * dot(offset, right) / safe
    y = size / 2 - scale * dot(offset, up) / safe
    return x, y, depth


def rays(camera: Camera, size: int) -> Floats:
    """The direction seen by each pixel centre, row by row, with ahead-component one."""
    right, up, ahead = camera.axes
    tick = (np.arange(size) + 0.5 - size / 2) / (size / 2) * np.tan(np.radians(camera.view / 2))
    x, y = np.meshgrid(tick, -tick)
    directions: Floats = x.reshape(-1, 1) * right + y.reshape(-1, 1) * up + ahead
    return directions
