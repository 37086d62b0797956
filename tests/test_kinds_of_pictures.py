"""A learner takes every kind of picture that a program may have, and answers alike."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from robocle import ImageError, Learner
from robocle.backbones import Backbone
from robocle.demo.pictures import home_pictures
from robocle.types import Pixels

TAUGHT = [each for each in home_pictures() if each.is_taught and each.category in ("mug", "clock")]


@pytest.fixture(scope="module")
def learner(lite0: Backbone) -> Learner:
    learner = Learner(lite0)
    learner.teach_many([each.path for each in TAUGHT], [each.category for each in TAUGHT])
    return learner


@pytest.fixture(scope="module")
def frame() -> Pixels:
    """An RGB picture of a mug, as a camera returns it."""
    with Image.open(TAUGHT[-1].path) as image:
        return np.asarray(image.convert("RGB"))


def png(frame: Pixels) -> bytes:
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "PNG")
    return file.getvalue()


def with_alpha(frame: Pixels) -> Pixels:
    return np.dstack([frame, np.full(frame.shape[:2], 255, np.uint8)])


COLOUR: dict[str, Callable[[Pixels], Any]] = {
    "bytes": png,
    "bytearray": lambda frame: bytearray(png(frame)),
    "stream": lambda frame: io.BytesIO(png(frame)),
    "PIL image": Image.fromarray,
    "RGBA": with_alpha,
    "floats from 0 to 1": lambda frame: frame / 255,
    "float32": lambda frame: (frame / 255).astype(np.float32),
    "uint16": lambda frame: frame.astype(np.uint16) * 257,
    "a reversed view": lambda frame: frame[..., ::-1].copy()[..., ::-1],
}


@pytest.mark.parametrize("kind", COLOUR)
def test_every_kind_of_a_picture_gives_the_same_prediction(
    kind: str, learner: Learner, frame: Pixels
) -> None:
    expected = learner.predict(frame)
    assert expected.label == "mug"
    assert learner.predict(COLOUR[kind](frame)).scores == expected.scores


def test_a_grey_picture_needs_no_channels(learner: Learner, frame: Pixels) -> None:
    grey = np.asarray(Image.fromarray(frame).convert("L"))
    expected = learner.predict(np.dstack([grey, grey, grey])).scores
    assert learner.predict(grey).scores == learner.predict(grey[..., None]).scores == expected


def test_the_frames_of_opencv_are_reversed_by_their_last_axis(
    learner: Learner, frame: Pixels
) -> None:
    bgr = frame[..., ::-1].copy()  # what VideoCapture.read returns
    assert learner.predict(bgr[..., ::-1]).scores == learner.predict(frame).scores
    assert learner.predict(bgr).scores != pytest.approx(learner.predict(frame).scores, rel=0.02)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (lambda frame: frame.astype(np.float32), "divide by the largest possible value"),
        (lambda frame: frame.transpose(2, 0, 1), "give array.transpose(1, 2, 0)"),
        (lambda frame: frame[None], "give the pictures of a batch one by one"),
        (lambda frame: frame.astype(np.int64), "astype('uint8')"),
        (lambda frame: frame.tolist(), "give numpy.asarray(...) of it"),
    ],
    ids=["floats from 0 to 255", "channels first", "batch", "int64", "list"],
)
def test_a_common_mistake_is_answered_with_what_to_do(
    wrong: Callable[[Pixels], Any], hint: str, learner: Learner, frame: Pixels
) -> None:
    counts = learner.counts
    with pytest.raises(ImageError) as caught:
        learner.teach(wrong(frame), "mug")
    assert hint in str(caught.value)
    assert learner.counts == counts
