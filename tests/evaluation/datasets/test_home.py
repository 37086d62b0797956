"""The rendered home as a data set: the shipped pictures, or those in a folder."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from refusal import Refusal
from robocle.errors import DataError
from robocle.evaluation.datasets import dataset
from robocle_sim.home import categories, home_plan, render_home
from robocle_sim.stage import PlannedPicture


def test_without_a_root_it_is_the_shipped_home() -> None:
    found = dataset("home").examples()
    plan = {planned.path: planned for planned in home_plan(0)}
    assert len(found) == len(plan)
    for example in found:
        planned = plan["/".join(example.path.parts[-3:])]
        assert example.path.is_file()
        assert (example.label, example.domain) == (planned.category, planned.condition)
        assert example.instance == f"{planned.category}_{planned.instance:02d}"
        taught = planned.condition == "clean" and planned.instance == 1
        assert example.split == ("train" if taught else "test")


def test_the_train_split_has_eight_pictures_per_category_to_draw_from() -> None:
    taught = [example for example in dataset("home").examples() if example.split == "train"]
    assert Counter(example.label for example in taught) == dict.fromkeys(categories(), 8)


def test_a_newly_rendered_home_can_be_read(tmp_path: Path) -> None:
    plan = [PlannedPicture(0, "toy_car", 1, number=10), PlannedPicture(0, "toy_car", 1, number=2)]
    render_home(tmp_path, plan, size=64)
    first, second = dataset("home").examples(tmp_path)
    assert (first.path.name, first.split) == ("2.jpg", "train")
    assert (second.path.name, second.split) == ("10.jpg", "train")
    assert first.label == "toy_car"


def test_another_layout_is_rejected(plant: Callable[[list[str]], Path], refusal: Refusal) -> None:
    root = plant(["amazon/back_pack/1.jpg"])
    message = refusal(DataError, lambda: dataset("home").examples(root))
    assert message.startswith(f"{root / 'amazon' / 'back_pack'} is not named <category>_<number>")
