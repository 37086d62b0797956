"""A small simulated home: household things rendered under chosen conditions.

The renderer is plain numpy - no graphics card, driver or window - and everything random is keyed
by the shot, so a picture is the same byte for byte wherever, whenever and in whatever order it is
made.
"""

from robocle.sim.home import categories, home_plan, is_teaching, render, render_home
from robocle.sim.openloris import FRAMES, Recording, openloris_plan, render_openloris
from robocle.sim.stage import Shot

__all__ = [
    "FRAMES",
    "Recording",
    "Shot",
    "categories",
    "home_plan",
    "is_teaching",
    "openloris_plan",
    "render",
    "render_home",
    "render_openloris",
]
