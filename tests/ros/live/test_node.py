"""One node, with every service, parameter and topic, and a clock that stands still.

It is started with use_sim_time, and nobody publishes a clock.
"""

import array
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: `make ros` installs it and runs these tests")

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import DescribeParameters
from sensor_msgs.msg import CompressedImage, Image

from robocle.ros.encodings import decoded
from robocle.ros.settings import PARAMETERS
from ros_robot import compressed_image, picture_of, raw_image
from waiting import wait_for

if TYPE_CHECKING:
    from ros_robot import Process, Robot

pytestmark = pytest.mark.slow
LABELS = ("mug", "clock", "banana")


@pytest.fixture(scope="module")
def node(start_once: Callable[..., "Process"], tmp_path_factory: Any) -> "Process":
    # Whole numbers stand for the parameters max_rate and filter_frames, which are not.
    given = ("filter:=false", "max_rate:=0", "filter_frames:=2", "use_sim_time:=true")
    values = [each for value in given for each in ("-p", value)]
    return start_once(tmp_path_factory.mktemp("node") / "home.robocle", "--ros-args", *values)


@pytest.fixture
def robot(robot_of_module: "Robot", node: "Process") -> Iterator["Robot"]:
    """A robot whose node was taught three objects, again after each test."""
    robot = robot_of_module
    for label in set(LABELS) - set(robot.call("list").labels):
        robot.teach_all(label)
    yield robot
    assert node.process.poll() is None
    assert not node.logged("Traceback")
    for label in set(robot.call("list").labels) - set(LABELS):
        assert robot.call("forget", label=label).success


def test_the_node_recognises_forgets_renames_and_undoes(robot: "Robot") -> None:
    mug = raw_image(picture_of("mug", 5))
    seen = robot.show(mug)
    assert (seen.label, seen.header.frame_id) == ("mug", "camera")
    assert sum(seen.confidences) + seen.unknown_probability == pytest.approx(1)
    assert list(seen.confidences) == sorted(seen.confidences, reverse=True)
    named = wait_for(lambda: robot.classifications, "a classification")[-1]
    assert named.results[0].class_id == "mug"
    assert robot.show(raw_image(picture_of("umbrella", 0))).label == ""

    assert robot.call("forget", label="mug").success
    assert robot.show(mug).label != "mug"
    assert robot.call("undo").message == "undid forgetting 'mug'"
    assert robot.call("rename", label="mug", new_label="cup").success
    assert robot.show(mug).label == "cup"
    assert robot.call("undo").success
    versions = [info.version for info in robot.infos]
    assert versions == sorted(set(versions))


def test_copies_are_saved_without_replacing_what_is_there(robot: "Robot", tmp_path: Path) -> None:
    copy = tmp_path / "copy.robocle"
    assert robot.call("save", path=str(copy)).success
    assert "it exists" in robot.call("save", path=str(copy)).message
    assert robot.call("save", path=str(copy), replace=True).success
    copy.write_text("notes")
    assert (
        "is not a state, or was written" in robot.call("save", path=str(copy), replace=True).message
    )
    assert copy.read_text() == "notes"
    assert "path is empty" in robot.call("save", path="").message


def test_one_picture_is_looked_up_removed_and_brought_back(robot: "Robot") -> None:
    before = robot.call("list")
    assert before.success
    assert dict(zip(before.labels, before.counts, strict=True)) == dict.fromkeys(LABELS, 4)
    found = robot.call("samples", label="clock")
    assert [each.label for each in found.samples] == ["clock"] * 4
    assert all(0 <= each.recognised <= 1 for each in found.samples)
    assert abs(found.samples[0].stamp.sec - time.time()) < 3600
    assert len(robot.call("samples").samples) == 12
    assert "never taught" in robot.call("samples", label="dragon").message
    removed = robot.call("remove", ids=[found.samples[1].id])
    assert removed.success
    assert removed.version > before.version
    rest = [each.id for each in robot.call("samples", label="clock").samples]
    assert rest == [each.id for number, each in enumerate(found.samples) if number != 1]
    assert "no sample" in robot.call("remove", ids=["0" * 32]).message
    assert robot.call("undo").success
    assert len(robot.call("samples", label="clock").samples) == 4


def test_encodings_are_recognised(robot: "Robot") -> None:
    for encoding in ("bgr8", "mono8", "bayer_rggb8"):
        seen = robot.show(raw_image(picture_of("mug", 5), encoding))
        assert seen.nearest == "mug", encoding


