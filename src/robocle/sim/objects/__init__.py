"""The household: a table from category to what builds it and how it is usually looked at.

To add a category, write a function `rng -> Thing` and enter it here; instance n of a category is
whatever the function builds from the rng keyed by (seed, category, n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from robocle.randomness import keyed_rng
from robocle.sim.mesh import Thing, normalise
from robocle.sim.objects import desk, fruit, hand_tools, kitchen, living, toys


@dataclass(frozen=True)
class Category:
    """`facing` turns a thing to its usual side; `low` and `high` bound the usual elevation."""

    build: Callable[[np.random.Generator], Thing]
    low: float = 15.0
    high: float = 40.0
    facing: float = 0.0


def _lying(build: Callable[[np.random.Generator], Thing], facing: float = 0.0) -> Category:
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


def build(seed: int, category: str, instance: int) -> Thing:
    """Build one instance, standing on the table, largest extent one."""
    return normalise(CATEGORIES[category].build(keyed_rng(seed, "thing", category, instance)))
