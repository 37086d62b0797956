"""What the node decides, without ROS: stamps, settings, frames to teach, boxes, health."""

import threading
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from command_line import error_of, run
from home_pictures import home_picture
from refusal import Refusal
from robocle import Learner
from robocle.backbones import Backbone
from robocle.errors import ImageError, RosError, SpecError
from robocle.ros import required
from robocle.ros.frames import AwaitedFrames, StampMatcher, Worker
from robocle.ros.recogniser import Health, Recogniser
from robocle.ros.services import Services
from robocle.ros.settings import PARAMETERS, Settings
from robocle.types import Prediction
from stub_backbone import embedding


@pytest.fixture
def recogniser(lite0: Backbone) -> Recogniser:
    found = Recogniser(Learner(lite0), Settings.of({"state": "home.robocle", "filter": False}))
    for label in ("mug", "clock"):
        pictures = [home_picture(f"clean/{label}_01/{n}").read_bytes() for n in range(3)]
        found.teach(pictures, label, None)
    return found


def test_boxes_are_matched_with_the_image_of_their_stamp() -> None:
    matcher = StampMatcher[str, str](tolerance=10)
    for stamp in (100, 200, 300):
        assert matcher.image(stamp, f"image {stamp}") is None
    assert matcher.boxes(195, "boxes") == "image 200"
    assert matcher.boxes(100, "late boxes") is None  # older images are gone
    assert matcher.boxes(305, "boxes") == "image 300"


def test_boxes_that_come_first_wait_for_their_image() -> None:
    matcher = StampMatcher[str, str]()
    assert matcher.boxes(100, "boxes") is None
    assert matcher.image(90, "another image") is None
    assert matcher.image(100, "image") == "boxes"
    assert matcher.image(100, "image again") is None


def test_only_some_images_wait_and_only_the_newest_boxes() -> None:
    matcher = StampMatcher[int, str](waiting=3)
    for stamp in range(10):
        matcher.image(stamp, stamp)
    assert matcher.boxes(5, "boxes") is None
    assert matcher.boxes(8, "boxes") == 8
    assert matcher.boxes(50, "newer boxes") is None
    assert matcher.unmatched == 1
    assert matcher.image(50, 50) == "newer boxes"


def test_the_defaults_of_the_parameters_are_valid_and_each_is_described() -> None:
    settings = Settings.of({})
    assert settings.roi is None
    assert settings.steady() is not None
    assert set(vars(settings)) == set(PARAMETERS)
    for parameter in PARAMETERS.values():
        assert parameter.description.endswith(".")
        if parameter.limits:
            assert isinstance(parameter.default, float)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("image_transport", "pigeon"),
        ("max_rate", "fast"),
        ("max_rate", True),
        ("reliability", "always"),
        ("poor", "open"),
        ("false_accept", 0.0),
        ("false_accept", 0.9),
        ("false_accept", float("nan")),
        ("filter_sure", 0.1),
        ("max_rate", -1.0),
        ("roi", [1, 2, 3]),
        ("roi", [-1, 0, 5, 5]),
    ],
)
def test_a_parameter_that_cannot_be_used_is_refused(
    name: str, value: Any, refusal: Refusal
) -> None:
    assert name in refusal(SpecError, lambda: Settings.of({name: value}))


def test_a_whole_number_is_a_number_and_boxes_come_from_one_place(refusal: Refusal) -> None:
    assert Settings.of({"max_rate": 5}) == Settings.of({"max_rate": 5.0})
    both = {"boxes": True, "finder": "onnx:picodet.onnx"}
    assert "only one of them" in refusal(SpecError, lambda: Settings.of(both))


def test_each_frame_is_for_one_request_in_their_order() -> None:
    frames, found = AwaitedFrames(), list[Any]()
    for count in (1, 3):
        frames.request(count, 30, lambda pictures, why: found.append((pictures, why)))
    for number in range(5):
        frames.offer(bytes([number]))
    assert found == [([b"\0"], ""), ([b"\1", b"\2", b"\3"], "")]
    assert not frames


def test_a_request_for_frames_ends_with_the_reason() -> None:
    frames, found = AwaitedFrames(), list[Any]()
    for seconds in (0.0, 60.0, 60.0):
        frames.request(2, seconds, lambda pictures, why: found.append((len(pictures), why)))
    frames.offer(b"1")
    frames.expire()
    assert found.pop(0) == (1, "the others did not come within 0 s, check the camera")
    frames.offer(b"2")
    frames.expire()  # the time of the second request began when the first one ended
    assert not found
    frames.cancel("the node was deactivated")
    assert found == [(1, "the node was deactivated"), (0, "the node was deactivated")]


def test_a_worker_takes_the_newest_item_and_jobs_before_it() -> None:
    begun, go_on, done = threading.Event(), threading.Event(), []

    def handle(item: str) -> None:
        begun.set()
        assert go_on.wait(30)
        done.append(item)

    worker = Worker(handle)
    worker.show("first")
    assert begun.wait(30)
    for number in range(100):
        worker.show(f"item {number}")
    worker.do(lambda: done.append("job"))
    go_on.set()
    while len(done) < 3:
        time.sleep(0.01)
    assert done == ["first", "job", "item 99"]
    worker.stop()