def bad_images() -> list[Any]:
    encoding, truncated, empty = (raw_image(picture_of("mug", 0)) for _ in range(3))
    encoding.encoding = "32FC1"
    truncated.data = truncated.data[:1000]
    empty.height = empty.width = empty.step = 0
    empty.data = empty.data[:0]
    return [encoding, truncated, empty]


def test_bad_input_is_an_answer_or_a_warning(robot: "Robot", node: "Process") -> None:
    assert "never taught" in robot.call("forget", label="dragon").message
    assert "label" in robot.teach("", raw_image(picture_of("mug", 0))).message
    assert "out of range" in robot.call("teach", label="mug", frames=5000).message
    robot.diagnostics.clear()
    for bad in bad_images():
        answer = robot.teach("mug", bad)
        assert not answer.success
        assert answer.message
        robot.raw.publish(robot.stamped(bad))
    wait_for(lambda: node.logged("an image was not used"), "a warning")
    wait_for(lambda: any(each.level == b"\x01" for each in robot.diagnostics), "diagnostics warn")
    assert robot.show(raw_image(picture_of("mug", 5))).label == "mug"


def test_a_lesson_ends_in_time_although_the_clock_stands_still(robot: "Robot") -> None:
    assert robot.set_parameter("teach_timeout", 1).successful
    message = robot.call("teach", seconds=20, label="mug", frames=3).message
    assert "only 0 of 3 frames" in message
    assert "within 1 s" in message
    robot.diagnostics.clear()
    wait_for(lambda: len(robot.diagnostics) > 1, "diagnostics go on")
    assert robot.set_parameter("teach_timeout", 30).successful


def frames(*numbers: int, label: str = "key") -> Callable[[], Any]:
    """Return pictures of an object in turn."""
    images = [raw_image(picture_of(label, number)) for number in numbers]
    turn = iter(range(10_000))
    return lambda: images[next(turn) % len(images)]


def test_a_frame_that_is_damaged_is_not_one_of_those_that_are_taught(robot: "Robot") -> None:
    good, bad = raw_image(picture_of("key", 1)), bad_images()[1]
    turn = iter(range(10_000))
    with robot.streaming(robot.raw, lambda: bad if next(turn) % 2 else good, rate=20):
        answer = robot.call("teach", label="key", frames=4)
    assert answer.success, answer.message
    assert answer.taught == 4


def test_two_lessons_at_once_learn_different_frames(robot: "Robot") -> None:
    robot.connected(robot.raw)
    first, second = (robot.ask("teach", label=label, frames=3) for label in ("key", "pen"))
    time.sleep(0.3)
    make = frames(*range(6))
    for _ in range(5):
        robot.raw.publish(robot.stamped(make()))
        time.sleep(0.2)
    time.sleep(0.5)
    assert not second.done()  # five frames are not enough for both
    with robot.streaming(robot.raw, make, rate=10):
        wait_for(lambda: first.done() and second.done(), "both lessons")
    assert [first.result().taught, second.result().taught] == [3, 3]


def change(robot: "Robot", number: int) -> None:
    transition = Transition(id=number)
    assert robot.call_of(ChangeState, "/robocle/change_state", transition=transition).success


def test_a_lesson_is_told_that_the_node_was_deactivated_or_disabled(robot: "Robot") -> None:
    robot.connected(robot.raw)
    lesson = robot.ask("teach", label="key", frames=3)
    time.sleep(0.3)
    change(robot, Transition.TRANSITION_DEACTIVATE)
    wait_for(lesson.done, "an answer", 10)
    assert "the node was deactivated" in lesson.result().message
    assert "activate" in robot.call("teach", label="key", frames=3).message
    change(robot, Transition.TRANSITION_ACTIVATE)
    lesson = robot.ask("teach", label="key", frames=3)
    time.sleep(0.3)
    assert robot.call("enable", data=False).success
    wait_for(lesson.done, "an answer", 10)
    assert "the node was disabled" in lesson.result().message
    with pytest.raises(AssertionError, match="no prediction"):
        robot.show(raw_image(picture_of("mug", 5)), seconds=1)
    assert robot.call("enable", data=True).success
    assert robot.show(raw_image(picture_of("mug", 5))).label == "mug"


