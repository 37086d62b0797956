"""Quality: is a picture good enough to learn from?

    complaints(read("mug.jpg", 224))           # () if there is nothing to say
    near_duplicate(vector, last_vector)        # None if it shows something new

Everything is measured on the pixels and the vector that teaching computes anyway. The limits are
meant for pictures that no one would call good: an ordinary one in poor light passes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robocle.errors import QualityError
from robocle.images import SquareImage
from robocle.types import Pixels

Grey = NDArray[np.float32]

KINDS = ("small", "dark", "bright", "flat", "blurred", "duplicate")

SMALL = 64
"""Pixels of the shorter side. Below, most of what a backbone sees is made up by enlarging."""
DARK = 40
"""Of 255, what the brightest twentieth of the picture reaches: a fiftieth of full light."""
BRIGHT_COLOURED, BRIGHT_WHITE = 0.5, 0.75
"""Shares of the picture's middle at full brightness, where colours were lost and where not."""
FLAT = 16
"""Of 255, between the darkest and the brightest hundredth: a wall, fog, a hand on the lens."""
BLURRED = 0.32
"""Sharpness: a step from black to white has 0.64, under a Gaussian of 1/130 of the side this."""
DUPLICATE = 0.25
"""Distance of two vectors, relative to the longer one."""

