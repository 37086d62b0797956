"""The rendered home: which pictures it has, and how they are written to disk.

Clean pictures of instance 1 of each category can be taught. All others are for testing: other
objects of the category, and other conditions.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from PIL import Image

from robocle._internal.randomness import keyed_rng
from robocle_sim.conditions import FACTORS
from robocle_sim.folder import QUALITY, RenderedPicture, only_seed, write_pictures
from robocle_sim.objects import CATEGORIES
from robocle_sim.scene import draw
from robocle_sim.stage import PlannedPicture, settings_of, stage

CLEAN_FIRST, CLEAN_OTHERS, PER_FACTOR = 8, 2, 2  # pictures of instance 1, of others, per factor


def categories() -> tuple[str, ...]:
    """Return all categories in alphabetical order.

    Example:
        >>> categories()[:3]
        ('apple', 'ball', 'banana')
    """
    return tuple(sorted(CATEGORIES))


def home_plan(seed: int, instances: int = 3) -> list[PlannedPicture]:
    """List the pictures of a home.

    Args:
        seed: Which home; another seed has other objects.
        instances: The number of different objects per category.

    Returns:
        All pictures to render. More instances only add pictures to the list.

    Example:
        >>> len(home_plan(seed=0))
        1218
        >>> home_plan(seed=0)[0].path
        'clean/apple_01/0.jpg'
    """
    return [
        picture
        for category in categories()
        for instance in range(1, instances + 1)
        for picture in _pictures_of(seed, category, instance)
    ]


def _pictures_of(seed: int, category: str, instance: int) -> list[PlannedPicture]:
    clean = CLEAN_FIRST if instance == 1 else CLEAN_OTHERS
    pictures = [PlannedPicture(seed, category, instance, number=k) for k in range(clean)]
    for factor in FACTORS:
        for k in range(PER_FACTOR):
            level = level_of(seed, category, instance, factor, k)
            pictures.append(PlannedPicture(seed, category, instance, factor, level, k))
    return pictures


def level_of(seed: int, category: str, instance: int, factor: str, number: int) -> int:
    """Draw the level, from 1 to 3, of a picture under a factor."""
    return int(keyed_rng(seed, "level", category, instance, factor, number).integers(1, 4))


def render(planned: PlannedPicture, size: int = 224) -> Image.Image:
    """Render one picture.

    Args:
        planned: The picture to render.
        size: Width and height in pixels.

    Returns:
        The picture. It depends on the two arguments and on nothing else.

    Example:
        >>> render(PlannedPicture(0, "mug", 1), size=32).size
        (32, 32)
    """
    return draw(stage(planned, settings_of(planned)), size)


def _unchanged(plan: Iterable[PlannedPicture]) -> Iterable[PlannedPicture]:
    return plan


def render_home(
    folder: Path,
    plan: Sequence[PlannedPicture],
    size: int = 224,
    quality: int = QUALITY,
    progress: Callable[[Iterable[PlannedPicture]], Iterable[PlannedPicture]] = _unchanged,
) -> None:
    """Render pictures into a folder, with an index.json that describes them.

    Args:
        folder: Created if it does not exist.
        plan: The pictures to render, all of one seed.
        size: Width and height in pixels.
        quality: The JPEG quality.
        progress: Wraps the iteration over the plan, for a progress bar.

    Raises:
        SpecError: The pictures have different seeds.
        DataError: A file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     render_home(Path(folder), [PlannedPicture(0, "mug", 1)], size=32)
        ...     sorted(path.name for path in Path(folder).rglob("*.*"))
        ['0.jpg', 'index.json']
    """
    seed = only_seed(plan)
    pictures = (
        RenderedPicture(each.path, each.category, each.level, render(each, size))
        for each in progress(plan)
    )
    write_pictures(folder, pictures, seed=seed, size=size, quality=quality)
