"""The rules that every data set keeps.

Each is a function of a spec and of a folder with at least one picture in the data set's layout.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from robocle.classifiers.labels import plain_label
from robocle.contract.checking import require, require_raises
from robocle.errors import DataError
from robocle.evaluation.datasets import dataset


def pictures_are_listed_in_order_and_exist(spec: str, root: Path) -> None:
    """`examples` lists files under the root, in the same order each time, none twice."""
    paths = [example.path for example in dataset(spec).examples(root)]
    require(bool(paths), f"at least one picture in {root}")
    require(len(set(paths)) == len(paths), "every picture once")
    for path in paths:
        require(path.is_file() and path.is_relative_to(root), f"a file in {root}, not {path}")
    again = [example.path for example in dataset(spec).examples(root)]
    require(again == paths, "the same order each time")


def its_default_root_is_a_folder(spec: str, root: Path) -> None:
    """`default_root` is a folder of pictures that come with the data set, or None."""
    default = dataset(spec).default_root
    require(default is None or default.is_dir(), f"None or a folder, not {default}")


def every_picture_has_a_valid_label(spec: str, root: Path) -> None:
    """Each example's label can be taught."""
    for example in dataset(spec).examples(root):
        plain_label(example.label)


def hidden_files_and_other_files_are_ignored(spec: str, root: Path) -> None:
    """Files that are no pictures, and names starting with a dot, are not listed."""
    with TemporaryDirectory() as folder:
        copy = Path(folder)
        for example in dataset(spec).examples(root):
            path = copy / example.path.relative_to(root)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            for other in (".hidden.jpg", "Thumbs.db", "notes.txt"):
                (path.parent / other).touch()
        found = {example.path.relative_to(copy) for example in dataset(spec).examples(copy)}
    expected = {example.path.relative_to(root) for example in dataset(spec).examples(root)}
    require(found == expected, f"{sorted(found ^ expected)[:3]} must not make a difference")


def a_root_without_pictures_is_refused(spec: str, root: Path) -> None:
    """A root that is missing, a file or empty raises DataError."""
    with TemporaryDirectory() as folder:
        empty, file = Path(folder), Path(folder) / "file"
        examples = dataset(spec).examples
        require_raises(DataError, "an empty root", examples, empty)
        require_raises(DataError, "a missing root", examples, empty / "missing")
        file.touch()
        require_raises(DataError, "a root that is a file", examples, file)


DATASET_CHECKS = (
    pictures_are_listed_in_order_and_exist,
    its_default_root_is_a_folder,
    every_picture_has_a_valid_label,
    hidden_files_and_other_files_are_ignored,
    a_root_without_pictures_is_refused,
)
"""The rules, each a function of a spec and a root."""