def test_parameters_are_described_checked_and_take_effect(robot: "Robot") -> None:
    names = list(PARAMETERS)
    described = robot.call_of(DescribeParameters, "/robocle/describe_parameters", names=names)
    assert all(each.description for each in described.descriptors)
    keyboard = raw_image(picture_of("keyboard", 0))
    assert robot.set_parameter("false_accept", 1).successful  # an integer for a double
    assert robot.show(keyboard).label in LABELS
    assert robot.set_parameter("false_accept", 0.01).successful
    assert robot.show(keyboard).label == ""
    for name, value, words in (
        ("false_accept", 0.9, "out of range"),
        ("false_accept", "much", "not a number"),
        ("roi", [1, 2], "roi"),
        ("image_transport", "pigeon", "pigeon"),
        ("image_transport", "compressed", "clean it up first"),
        ("boxes", True, "clean it up first"),
    ):
        answer = robot.set_parameter(name, value)
        assert not answer.successful
        assert words in answer.reason
    assert robot.set_parameter("image_transport", "raw").successful  # as it is
    assert robot.set_parameter("false_accept", 0.05).successful


def test_the_region_of_interest_is_what_is_recognised(robot: "Robot") -> None:
    image = raw_image(picture_of("mug", 5))
    whole = robot.show(image)
    assert robot.set_parameter("roi", [0, 0, 40, 40]).successful
    corner = robot.show(image)
    assert corner.confidences != whole.confidences
    assert robot.set_parameter("roi", [0, 0, 0, 0]).successful
    assert list(robot.show(image).confidences) == pytest.approx(list(whole.confidences))


@pytest.mark.parametrize(
    ("kind", "topic"),
    [(Image, "debug_image"), (CompressedImage, "debug_image/compressed")],
)
def test_the_debug_image_shows_the_label_to_those_who_listen(
    kind: Any, topic: str, robot: "Robot"
) -> None:
    heard: list[Any] = []
    listener = robot.listen(kind, f"/robocle/{topic}", heard)
    robot.show(raw_image(picture_of("mug", 5)))
    image = raw_image(picture_of("mug", 5))
    wait_for(lambda: robot.show(image) and heard, "a debug image")
    if kind is Image:
        size = heard[-1].height, heard[-1].width, 3
        shown = bytes(heard[-1].data)
        plain = bytes(image.data)
        assert (*size,) == (224, 224, 3)
        assert 0.5 < sum(map(int.__eq__, shown, plain)) / len(plain) < 1
    else:
        assert decoded(bytes(heard[-1].data)).shape == (224, 224, 3)
    assert heard[-1].header.frame_id == "camera"
    robot.node.destroy_subscription(listener)


def test_large_raw_images_arrive_if_camera_and_node_are_reliable(robot: "Robot") -> None:
    label = robot.call_of(GetState, "/robocle/get_state").current_state.label
    assert label == "active"
    change(robot, Transition.TRANSITION_DEACTIVATE)
    change(robot, Transition.TRANSITION_CLEANUP)
    answer = robot.call("list")
    assert not answer.success
    assert "configure it first" in answer.message
    assert robot.set_parameter("reliability", "reliable").successful
    change(robot, Transition.TRANSITION_CONFIGURE)
    assert "clean it up first" in robot.set_parameter("reliability", "best_effort").reason
    change(robot, Transition.TRANSITION_ACTIVATE)
    image = Image(height=480, width=640, encoding="rgb8", step=1920)
    image.data = array.array("B", bytes(480 * 1920))
    camera = robot.node.create_publisher(Image, "image", 1)  # reliable by default
    seen = robot.show(image, camera)
    assert (seen.verdict, seen.nothing) == ("nothing", "the picture is black")
    robot.node.destroy_publisher(camera)


def test_frames_of_a_compressed_camera_are_taught(robot: "Robot") -> None:
    """The topic is that of `image` with /compressed, as image_transport has it."""
    change(robot, Transition.TRANSITION_DEACTIVATE)
    change(robot, Transition.TRANSITION_CLEANUP)
    assert robot.set_parameter("image_transport", "compressed").successful
    assert robot.set_parameter("reliability", "best_effort").successful
    change(robot, Transition.TRANSITION_CONFIGURE)
    change(robot, Transition.TRANSITION_ACTIVATE)
    robot.connected(robot.compressed)
    files = [picture_of("key", number).read_bytes() for number in range(4)]
    turn = iter(range(10_000))
    with robot.streaming(
        robot.compressed, lambda: compressed_image(files[next(turn) % 4]), rate=10
    ):
        answer = robot.call("teach", label="key", frames=4)
    assert answer.success, answer.message
    image = compressed_image(picture_of("key", 5).read_bytes())
    assert robot.show(image, robot.compressed).nearest == "key"
