"""Corruptions against plain references: `python benchmarks/bench_corruptions.py`.

A train x test matrix applies every corruption to every picture, so each corruption must take less
time than the backbone that runs on the picture afterwards. The references draw the same random
numbers.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

import numpy as np
from measuring import alternating, finish, report
from numpy.typing import NDArray
from PIL import Image, ImageEnhance
from scipy import ndimage

from robocle.evaluation.corruptions import corruption, corruption_rng
from robocle.evaluation.corruptions.appearance import draw_deviation, draw_light
from robocle.evaluation.corruptions.geometry import draw_motion, homography
from robocle.types import Pixels

SIDE = 224
Rng = np.random.Generator
Reference = Callable[[Pixels, Rng], Pixels]


def photographs(count: int) -> list[Pixels]:
    """Return pictures with smooth shapes and fine texture, like photographs."""
    rng = np.random.default_rng(0)
    coarse = [
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)) for _ in range(count)
    ]
    smooth = [image.resize((SIDE, SIDE), Image.Resampling.BICUBIC) for image in coarse]
    return [to_levels(np.asarray(image) + rng.normal(0, 8, (SIDE, SIDE, 3))) for image in smooth]


def to_levels(values: NDArray[np.float64]) -> Pixels:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def illum(pixels: Pixels, rng: Rng) -> Pixels:
    """Apply the steps of torchvision's ColorJitter to a PIL image."""
    light = draw_light(rng)
    image = Image.fromarray(pixels)
    for step in light.order:
        if step == "brightness":
            image = ImageEnhance.Brightness(image).enhance(light.brightness)
        elif step == "contrast":
            image = ImageEnhance.Contrast(image).enhance(light.contrast)
        elif step == "saturation":
            image = ImageEnhance.Color(image).enhance(light.saturation)
        else:
            hue, saturation, value = image.convert("HSV").split()
            shifted = np.asarray(hue) + np.array(int(light.hue * 255)).astype(np.uint8)
            planes = (Image.fromarray(shifted), saturation, value)
            image = Image.merge("HSV", planes).convert("RGB")
    return np.asarray(image)


def geom(pixels: Pixels, rng: Rng) -> Pixels:
    """Interpolate the source of every pixel in float64, channel by channel."""
    rows, columns = (np.mgrid[:SIDE, :SIDE] + 0.5) / SIDE - 0.5
    places = np.stack([columns, rows, np.ones_like(rows)]).reshape(3, -1)
    x, y, w = np.linalg.inv(homography(draw_motion(rng))) @ places
    sources = np.stack([y / w + 0.5, x / w + 0.5]) * SIDE - 0.5
    inside = ((sources >= -0.5) & (sources < SIDE - 0.5)).all(axis=0)
    channels = [
        inside * ndimage.map_coordinates(plane, sources, order=1, mode="nearest")
        for plane in np.moveaxis(pixels.astype(np.float64), 2, 0)
    ]
    return to_levels(np.stack(channels, axis=-1).reshape(pixels.shape))


def noise(pixels: Pixels, rng: Rng) -> Pixels:
    deviation = 128 * draw_deviation(rng, 0.1, 0.5)
    drawn = rng.standard_normal(pixels.shape, dtype=np.float32).astype(np.float64)
    return to_levels(pixels + deviation * drawn)


def blur(pixels: Pixels, rng: Rng) -> Pixels:
    """Convolve with the whole 11 x 11 kernel, which is not separated."""
    deviation = draw_deviation(rng, 0.5, 3.0)
    rows, columns = np.mgrid[-5:6, -5:6]
    kernel = np.exp(-(rows**2 + columns**2) / (2 * deviation**2))
    weights = (kernel / kernel.sum())[..., None]
    return to_levels(ndimage.convolve(pixels.astype(np.float64), weights, mode="mirror"))


def everything(pixels: Pixels, rng: Rng) -> Pixels:
    return noise(geom(illum(pixels, rng), rng), rng)


# The reference, by how many levels a value may differ, and the milliseconds allowed.
REFERENCES: dict[str, tuple[Reference, int, float]] = {
    "illum": (illum, 16, 3.0),  # the reference has only 256 hues
    "geom": (geom, 1, 3.0),
    "noise": (noise, 1, 3.0),
    "blur": (blur, 1, 3.0),
    "all": (everything, 16, 9.0),  # three of them in a row
}


def require_equal(name: str, found: list[Pixels], expected: list[Pixels], levels: int) -> None:
    """Assert that all but a few values agree: at the black border, rounding decides."""
    apart = np.abs(np.array(found, np.int16) - np.array(expected, np.int16))
    share = float((apart > levels).mean())
    assert share < 1e-4, f"{name}: {100 * share:.3f} % of the values differ"
    print(f"{name}: equals the reference to {levels} levels; mean difference {apart.mean():.3f}")


def milliseconds(works: Sequence[Sequence[Callable[[], Pixels]]], rounds: int) -> list[float]:
    """Return the shortest time of each work, averaged over the pictures."""
    best = [alternating([*both], rounds) for both in zip(*works, strict=True)]
    return [1e3 * fmean(times) for times in zip(*best, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few pictures: agreement only")
    quick = parser.parse_args().quick
    pictures = list(enumerate(photographs(3 if quick else 20)))
    for name, (reference, levels, allowed) in REFERENCES.items():

        def applied(work: Reference, i: int, picture: Pixels, name: str = name) -> Pixels:
            return work(picture, corruption_rng(0, i, name))

        works = [
            [partial(applied, work, i, picture) for i, picture in pictures]
            for work in (corruption(name), reference)
        ]
        found, expected = ([work() for work in each] for each in works)
        require_equal(name, found, expected, levels)
        ours, plain = milliseconds(works, 1 if quick else 20)
        report(f"{name}, per picture", ours, allowed, at_least=False, unit=" ms")
        print(f"  {'the reference takes':<48} {plain / ours:>10,.2f}x")
    finish(demanding=not quick)


if __name__ == "__main__":
    main()
