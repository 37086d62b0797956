"""The rules that corruptions and data sets keep."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.testing import assert_array_equal

from robocle.classifiers.labels import plain_label
from robocle.contract.checking import Given, built, require, require_raises, rules_in
from robocle.errors import DataError, ImageError
from robocle.evaluation.corruptions import CORRUPTIONS, Corruption, corruption, corruption_rng
from robocle.evaluation.datasets import Dataset, dataset
from robocle.types import Pixels

SIDE = 224


def _texture(side: int = SIDE) -> Pixels:
    """Return square pixels with all levels."""
    return np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)


def _applied(given: Given[Corruption], pixels: Pixels, key: str = "mug/0.jpg") -> Pixels:
    """Return the corrupted pixels, drawn for one picture's key."""
    return built(given, corruption)(pixels, corruption_rng(0, key, "contract"))


def pixels_stay_square_rgb_bytes(given: Given[Corruption]) -> None:
    """The result has the shape and type of the given pixels."""
    for side in (16, 224, 225):
        result = _applied(given, _texture(side))
        require(result.shape == (side, side, 3), f"({side}, {side}, 3), not {result.shape}")
        require(result.dtype == np.uint8, f"uint8 pixels, not {result.dtype}")


def the_given_pixels_are_not_changed(given: Given[Corruption]) -> None:
    """A corruption works on a copy."""
    pixels = _texture()
    _applied(given, pixels)
    assert_array_equal(pixels, _texture())


def read_only_pixels_are_accepted(given: Given[Corruption]) -> None:
    """Pixels that may not be written are corrupted like any others."""
    pixels = _texture()
    pixels.flags.writeable = False
    assert_array_equal(_applied(given, pixels), _applied(given, _texture()))


def the_memory_layout_does_not_matter(given: Given[Corruption]) -> None:
    """Pixels with colour planes first or last in memory have the same result."""
    pixels = _texture()
    planes_first = np.ascontiguousarray(pixels.transpose(2, 0, 1)).transpose(1, 2, 0)
    assert_array_equal(_applied(given, planes_first), _applied(given, pixels))


def the_result_depends_on_the_generator_alone(given: Given[Corruption]) -> None:
    """Equal generators give equal pixels, in whatever order pictures are corrupted."""
    keys = [f"mug/{i}.jpg" for i in range(5)]
    corrupt = built(given, corruption)
    forwards = {key: corrupt(_texture(), corruption_rng(0, key, "contract")) for key in keys}
    for key in keys[::-1]:
        assert_array_equal(corrupt(_texture(), corruption_rng(0, key, "contract")), forwards[key])
        assert_array_equal(_applied(given, _texture(), key), forwards[key])


def its_description_builds_it_again(given: Given[Corruption]) -> None:
    """The spec that the table writes out builds the same part. Only installed parts have one."""
    if not isinstance(given, str):
        return
    described = CORRUPTIONS.describe(built(given, corruption))
    assert_array_equal(_applied(described, _texture()), _applied(given, _texture()))


def it_has_words_for_the_robustness_check(given: Given[Corruption]) -> None:
    """`checked`, `in_words` and `advice` say whether it is tried, what it is, and what helps."""
    made = built(given, corruption)
    require(isinstance(made.checked, bool), f"True or False as checked, not {made.checked}")
    require(bool(made.in_words), "a text in_words")
    require(bool(made.advice), "a text advice")


def other_arrays_are_refused(given: Given[Corruption]) -> None:
    """Anything but one picture as square uint8 RGB pixels raises ImageError."""
    for shape, dtype in (
        ((2, 32, 32, 3), np.uint8),
        ((32, 48, 3), np.uint8),
        ((32, 32), np.uint8),
        ((32, 32, 4), np.uint8),
        ((32, 32, 3), np.float32),
    ):
        wrong = np.zeros(shape, dtype)
        require_raises(ImageError, f"{wrong.dtype} pixels of shape {shape}", _applied, given, wrong)


CORRUPTION_CHECKS = rules_in(globals())
"""The rules, each a function of a spec, a class or an instance."""


def pictures_are_listed_in_order_and_exist(given: Given[Dataset], root: Path) -> None:
    """`examples` lists files under the root, in the same order each time, none twice."""
    paths = [example.path for example in built(given, dataset).examples(root)]
    require(bool(paths), f"at least one picture in {root}")
    require(len(set(paths)) == len(paths), "every picture once")
    for path in paths:
        require(path.is_file() and path.is_relative_to(root), f"a file in {root}, not {path}")
    again = [example.path for example in built(given, dataset).examples(root)]
    require(again == paths, "the same order each time")


def its_default_root_is_a_folder(given: Given[Dataset], root: Path) -> None:
    """`default_root` is a folder of pictures that come with the data set, or None."""
    default = built(given, dataset).default_root
    require(default is None or default.is_dir(), f"None or a folder, not {default}")


def every_picture_has_a_valid_label(given: Given[Dataset], root: Path) -> None:
    """Each example's label can be taught."""
    for example in built(given, dataset).examples(root):
        plain_label(example.label)


def hidden_files_and_other_files_are_ignored(given: Given[Dataset], root: Path) -> None:
    """Files that are no pictures, and names starting with a dot, are not listed."""
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        for example in built(given, dataset).examples(root):
            path = copy / example.path.relative_to(root)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            for other in (".hidden.jpg", "Thumbs.db", "notes.txt"):
                (path.parent / other).touch()
        found = {example.path.relative_to(copy) for example in built(given, dataset).examples(copy)}
    expected = {example.path.relative_to(root) for example in built(given, dataset).examples(root)}
    require(found == expected, f"{sorted(found ^ expected)[:3]} must not make a difference")


def a_root_without_pictures_is_refused(given: Given[Dataset], root: Path) -> None:
    """A root that is missing, a file or empty raises DataError."""
    with TemporaryDirectory() as folder:
        empty, file = Path(folder), Path(folder) / "file"
        examples = built(given, dataset).examples
        require_raises(DataError, "an empty root", examples, empty)
        require_raises(DataError, "a missing root", examples, empty / "missing")
        file.touch()
        require_raises(DataError, "a root that is a file", examples, file)


DATASET_CHECKS = rules_in(globals(), *CORRUPTION_CHECKS)
"""The rules, each a function of a spec, a class or an instance, and of a root."""
