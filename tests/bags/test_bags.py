"""Bags are read frame by frame, in both formats, with labels from a topic or from intervals."""

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from home_pictures import home_picture
from peak_memory import output_of
from refusal import Refusal
from robocle.bags import Bag, Intervals, write_bag
from robocle.bags.writing import IMAGE_TOPIC, LABEL_TOPIC, Storage
from robocle.errors import DataError, ImageError, MissingExtraError
from robocle.types import Example


def test_every_frame_comes_back_in_order_with_its_label(recording: Path) -> None:
    with Bag(recording) as bag:
        assert bag.image_topic() == IMAGE_TOPIC
        assert bag.count(IMAGE_TOPIC) == 32
        assert bag.seconds == pytest.approx(3.1, abs=0.01)
        frames = list(bag.frames(IMAGE_TOPIC, LABEL_TOPIC))
    assert [frame.seconds for frame in frames] == pytest.approx([n / 10 for n in range(32)])
    assert [frame.label for frame in frames[::8]] == ["mug", "clock", "umbrella", "mug"]
    assert frames[9].picture == home_picture("clean/clock_01/1").read_bytes()


def test_a_single_file_of_a_bag_is_read_too(recording: Path, tmp_path: Path) -> None:
    (file,) = (each for each in recording.iterdir() if each.suffix in (".mcap", ".db3"))
    alone = shutil.copy(file, tmp_path / f"alone{file.suffix}")
    with Bag(Path(alone)) as bag:
        assert len(list(bag.frames(bag.image_topic()))) == 32


def test_intervals_say_what_the_frames_show(recording: Path, tmp_path: Path) -> None:
    path = tmp_path / "intervals.csv"
    path.write_text("start,end,label\n1.0,1.5,clock\n0,0.35,mug\n\n", "utf-8")
    with Bag(recording) as bag:
        labels = [frame.label for frame in bag.frames(IMAGE_TOPIC, Intervals.read(path))]
    assert labels == ["mug"] * 4 + [None] * 6 + ["clock"] * 5 + [None] * 17


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no interval"),
        ("start,end,label\n", "no interval"),
        ("0,1", "line 1"),
        ("a,b,mug", "line 1"),
        ("0,1,mug\n2,1,mug", "line 2: the end must be after the start"),
        ("0,1, ", "line 1"),
        ("0,nan,mug", "line 1"),
        ("0,2,mug\n1,3,keys", "overlap"),
    ],
)
def test_intervals_that_are_none_are_refused(
    text: str, words: str, tmp_path: Path, refusal: Refusal
) -> None:
    path = tmp_path / "intervals.csv"
    path.write_text(text, "utf-8")
    assert words in refusal(DataError, lambda: Intervals.read(path))
    assert refusal(DataError, lambda: Intervals.read(tmp_path / "missing.csv"))


def raw_bag(path: Path, **fields: Any) -> Path:
    """Write a bag with one raw image."""
    types = get_typestore(Stores.ROS2_HUMBLE)
    make = types.types
    pixels = np.asarray(Image.open(home_picture("clean/mug_01/0")))
    header = make["std_msgs/msg/Header"](make["builtin_interfaces/msg/Time"](5, 0), "camera")
    values = {
        "header": header,
        "height": pixels.shape[0],
        "width": pixels.shape[1],
        "encoding": "bgr8",
        "is_bigendian": 0,
        "step": pixels.shape[1] * 3,
        "data": np.ascontiguousarray(pixels[..., ::-1]).reshape(-1),
        **fields,
    }
    kind = "sensor_msgs/msg/Image"
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic in ("/left/image_raw", "/right/image_raw"):
            connection = writer.add_connection(topic, kind, typestore=types)
            writer.write(connection, 10**18, types.serialize_cdr(make[kind](**values), kind))
    return path


def test_raw_images_are_read_in_their_encoding(tmp_path: Path) -> None:
    with Bag(raw_bag(tmp_path / "bag")) as bag:
        (frame,) = bag.frames("/left/image_raw")
    assert isinstance(frame.picture, np.ndarray)
    assert np.array_equal(frame.picture, np.asarray(Image.open(home_picture("clean/mug_01/0"))))


def test_an_image_that_cannot_be_used_is_part_of_the_shot(tmp_path: Path) -> None:
    with Bag(raw_bag(tmp_path / "bag", encoding="32FC1")) as bag:
        (frame,) = bag.frames("/left/image_raw")
    assert isinstance(frame.picture, ImageError)


