"""Quality: whether a picture is good enough to learn from.

    complaints(read("mug.jpg", 224))              # () if the picture is good
    near_duplicate(embedding, last_embedding, label)  # None if the picture shows something new

All measurements use the pixels and the embedding that teaching computes anyway. The limits are set
for clearly poor pictures: an ordinary picture in dim light passes.
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

Poor = Literal["warn", "skip", "refuse", "accept"]
"""What to do about a poor picture: warn and teach it, leave it out, fail, or teach it unchecked."""

Kind = Literal["small", "dark", "bright", "flat", "blurred", "duplicate"]
"""The kinds of faults that a picture can have."""

KINDS: tuple[Kind, ...] = get_args(Kind)

SMALL = 64
"""The minimum length of the shorter side, in pixels. A smaller picture is enlarged considerably."""
DARK = 40
"""The minimum of the 95th percentile of brightness, from 0 to 255. Level 40 of the gamma-encoded
pixels is about 2 % of full intensity."""
BRIGHT_COLOURED, BRIGHT_WHITE = 0.5, 0.75
"""The maximum fraction of the centre at full brightness: the first limit applies if saturated
pixels have lost their colour, the second if they are white."""
FLAT = 16
"""The minimum difference between the 1st and the 99th percentile of brightness, from 0 to 255."""
BLURRED = 0.32
"""The minimum sharpness. A step from black to white has 0.64. Blurred by a Gaussian with a standard
deviation of 1/130 of the picture's side, it has 0.32."""
DUPLICATE = 0.22
"""The minimum distance between two embeddings, relative to the larger of their norms."""

BLACK = 12
"""A picture is black if 99 % of its pixels are below this level in every channel."""
EMPTY = 10
"""A picture is empty if its 1st and 99th percentiles differ by less than this in every channel."""
NOTHING_STEP = 4  # every fourth pixel in both directions is enough to see that there is nothing

FULL = 254  # a pixel whose largest channel reaches this level is at full brightness
WHITE = 240  # a pixel whose smallest channel reaches this level is white
VIVID = 64  # a pixel whose smallest channel is below this level has a pure colour, such as red
LOST_COLOURS = 0.04  # the tolerated fraction of the centre that is saturated but not white
GRID = 112  # about this many pixels per side are examined, which takes a quarter of the time
REACH = 6  # in pixels of the grid: the width of a clearly blurred edge
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # (down, right)
LUMINANCE = (0.299, 0.587, 0.114)


@dataclass(frozen=True, slots=True)
class Complaint:
    """A fault of a picture. `str()` returns the advice.

    Attributes:
        kind: The kind of fault.
        value: The measured value that is beyond the limit.
        advice: One sentence that states the fault and what to do.
        label: The label of the picture that it repeats; empty if it repeats none.
    """

    kind: Kind
    value: float
    advice: str
    label: str = ""

    def __str__(self) -> str:
        return self.advice


def complaints(image: SquareImage) -> tuple[Complaint, ...]:
    """Return the faults of a picture.

    Only causes are reported: a small picture looks blurred because it is enlarged, and a dark,
    overexposed or empty picture has no edges, so these are not reported as blurred as well.

    Args:
        image: The picture, as `robocle.images.read` returns it.

    Returns:
        The faults; empty if the picture is good enough.

    Example:
        >>> from robocle.images import read
        >>> [fault.kind for fault in complaints(read(np.zeros((480, 640, 3), np.uint8), 224))]
        ['dark']
    """
    step = max(2, round(len(image.pixels) / GRID))  # skips neighbours, which resizing has blurred
    colours = image.pixels[::step, ::step]
    grey = _grey(colours)
    found = (*_size_complaints(image.size), *_light_complaints(colours, grey))
    return found or tuple(_focus_complaints(grey))


def nothing_to_see(image: SquareImage) -> str:
    """Return why there is nothing to see in a picture, or an empty text.

    Only a picture without any contrast counts: a dark or a plain one may show a taught object.

    Args:
        image: The picture, as `robocle.images.read` returns it.

    Example:
        >>> from robocle.images import read
        >>> nothing_to_see(read(np.zeros((480, 640, 3), np.uint8), 224))
        'the picture is black'
        >>> nothing_to_see(read(np.full((480, 640, 3), 128, np.uint8), 224))
        'the picture is empty'
    """
    colours = image.pixels[::NOTHING_STEP, ::NOTHING_STEP]
    low, high = (np.percentile(colours, share, axis=(0, 1)) for share in (1, 99))
    if high.max() < BLACK:
        return "the picture is black"
    if low.min() >= FULL:
        return "the picture is white"
    return "the picture is empty" if (high - low).max() < EMPTY else ""


def near_duplicate(
    embedding: NDArray[np.float32], last_embedding: NDArray[np.float32], label: str
) -> Complaint | None:
    """Return a complaint if a picture is almost the same as the last one.

    The embeddings of two frames of an object that is held still differ by less than a quarter of
    their norm. Those of different pictures of the same object differ by more.

    Args:
        embedding: The embedding of the new picture.
        last_embedding: The embedding of the last picture with the same label.
        label: The label.

    Returns:
        The complaint, or None if the pictures are different enough.

    Example:
        >>> taught, same = np.array([3, 4], np.float32), np.array([3.5, 3.5], np.float32)
        >>> near_duplicate(same, taught, "mug").kind
        'duplicate'
        >>> near_duplicate(np.array([-4, 3], np.float32), taught, "mug") is None
        True
    """
    longer = max(float(np.linalg.norm(embedding)), float(np.linalg.norm(last_embedding)))
    distance = float(np.linalg.norm(embedding - last_embedding)) / longer if longer else 0.0
    if distance >= DUPLICATE:
        return None
    return Complaint(
        "duplicate",
        distance,
        f"almost the same as the last picture of {label!r} (difference {distance:.2f}, "
        f"must be at least {DUPLICATE}): turn the object, or move it",
    )


def require_good(found: Iterable[Complaint]) -> None:
    """Refuse a picture that has a fault.

    Args:
        found: The faults of the picture.

    Raises:
        QualityError: There is at least one fault. All of them are in the error's `complaints`.

    Example:
        >>> require_good([Complaint("dark", 9, "the picture is dark: switch on a light")])
        Traceback (most recent call last):
        robocle.errors.QualityError: the picture is dark: switch on a light
    """
    complaints = tuple(found)
    advice = "; ".join(map(str, complaints))
    if advice:
        raise QualityError(advice, complaints)


def _grey(colours: Pixels) -> Grey:
    red, green, blue = (  # per channel, which takes a third of the time of a matrix product
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
    """Yield at most one complaint, because too little or too much light also reduces contrast."""
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
    """Return the fraction of the centre at full brightness if it exceeds the limit, otherwise 0.

    A pixel counts if its largest channel is saturated and its smallest channel is not close to 0;
    the second condition excludes pure colours such as red and yellow. White pixels count as well,
    but have no colour to lose. Other pixels that count have lost their colour.
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

    Sharpness is the ratio of the differences between neighbours to the differences between pixels
    at a distance of REACH. Both are 4-norms, so the strongest edges dominate and plain surfaces
    hardly matter. Noise affects both. Motion blur leaves edges along the direction of motion sharp,
    so the result is the minimum over four directions.

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
