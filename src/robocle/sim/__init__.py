"""A small simulated home: household objects rendered under chosen conditions.

The renderer is plain numpy and needs no graphics card, driver or window. All random numbers are
keyed by the planned picture, so a picture is equal byte for byte on every machine and in every
order of rendering.
"""

from robocle.sim.home import categories, home_plan, is_teaching, render, render_home
from robocle.sim.openloris import FRAMES, Recording, openloris_plan, render_openloris
from robocle.sim.stage import PlannedPicture

__all__ = [
    "FRAMES",
    "PlannedPicture",
    "Recording",
    "categories",
    "home_plan",
    "is_teaching",
    "openloris_plan",
    "render",
    "render_home",
    "render_openloris",
]
