"""Parts from an installed package work like built-in ones; the test installs such a package."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import robocle
from command_line import run
from robocle.backbones import BACKBONES
from robocle.classifiers import StreamingClassifier
from robocle.poolings import POOLINGS

PLUGIN = '''
import hashlib
import numpy as np
from robocle.types import FeatureMaps


class Corners:
    """The first and the last position, times a gain."""

    blocks = 2

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, maps):
        return self.gain * np.hstack([maps.grid[:, 0], maps.grid[:, -1]])


class Tiles:
    """The mean colour of each of four tiles."""

    name = "tiles"
    fingerprint = hashlib.sha256(b"tiles").hexdigest()
    input_size = 32

    def features(self, pixels):
        tiles = pixels.reshape(len(pixels), 2, 16, 2, 16, 3).mean(axis=(2, 4))
        return FeatureMaps(tiles.reshape(len(pixels), 4, 3).astype(np.float32))
'''
ENTRY_POINTS = """
[robocle.poolings]
corners = robocle_test_plugin:Corners
avg = robocle_test_plugin:Corners

[robocle.backbones]
tiles = robocle_test_plugin:Tiles
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with a pooling and a backbone."""
    (tmp_path / "robocle_test_plugin.py").write_text(PLUGIN)
    installed = tmp_path / "robocle_test_plugin-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: robocle-test-plugin\nVersion: 1.0\n"
    )
    (installed / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("robocle_test_plugin", None)


@pytest.mark.usefixtures("plugin")
def test_the_parts_of_a_plugin_are_built_described_and_listed_last() -> None:
    assert POOLINGS.names()[0] == "avg"
    assert POOLINGS.names()[-1] == "corners"
    part = robocle.pooling("corners:gain=2")
    maps = robocle.FeatureMaps(np.arange(12, dtype=np.float32).reshape(1, 4, 3))
    assert part(maps).tolist() == [[0, 2, 4, 18, 20, 22]]
    assert POOLINGS.describe(part) == "corners:gain=2"
    assert POOLINGS.summary("corners") == "The first and the last position, times a gain."


@pytest.mark.usefixtures("plugin")
def test_a_plugin_cannot_replace_a_built_in_part() -> None:
    assert type(robocle.pooling("avg")).__name__ == "Average"


@pytest.mark.usefixtures("plugin")
def test_a_learner_with_plugin_parts_is_saved_and_loaded(tmp_path: Path) -> None:
    assert "tiles" in BACKBONES.names()
    learner = robocle.Learner("tiles", pooling="corners:gain=0.5", classifier="ncm")
    shade = np.linspace(0, 50, 40, dtype=np.uint8)[:, None, None] * np.ones((1, 40, 3), np.uint8)
    dark, light = shade, 200 + shade
    learner.teach(dark, "night")
    learner.teach(light, "day")
    learner.save(tmp_path / "plugin.robocle")
    loaded = robocle.Learner.load(tmp_path / "plugin.robocle")
    assert loaded.parts == learner.parts
    assert loaded.predict(light).label == "day"


def test_a_plugin_that_cannot_be_imported_is_listed_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "broken-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[robocle.views]\nbroken = nowhere:Views\n")
    monkeypatch.syspath_prepend(tmp_path)
    result = run("parts")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    expected = (
        "broken the plug-in 'broken' cannot be imported from nowhere:Views (No module named "
        "'nowhere'): check its entry point, or reinstall it"
    )
    assert expected in lines
    assert "corruptions" in lines


class Deaf(StreamingClassifier):
    """A classifier that adds no attribute of its own."""

    def _reset(self) -> None:
        """Discard nothing."""

    def _learn(self, sample: object, row: int) -> None:
        """Learn nothing."""

    def _scores(self, embeddings: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.zeros((len(embeddings), len(self._labels)))


def test_the_page_lists_the_attributes_of_the_base_class_of_classifiers() -> None:
    page = (Path(__file__).parents[1] / "docs" / "plugins.md").read_text("utf-8")
    (sentence,) = re.findall(r"The base class has the attributes (.*?)\.", page, re.DOTALL)
    own = {*vars(Deaf()), *StreamingClassifier.__annotations__}
    assert set(re.findall(r"`(\w+)`", sentence)) == {each for each in own if each[0] == "_"}
