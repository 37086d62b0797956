"""Quality: whether a picture is good enough to learn from.

    complaints(read("mug.jpg", 224))              # () if the picture is good
    near_duplicate(embedding, last_embedding)     # None if the picture shows something new

Everything is measured on the pixels and the embedding that teaching computes anyway. The limits
are meant for clearly poor pictures: an ordinary picture in weak light passes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from robocle.errors import QualityError
from robocle.images import SquareImage
from robocle.types import Pixels

Grey = NDArray[np.float32]

Gate = Literal["warn", "refuse", "off"]
"""What teaching does with a poor picture: learn it with a warning, refuse it, or not check it."""

Kind = Literal["small", "dark", "bright", "flat", "blurred", "duplicate"]
"""What can be wrong with a picture."""

KINDS: tuple[Kind, ...] = get_args(Kind)

SMALL = 64
"""The shorter side must have at least this many pixels; a smaller picture is mostly enlarged."""
DARK = 40
"""The brightest twentieth of a picture must reach this level of 255, 2 % of full light."""
BRIGHT_COLOURED, BRIGHT_WHITE = 0.5, 0.75
"""At most this share of the centre may be at full brightness, with and without lost colours."""
FLAT = 16
"""The darkest and brightest hundredths must differ by this many levels of 255."""
BLURRED = 0.32
"""The least sharpness. A step from black to white has 0.64; blurred by a Gaussian with a standard
deviation of 1/130 of the side it has this."""
DUPLICATE = 0.25
"""The least distance between two embeddings, relative to the norm of the longer one."""

FULL = 254  # a pixel whose largest channel reaches this is at full brightness
WHITE, VIVID = 240, 64  # a pixel whose smallest channel is above or below has no or a pure colour
LOST_COLOURS = 0.04  # share of the centre where one channel is full and another is not
GRID = 112  # pixels per side that are examined, roughly: enough, in a quarter of the time
REACH = 6  # pixels of the grid: the width of an edge that is clearly blurred
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # (down, right)
LUMINANCE = (0.299, 0.587, 0.114)


@dataclass(frozen=True, slots=True)
class Complaint:
    """One fault of a picture. Its text is the advice.

    Attributes:
        kind: Which fault.
        value: The measured value that is beyond the limit.
        advice: One sentence that states the fault and what to do.
    """

    kind: Kind
    value: float
    advice: str

    def __str__(self) -> str:
        return self.advice


def complaints(image: SquareImage) -> tuple[Complaint, ...]:
    """Return the faults of a picture.

    Only causes are reported. A small picture is blurred because it is enlarged, and a black, white
    or empty picture has no edges, so neither of them is also reported as blurred.

    Args:
        image: The picture, as `robocle.images.read` returns it.

    Returns:
        The faults; none if the picture is good enough.

    Example:
        >>> from robocle.images import read
        >>> [fault.kind for fault in complaints(read(np.zeros((480, 640, 3), np.uint8), 224))]
        ['dark']
    """
    step = max(2, round(len(image.pixels) / GRID))  # resizing has blurred direct neighbours
    colours = image.pixels[::step, ::step]
    grey = _grey(colours)
    found = (*_size_complaints(image.size), *_light_complaints(colours, grey))
    return found or tuple(_focus_complaints(grey))


def near_duplicate(
    embedding: NDArray[np.float32], last_embedding: NDArray[np.float32]
) -> Complaint | None:
    """Return a complaint if a picture is almost the same as the last one.

    The embeddings of two frames of an object that is held still differ by less than a quarter of
    their norm. Those of other pictures of the same object differ by more.

    Args:
        embedding: The embedding of the new picture.
        last_embedding: The embedding of the last picture with the same label.

    Returns:
        The complaint, or None if the pictures are different enough.

    Example:
        >>> near_duplicate(np.array([3, 4], np.float32), np.array([3.5, 3.5], np.float32)).kind
        'duplicate'
        >>> near_duplicate(np.array([3, 4], np.float32), np.array([-4, 3], np.float32)) is None
        True
    """
    longer = max(float(np.linalg.norm(embedding)), float(np.linalg.norm(last_embedding)))
    distance = float(np.linalg.norm(embedding - last_embedding)) / longer if longer else 0.0
    if distance >= DUPLICATE:
        return None
    return Complaint(
        "duplicate",
        distance,
        f"almost the same picture as the one before (difference {distance:.2f}, "
        f"must be at least {DUPLICATE}): turn the object, or move it",
    )


def require_good(found: Iterable[Complaint]) -> None:
    """Refuse a picture that has a fault.

    Args:
        found: The faults of the picture.

    Raises:
        QualityError: There is at least one. The error has them all in `complaints`.

    Example:
        >>> require_good([Complaint("dark", 9, "the picture is dark: switch a light on")])
        Traceback (most recent call last):
        robocle.errors.QualityError: the picture is dark: switch a light on
    """
    complaints = tuple(found)
    advice = "; ".join(map(str, complaints))
    if advice:
        raise QualityError(advice, complaints)


def _grey(colours: Pixels) -> Grey:
    red, green, blue = (  # channel by channel takes a third of the time of a matrix product
        np.multiply(channel, weight, dtype=np.float32)
        for channel, weight in zip(np.moveaxis(colours, 2, 0), LUMINANCE, strict=True)
    )
    grey: Grey = red + green + blue
    return grey


def _size_complaints(size: tuple[int, int]) -> Iterator[Complaint]:
    if min(size) < SMALL:
        width, height = size
        yield Complaint(
            "small",
            min(size),
            f"the picture is small ({width}x{height} pixels, must be at least {SMALL} per side): "
            "go closer, or set the camera to a higher resolution",
        )


def _light_complaints(colours: Pixels, grey: Grey) -> Iterator[Complaint]:
    """Yield at most one complaint: too little or too much light also removes the contrast."""
    ranked = np.sort(grey, axis=None)  # takes a third of the time of np.percentile
    darkest, bright, brightest = (float(ranked[len(ranked) * p // 100]) for p in (1, 95, 99))
    if bright < DARK:
        yield Complaint(
            "dark",
            bright,
            f"the picture is very dark (brightness {bright:.0f} of 255, must be at least {DARK}): "
            "switch on a light, or turn towards the window",
        )
    elif saturated := _saturated_share(colours):
        yield Complaint(
            "bright",
            saturated,
            f"the picture is overexposed ({saturated:.0%} of its centre is at full brightness): "
            "turn away from the lamp or the sun, or reduce the camera's exposure",
        )
    elif brightest - darkest < FLAT:
        yield Complaint(
            "flat",
            brightest - darkest,
            f"the picture is empty (brightness {darkest:.0f} to {brightest:.0f} of 255): "
            "hold the object in front of the camera, and make sure that nothing covers the lens",
        )


def _focus_complaints(grey: Grey) -> Iterator[Complaint]:
    sharp = sharpness(grey)
    if sharp < BLURRED:
        yield Complaint(
            "blurred",
            sharp,
            f"the picture is blurred (sharpness {sharp:.2f}, must be at least {BLURRED}): "
            "hold still, clean the lens, or move away so that the camera can focus",
        )


def _saturated_share(colours: Pixels) -> float:
    """Return the share of the centre at full brightness if it is over the limit, otherwise 0.

    A pixel is at full brightness if one channel is full and no channel is almost empty, as it is in
    a pure red or yellow. A white background is at full brightness too, but has no colour to lose.
    If one channel is full and another is not, the sensor was saturated and the colour is lost.
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
    """Return how steep the strongest edges are, in the direction where they are least steep.

    It is the ratio of the differences between neighbours to those between pixels at a distance of
    REACH. Both are 4-norms, so the strongest edges decide and plain surfaces around them do not
    count. Noise is in both. A moving camera leaves the edges along its direction sharp, so the
    result is the minimum over four directions.

    Args:
        grey: The brightness of each pixel, from 0 to 255.

    Returns:
        About 0.64 for a step from black to white, and less for softer edges.

    Example:
        >>> step = np.zeros((112, 112), np.float32)
        >>> step[56:, 56:] = 255
        >>> round(sharpness(step), 1)
        0.6
    """
    return min(
        _difference(grey, down, right) / (_difference(grey, REACH * down, REACH * right) + 1)
        for down, right in DIRECTIONS
    )


def _difference(grey: Grey, down: int, right: int) -> float:
    """Return the 4-norm of the differences between pixels that are this far apart."""
    height, width = grey.shape
    ahead = grey[down:, max(right, 0) : width + min(right, 0)]
    behind = grey[: height - down, max(-right, 0) : width - max(right, 0)]
    squares = ahead - behind
    squares *= squares
    norm: float = (float(np.vdot(squares, squares)) / squares.size) ** 0.25
    return norm