def test_the_topic_must_be_given_if_there_are_several(tmp_path: Path, refusal: Refusal) -> None:
    with Bag(raw_bag(tmp_path / "bag")) as bag:
        message = refusal(DataError, bag.image_topic)
        assert "/left/image_raw (1), /right/image_raw (1)" in message
        assert "/up" in refusal(DataError, lambda: bag.image_topic("/up"))
        assert bag.image_topic("/right/image_raw") == "/right/image_raw"
        assert "/what" in refusal(DataError, lambda: list(bag.frames("/left/image_raw", "/what")))


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_bag_that_cannot_be_written_leaves_nothing_behind(
    storage: Storage, tmp_path: Path, refusal: Refusal
) -> None:
    first = Example(home_picture("clean/mug_01/0"), "mug")
    path, missing = tmp_path / "bag", Example(tmp_path / "missing.jpg", "mug")
    assert "cannot read" in refusal(DataError, lambda: write_bag(path, [first, missing]))
    assert list(tmp_path.iterdir()) == []
    assert write_bag(path, [first] * 3, storage=storage) == 3
    assert [each.name for each in tmp_path.iterdir()] == ["bag"]
    assert {each.stem for each in path.iterdir()} == {"bag", "metadata"}
    with Bag(path) as bag:
        assert bag.count(IMAGE_TOPIC) == 3
    blocked = path / "metadata.yaml" / "bag"
    assert f"cannot write {blocked}" in refusal(DataError, lambda: write_bag(blocked, [first]))


def test_a_bag_that_is_missing_or_damaged_is_one_line(
    recording: Path, tmp_path: Path, refusal: Refusal
) -> None:
    assert "no bag" in refusal(DataError, lambda: Bag(tmp_path / "missing"))
    (tmp_path / "empty").mkdir()
    assert "ros2 bag record" in refusal(DataError, lambda: Bag(tmp_path / "empty"))
    (tmp_path / "bag.mcap").write_bytes(b"")
    assert "nothing was recorded" in refusal(DataError, lambda: Bag(tmp_path / "bag.mcap"))
    (tmp_path / "bag.txt").write_bytes(b"no bag at all")
    assert ".mcap or .db3" in refusal(DataError, lambda: Bag(tmp_path / "bag.txt"))
    cut = tmp_path / "the cut"
    shutil.copytree(recording, cut)
    (file,) = (each for each in cut.iterdir() if each.suffix in (".mcap", ".db3"))
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    def read() -> None:
        with Bag(cut) as bag:
            list(bag.frames(IMAGE_TOPIC))

    repair = {".mcap": f"mcap recover '{file}'", ".db3": f"sqlite3 '{file}' .recover"}[file.suffix]
    assert repair in refusal(DataError, read)
    (cut / "metadata.yaml").unlink()
    assert f"ros2 bag reindex '{cut}'" in refusal(DataError, read)


def test_without_rosbags_the_error_names_the_extra(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    monkeypatch.setitem(sys.modules, "rosbags.rosbag2", None)
    with pytest.raises(MissingExtraError, match=r"robocle\[bag\]"):
        Bag(recording)
    with pytest.raises(MissingExtraError, match=r"robocle\[bag\]"):
        write_bag(tmp_path / "bag", [])


def test_a_bag_is_never_overwritten(recording: Path, refusal: Refusal) -> None:
    assert "exists" in refusal(DataError, lambda: write_bag(recording, []))


def test_a_picture_that_cannot_be_read_is_one_line(tmp_path: Path, refusal: Refusal) -> None:
    missing = Example(tmp_path / "missing.jpg", "mug")
    assert "missing.jpg" in refusal(DataError, lambda: write_bag(tmp_path / "bag", [missing]))


READING = """
import sys
from pathlib import Path
from peak_memory import peak_megabytes
from robocle.bags import Bag

with Bag(Path(sys.argv[1])) as bag:
    frames = bag.frames(bag.image_topic(), "/label")
    for number, frame in enumerate(frames):
        if number == 500:
            before = peak_megabytes()
    print(number + 1, peak_megabytes() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_ten_thousand_frames_are_read_in_constant_memory(storage: Any, tmp_path: Path) -> None:
    picture = tmp_path / "noise.png"
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    Image.fromarray(noise).save(picture)
    examples = (Example(picture, f"thing {n // 100}") for n in range(10_000))
    assert write_bag(tmp_path / "bag", examples, storage=storage) == 10_000
    assert 10_000 * picture.stat().st_size > 100e6  # far more than is allowed below
    frames, grown = output_of(READING, tmp_path / "bag").split()
    assert int(frames) == 10_000
    assert float(grown) < 20