FULL = 254  # of 255, the most of the three channels: at the end of the scale
WHITE, VIVID = 240, 64  # of 255, the least of the three: no colour from here on, a pure one below
LOST_COLOURS = 0.04  # share of the middle where a channel is full and another is not
GRID = 112  # about so many pixels a side are looked at: enough, and a quarter of the time
REACH = 6  # of the grid's pixels: the width of an edge that is clearly blurred
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # down and right
LUMINANCE = (0.299, 0.587, 0.114)


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong with a picture."""

    kind: str
    """One of KINDS."""
    value: float
    """What was measured."""
    advice: str
    """One sentence: what is wrong, and what to do."""

    def __str__(self) -> str:
        return self.advice


def complaints(image: SquareImage) -> tuple[Complaint, ...]:
    """What is wrong with a picture: nothing, if it is good enough.

    Only causes are named: a picture that is too small is blurred by being enlarged, and in one
    that is black, white or empty there is nothing to be sharp.
    """
    step = max(2, round(len(image.pixels) / GRID))  # neighbours are softened by resizing
    colours = image.pixels[::step, ::step]
    grey = _grey(colours)
    found = (*_of_size(image.size), *_of_light(colours, grey))
    return found or tuple(_of_focus(grey))


def near_duplicate(
    vector: NDArray[np.float32], last_vector: NDArray[np.float32]
) -> Complaint | None:
    """The complaint that a picture shows what the last one did, if it does.

    The distance of pooled vectors needs no scale of its own: frames of a thing held still differ by
    less than a quarter of their length, other pictures of the same thing by more.

    >>> near_duplicate(np.array([3, 4], np.float32), np.array([3.5, 3.5], np.float32)) is None
    False
    >>> near_duplicate(np.array([3, 4], np.float32), np.array([-4, 3], np.float32)) is None
    True
    """
    longer = max(float(np.linalg.norm(vector)), float(np.linalg.norm(last_vector)))
    distance = float(np.linalg.norm(vector - last_vector)) / longer if longer else 0.0
    if distance >= DUPLICATE:
        return None
    return Complaint(
        "duplicate",
        distance,
        f"almost the same picture as the one before (difference {distance:.2f}, "
        f"{DUPLICATE} is enough): turn the object, or move it",
    )


def require_good(found: Iterable[Complaint]) -> None:
    """Refuse a picture with any complaint.

    >>> require_good([Complaint("dark", 9, "the picture is dark: switch a light on")])
    Traceback (most recent call last):
    robocle.errors.QualityError: the picture is dark: switch a light on
    """
    complaints = tuple(found)
    advice = "; ".join(map(str, complaints))
    if advice:
        raise QualityError(advice, complaints)


def _grey(colours: Pixels) -> Grey:
    red, green, blue = (  # one channel after the other: a third of the time of a matrix product
        np.multiply(channel, weight, dtype=np.float32)
        for channel, weight in zip(np.moveaxis(colours, 2, 0), LUMINANCE, strict=True)
    )
    grey: Grey = red + green + blue
    return grey


def _of_size(size: tuple[int, int]) -> Iterator[Complaint]:
    if min(size) < SMALL:
        width, height = size
        yield Complaint(
            "small",
            min(size),
            f"the picture is small ({width}x{height} pixels, {SMALL} a side is the least): "
            "go closer, or set the camera to a larger picture",
        )


def _of_light(colours: Pixels, grey: Grey) -> Iterator[Complaint]:
    """At most one complaint: light that is missing, or too much of it, takes the contrast too."""
    ranked = np.sort(grey, axis=None)  # a third of the time of np.percentile
    darkest, bright, brightest = (float(ranked[len(ranked) * p // 100]) for p in (1, 95, 99))
    if bright < DARK:
        yield Complaint(
            "dark",
            bright,
            f"the picture is very dark (brightness {bright:.0f} of 255, {DARK} is the least): "
            "switch a light on, or turn to the window",
        )
    elif burnt_out := _burnt_out(colours):
        yield Complaint(
            "bright",
            burnt_out,
            f"the picture is over-exposed ({burnt_out:.0%} of its middle is at full brightness): "
            "turn away from the lamp or the sun, or lower the camera's exposure",
        )
    elif brightest - darkest < FLAT:
        yield Complaint(
            "flat",
            brightest - darkest,
            f"there is nothing to see (brightness {darkest:.0f} to {brightest:.0f} of 255): "
            "hold the object in front of the camera, and see that nothing covers the lens",
        )


def _of_focus(grey: Grey) -> Iterator[Complaint]:
    sharp = sharpness(grey)
    if sharp < BLURRED:
        yield Complaint(
            "blurred",
            sharp,
            f"the picture is blurred (sharpness {sharp:.2f}, {BLURRED} is the least): "
            "hold still, wipe the lens, or go further away so that the camera can focus",
        )


def _burnt_out(colours: Pixels) -> float:
    """The share of the middle at full brightness, if that is too much, or 0.

    Full brightness is a full channel with light in the others: a vivid red or yellow has an empty
    one. White ground is at full brightness too, but has no colour to lose; where a channel is full
    and another is not, the light was too much for the sensor.
    """
    edge = len(colours) // 4
    red, green, blue = np.moveaxis(colours[edge:-edge, edge:-edge], 2, 0)
    least = np.minimum(np.minimum(red, green), blue)
    full = (np.maximum(np.maximum(red, green), blue) >= FULL) & (least >= VIVID)
    lost = full & (least < WHITE)
    share = float(full.mean())
    limit = BRIGHT_COLOURED if lost.mean() > LOST_COLOURS else BRIGHT_WHITE
    return share if share > limit else 0.0


def sharpness(grey: Grey) -> float:
    """How steep the strongest edges are, in the direction in which they are least so.

    Differences of neighbours are compared with those over a REACH, both as 4-norms: the
    strongest edges decide, and neither a plain ground nor a smooth object around them does. Noise
    is in both. A camera that moved leaves the edges along its way as they were, therefore the
    least of four directions.
    """
    return min(
        _difference(grey, down, right) / (_difference(grey, REACH * down, REACH * right) + 1)
        for down, right in DIRECTIONS
    )


def _difference(grey: Grey, down: int, right: int) -> float:
    """The 4-norm of the differences between pixels this far apart."""
    height, width = grey.shape
    ahead = grey[down:, max(right, 0) : width + min(right, 0)]
    behind = grey[: height - down, max(-right, 0) : width - max(right, 0)]
    squares = ahead - behind
    squares *= squares
    norm: float = (float(np.vdot(squares, squares)) / squares.size) ** 0.25
    return norm
