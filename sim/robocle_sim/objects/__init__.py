"""The categories of the home: how their objects are built, and their usual viewpoint.

To add a category, write a function `rng -> SceneObject` and add it to CATEGORIES. The function
models the object in any units and draws everything that differs between instances from the rng,
which is keyed by (seed, category, instance).
"""

from collections.abc import Callable
from dataclasses import dataclass

from robocle._internal.randomness import Rng, keyed_rng
from robocle_sim.mesh import SceneObject, normalise
from robocle_sim.objects import desk, fruit, hand_tools, kitchen, living, toys


@dataclass(frozen=True)
class Category:
    """A category of household objects.

    Attributes:
        build: Builds one object from a random generator.
        low: The lowest usual elevation of the camera, in degrees.
        high: The highest usual elevation.
        facing: Degrees by which an object is turned to show its usual side.
    """

    build: Callable[[Rng], SceneObject]
    low: float = 15.0
    high: float = 40.0
    facing: float = 0.0


def _lying(build: Callable[[Rng], SceneObject], facing: float = 0.0) -> Category:
    return Category(build, 38.0, 65.0, facing)


CATEGORIES: dict[str, Category] = {
    "apple": Category(fruit.apple),
    "ball": Category(toys.ball),
    "banana": Category(fruit.banana, 25, 50),
    "book": Category(desk.book, 30, 55, -20),
    "bottle": Category(kitchen.bottle),
    "bowl": Category(kitchen.bowl, 20, 45),
    "candle": Category(living.candle),
    "chair": Category(living.chair, facing=-25),
    "clock": Category(desk.clock, 10, 30),
    "fork": _lying(hand_tools.fork, 25),
    "glasses": Category(desk.glasses, 15, 40, -15),
    "hammer": _lying(hand_tools.hammer, 25),
    "headphones": Category(desk.headphones, 12, 35, -25),
    "key": _lying(hand_tools.key, 25),
    "keyboard": _lying(desk.keyboard),
    "lamp": Category(living.lamp, 8, 28),
    "mug": Category(kitchen.mug, facing=-15),
    "pan": Category(kitchen.pan, 22, 48, -20),
    "plant": Category(living.plant, 12, 35),
    "remote": _lying(desk.remote, -40),
    "scissors": _lying(hand_tools.scissors, 30),
    "screwdriver": _lying(hand_tools.screwdriver, 25),
    "spoon": _lying(hand_tools.spoon, 25),
    "teapot": Category(kitchen.teapot),
    "teddy": Category(toys.teddy, 8, 30),
    "toothbrush": Category(hand_tools.toothbrush, 25, 50, 20),
    "toy_car": Category(toys.toy_car, 15, 35, 35),
    "umbrella": Category(living.umbrella, 10, 30),
    "watering_can": Category(kitchen.watering_can),
}


def build(seed: int, category: str, instance: int) -> SceneObject:
    """Build one object of a category.

    Args:
        seed: The seed of the home.
        category: A key of CATEGORIES.
        instance: Which object of the category, from 1.

    Returns:
        The object, standing on the table, with a largest extent of one.
    """
    # The word "thing" is part of the key: another word would change every picture.
    return normalise(CATEGORIES[category].build(keyed_rng(seed, "thing", category, instance)))