def test_a_worker_goes_on_after_an_error_and_finishes_its_jobs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done: list[int] = []
    worker = Worker[int](done.append)
    worker.do(lambda: done.append(1 // 0))
    worker.do(lambda: done.append(2))
    worker.stop()
    assert done == [2]
    assert "unexpected error" in caplog.text


def test_boxes_are_labelled_and_one_outside_is_an_error(recogniser: Recogniser) -> None:
    canvas = Image.new("RGB", (640, 480), (120, 120, 120))
    canvas.paste(Image.open(home_picture("clean/mug_01/5")), (10, 10))
    canvas.paste(Image.open(home_picture("clean/clock_01/5")), (300, 200))
    boxes = [(10, 10, 224, 224), (5000, 0, 10, 10), (300, 200, 224, 224), (0, 0, float("nan"), 9)]
    first, outside, second, invalid = recogniser.see_boxes(np.asarray(canvas), boxes)
    assert isinstance(first, Prediction)
    assert isinstance(second, Prediction)
    assert (first.label, second.label) == ("mug", "clock")
    assert isinstance(outside, ImageError)
    assert isinstance(invalid, ImageError)


def test_a_version_grows_with_every_change_of_any_program(
    lite0: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the clock of the system is set back, or an older copy replaces the file."""
    path, settings = tmp_path / "home.robocle", Settings.of({})
    Learner(lite0, pooling="avg", classifier="ncm").save(path)
    older, copy = path.read_bytes(), tmp_path / "copy"
    with Learner.open(path, lite0) as learner, Learner.edit(path) as other:
        recogniser = Recogniser(learner, settings)
        versions = [recogniser.version]
        for number in range(20):
            monkeypatch.setattr(time, "time_ns", lambda n=number: (2_000_000_000 - n) * 10**9)
            (learner if number % 2 else other).teach_embedding(embedding(number, 8), "mug")
            versions.append(recogniser.version)
        other.undo()
        versions.append(recogniser.version)
        assert versions == sorted(set(versions))
        with Learner.open(path, lite0) as again:
            assert Recogniser(again, settings).version == versions[-1]
        copy.write_bytes(older)
        copy.replace(path)
        assert recogniser.version > versions[-1]
        assert learner.labels == ()


def test_a_node_goes_on_while_its_file_cannot_be_read(
    lite0: Backbone, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, mug = tmp_path / "home.robocle", home_picture("clean/mug_01/5").read_bytes()
    with Learner.open(path, lite0) as learner:
        recogniser = Recogniser(learner, Settings.of({"filter": False}))
        recogniser.teach([home_picture("clean/mug_01/0").read_bytes()], "mug", None)
        version = recogniser.version
        path.rename(tmp_path / "aside")
        path.write_text("milk, bread, eggs\n" * 30)
        services = Services(lambda: recogniser, lambda: None)
        assert (recogniser.version, recogniser.see(mug).nearest) == (version, "mug")
        assert list(answer_of(services, "list_labels").labels) == ["mug"]
        answer = answer_of(services, "undo")
        assert not answer.success
        assert "is not a state, or was written" in answer.message
        (tmp_path / "aside").replace(path)
        assert answer_of(services, "undo").success
    assert caplog.text.count("going on with what was taught before") == 1


def test_without_the_filter_each_image_is_its_own(recogniser: Recogniser) -> None:
    mug, clock = (home_picture(f"clean/{name}_01/5").read_bytes() for name in ("mug", "clock"))
    seen = [recogniser.see(each) for each in (mug, mug, clock)]
    assert [each.label for each in seen] == ["mug", "mug", "clock"]
    assert seen[0].confidence == max(seen[0].confidences.values())
    recogniser.apply(Settings.of({"filter_sure": 0.99}))
    first = recogniser.see(mug)  # one frame is not enough for a filter
    assert (first.verdict, first.label) == ("undecided", None)


def test_a_filter_goes_on_if_other_settings_change(recogniser: Recogniser) -> None:
    mug = home_picture("clean/mug_01/5").read_bytes()
    recogniser.apply(Settings.of({}))
    for _ in range(8):
        before = recogniser.see(mug)
    steady = recogniser._steady
    recogniser.apply(Settings.of({"max_rate": 5.0}))
    assert recogniser._steady is steady
    assert before.label == recogniser.see(mug).label == "mug"
    recogniser.apply(Settings.of({"filter_sure": 0.99}))
    assert recogniser._steady is not steady


def answer_of(services: Services, name: str, **fields: Any) -> Any:
    region = SimpleNamespace(x_offset=0, y_offset=0, width=0, height=0)
    usual = {"images": [], "compressed_images": [], "frames": 0, "box": region, "replace": False}
    response = SimpleNamespace(success=None, message="", version=0)
    return getattr(services, name)(SimpleNamespace(**{**usual, **fields}), response)


def test_services_answer_what_they_did_or_why_not(recogniser: Recogniser, tmp_path: Any) -> None:
    versions = {recogniser.version}
    services = Services(lambda: recogniser, lambda: versions.add(recogniser.version))
    image = SimpleNamespace(format="jpeg", data=home_picture("clean/key_01/0").read_bytes())
    assert answer_of(services, "teach", label="key", compressed_images=[image]).taught == 1
    assert answer_of(services, "rename", label="key", new_label="keys").success
    assert "keys" in answer_of(services, "list_labels").labels
    assert answer_of(services, "undo").message.startswith("undid renaming")
    assert answer_of(services, "forget", label="key").success
    assert not answer_of(services, "forget", label="key").success
    assert not answer_of(services, "teach", label="key").success
    copy, notes = tmp_path / "copy.robocle", tmp_path / "notes"
    notes.write_text("notes")
    assert answer_of(services, "save", path=str(copy)).success
    assert "it exists" in answer_of(services, "save", path=str(copy)).message
    assert answer_of(services, "save", path=str(copy), replace=True).success
    assert not answer_of(services, "save", path=str(notes), replace=True).success
    assert notes.read_text() == "notes"
    assert not answer_of(services, "save", path=str(tmp_path / "no" / "copy.robocle")).success
    assert len(versions) == 1 + 4  # taught, renamed, undone, forgotten
    assert answer_of(services, "list_labels").version == recogniser.version > 0


def test_a_request_says_how_many_frames_it_needs(recogniser: Recogniser, refusal: Refusal) -> None:
    services = Services(lambda: recogniser, lambda: None)

    def needed(frames: int, running: bool = True, images: tuple[Any, ...] = ()) -> int:
        request = SimpleNamespace(images=images, compressed_images=(), frames=frames)
        return services.frames_to_await(request, running)

    assert (needed(0), needed(7), needed(7, images=(1,))) == (1, 7, 0)
    assert "out of range" in refusal(SpecError, lambda: needed(5000))
    assert "activate" in refusal(ImageError, lambda: needed(1, running=False))


def test_a_box_of_a_request_is_the_region_that_is_taught(recogniser: Recogniser) -> None:
    services = Services(lambda: recogniser, lambda: None)
    image = SimpleNamespace(format="jpeg", data=home_picture("clean/key_01/0").read_bytes())
    box = SimpleNamespace(x_offset=5000, y_offset=0, width=50, height=50)
    answer = answer_of(services, "teach", label="key", compressed_images=[image], box=box)
    assert "box" in answer.message


def test_a_node_that_is_not_configured_answers_so() -> None:
    def not_configured() -> Recogniser:
        raise RosError("the node is not configured")

    services = Services(not_configured, lambda: None)
    assert not answer_of(services, "undo").success
    assert not answer_of(services, "list_labels").success
    assert "not configured" in answer_of(services, "samples").message


def test_health_warns_about_refused_images_and_silence(recogniser: Recogniser) -> None:
    health = Health()
    health.image()
    health.recognised += 1
    level, message, values = health.report(True, recogniser)
    assert (level, message) == ("ok", "recognising")
    assert values["images received"] == "1"
    assert values["labels"] == "2"
    health.refuse("the image is truncated")
    assert health.report(True, recogniser)[:2] == ("warn", "the image is truncated")
    assert health.report(True, recogniser)[0] == "ok"
    assert health.report(True, recogniser, 3)[1].startswith("3 boxes came without their image")
    assert health.report(True, recogniser, 3)[0] == "ok"
    health._last -= 100
    assert "no image for 100 s" in health.report(True, recogniser)[1]
    assert health.report(False, recogniser)[1] == "not active"


def test_arguments_that_are_not_for_ros_are_refused() -> None:
    assert "--camera" in run("ros", "home.robocle", "--camera", "0").stderr
    assert "extra argument" in run("ros", "home.robocle", "other.robocle").stderr


def test_without_ros_the_error_says_what_to_source() -> None:
    with pytest.raises(RosError, match="source the setup file"):
        required("rclpy_that_is_not_there")
    with pytest.raises(RosError, match="colcon"):
        required("robocle_interfaces.nothing")
    with pytest.raises(RosError, match="apt install ros-"):
        required("vision_msgs.nothing")


@pytest.mark.skipif(find_spec("rclpy") is not None, reason="ROS 2 is installed")
def test_the_command_without_ros_is_one_line() -> None:
    assert "setup.bash" in error_of("ros", "--ros-args", "-p", "state:=home.robocle")
    # The options of robocle may be anywhere before those of ROS.
    assert "setup.bash" in error_of(
        "ros", "home.robocle", "--no-autostart", "--ros-args", "-p", "a"
    )
    assert "setup.bash" in error_of("ros", "--no-autostart", "home.robocle")
