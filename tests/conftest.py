"""Fixtures that many tests share: the default backbone, and pictures drawn for the tests."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray
from PIL import Image, ImageDraw

import robocle
from home_pictures import taught_home
from refusal import Refusal, SetUmask
from robocle.backbones import Backbone
from robocle.errors import RobocleError
from skipped_tests import pytest_terminal_summary as pytest_terminal_summary

# Each run tests the same examples; `pytest --hypothesis-profile=search` looks for new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile("repeatable")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave generated examples out of the coverage: they run the same lines again and again."""
    for item in items:
        if item.get_closest_marker("hypothesis"):
            item.add_marker("no_cover")


@pytest.fixture(scope="session")
def lite0() -> Backbone:
    """The default backbone."""
    return robocle.backbone()


@pytest.fixture(scope="session")
def home_state(lite0: Backbone, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a state that was taught four pictures each of a mug, a clock and a banana."""
    path = tmp_path_factory.mktemp("taught") / "home.robocle"
    taught_home(lite0).save(path)
    return path.read_bytes()


@pytest.fixture(scope="session")
def refusal() -> Refusal:
    """A function that returns the message of an error, which must be one line."""

    def message_of(error: type[RobocleError], call: Callable[[], object]) -> str:
        with pytest.raises(error) as caught:
            call()
        message = str(caught.value)
        assert message
        assert message.splitlines() == [message]
        return message

    return message_of


@pytest.fixture
def set_umask() -> Iterator[SetUmask]:
    """A function that sets the umask for this test."""
    before = os.umask(0)
    os.umask(before)
    yield os.umask
    os.umask(before)


@pytest.fixture(scope="session")
def photo() -> NDArray[np.uint8]:
    """640x480 pixels with shading, edges and texture, like those of a photograph."""
    rng = np.random.default_rng(0)
    across, down = np.meshgrid(np.linspace(0, 1, 640), np.linspace(0, 1, 480))
    light = np.stack([200 * across, 160 * down, 120 * (1 - across)], axis=2) + 40
    grain = Image.fromarray(rng.integers(0, 48, (60, 80, 3), np.uint8)).resize((640, 480))
    image = Image.fromarray((light + np.asarray(grain) - 24).clip(0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    draw.ellipse((220, 120, 420, 360), fill=(230, 60, 40), outline=(20, 20, 20), width=6)
    draw.rectangle((60, 300, 180, 440), fill=(40, 90, 220))
    draw.polygon([(480, 420), (600, 420), (540, 260)], fill=(250, 230, 80))
    return np.asarray(image)


@pytest.fixture(scope="session")
def photo_jpeg(photo: NDArray[np.uint8], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The photo as a JPEG file, as a camera would write it."""
    path = tmp_path_factory.mktemp("photo") / "photo.jpg"
    Image.fromarray(photo).save(path, quality=92)
    return path


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder per label with four pictures each: red balls, and boxes with blue stripes."""
    root = tmp_path_factory.mktemp("objects")
    rng = np.random.default_rng(1)
    for label, draw_object in (("ball", _draw_ball), ("box", _draw_box)):
        (root / label).mkdir()
        for number in range(4):
            background = rng.integers(90, 170, (12, 16, 3), np.uint8)
            image = Image.fromarray(background).resize((320, 240))
            draw_object(ImageDraw.Draw(image), *rng.integers(-40, 40, 2).tolist())
            image.save(root / label / f"{number}.jpg")
    return root


def _draw_ball(draw: ImageDraw.ImageDraw, right: int, down: int) -> None:
    draw.ellipse((100 + right, 60 + down, 220 + right, 180 + down), fill=(220, 30, 30))


def _draw_box(draw: ImageDraw.ImageDraw, right: int, down: int) -> None:
    draw.rectangle((80 + right, 60 + down, 240 + right, 180 + down), fill="white")
    for line in range(80, 240, 20):
        draw.rectangle((line + right, 60 + down, line + 8 + right, 180 + down), fill="blue")
