"""The example of a robot with a camera: it runs on a video, and is taught while it looks."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import cv2
import numpy as np
import pytest

from home_pictures import home_picture
from robocle import CameraError, Learner
from robocle.backbones import Backbone
from robocle.cameras import open_camera
from scripts import imported_script
from video_sources import write_video

PROGRAM = Path(__file__).parents[1] / "examples/camera_robot.py"
SEEN = ("mug", "clock")


def boxed(name: str) -> np.ndarray:
    """The picture of an object, on a grey table that is empty elsewhere."""
    frame = np.full((480, 640, 3), 128, np.uint8)
    if name:
        picture = cv2.imread(str(home_picture(f"clean/{name}_01/0")))
        frame[120:360, 200:440] = cv2.resize(np.asarray(picture), (240, 240))
    return frame


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty table, then a mug, an empty table, and a clock."""
    folder = tmp_path_factory.mktemp("video")
    for name in ("", *SEEN):
        cv2.imwrite(str(folder / f"{name or 'empty'}.png"), boxed(name))
    order = ["empty", SEEN[0], "empty", SEEN[1]]
    return write_video(folder / "table.avi", [folder / f"{each}.png" for each in order], repeat=8)


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return imported_script("examples/camera_robot.py")


def announced(robot: object) -> Iterator[str]:
    """What a robot announces until its camera ends."""
    with suppress(CameraError):
        while True:
            if found := robot.look():  # type: ignore[attr-defined]
                yield found.removeprefix("probably ")


def taught(learner: Learner) -> Learner:
    for label in SEEN:
        for number in range(3):
            learner.teach(home_picture(f"clean/{label}_01/{number}"), label, poor="accept")
    return learner


def test_it_announces_each_object_once(example: ModuleType, video: Path, lite0: Backbone) -> None:
    with open_camera(video, realtime=False) as camera:
        robot = example.Robot(taught(Learner(lite0)), camera)
        found = list(announced(robot))
    assert found == list(SEEN)


def test_the_box_is_that_of_the_object(example: ModuleType) -> None:
    x, y, width, height = example.changed_box(boxed(""), boxed("mug"))
    assert x >= 200
    assert y >= 120
    assert x + width <= 440
    assert y + height <= 360
    assert example.changed_box(boxed(""), boxed("")) is None


def test_it_learns_what_lies_on_the_table(
    example: ModuleType, video: Path, lite0: Backbone
) -> None:
    learner = Learner(lite0)
    with open_camera(video, realtime=False) as camera:
        robot = example.Robot(learner, camera)
        robot.look()
        assert robot.teach("mug") == "there is nothing on the table"
        while robot._seen is None:
            robot.look()
        assert robot.teach("mug") == "learned mug"
        assert next(announced(robot)) == "mug"
    assert learner.counts == {"mug": 1}


@pytest.mark.slow
@pytest.mark.parametrize("number", [None, signal.SIGINT])
def test_the_program_prints_what_it_sees(
    number: signal.Signals | None, video: Path, lite0: Backbone, tmp_path: Path
) -> None:
    state = tmp_path / "home.robocle"
    with Learner.open(state, lite0) as learner:
        taught(learner)
    command = [sys.executable, str(PROGRAM), str(state), "--camera", str(video)]
    program = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert program.stdout
    first = program.stdout.readline().strip()
    if number:
        program.send_signal(number)
        program.wait(60)
    output, errors = program.communicate()  # closes its standard input, which ends it
    assert first.removeprefix("probably ") in (*SEEN, "unknown")
    assert program.returncode == 0, output + errors
    assert "Traceback" not in errors
