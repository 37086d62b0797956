"""Labels that mean the same are suggested for joining, and others are not."""

from pathlib import Path

import pytest

from command_line import run
from home_pictures import home_picture
from robocle import Learner
from robocle.backbones import Backbone


@pytest.mark.slow
def test_labels_that_mean_the_same_are_suggested(lite0: Backbone, tmp_path: Path) -> None:
    path = tmp_path / "home.robocle"
    with Learner.open(path, lite0) as learner:
        for label, name in (("mug", "mug_01"), ("pan", "pan_01"), ("clock", "clock_01")):
            for number in range(4):
                picture = home_picture(f"clean/{name}/{number}")
                learner.teach(picture, "cup" if name == "mug_01" and number % 2 else label)
    found = run("fleet", "suggest", path).stdout.splitlines()
    assert len(found) == 1, found
    assert "mug and cup are taken for each other" in found[0]
    assert run("rename", path, "cup", "mug").exit_code == 0
    assert run("fleet", "suggest", path).stdout == "no two labels are taken for each other\n"
