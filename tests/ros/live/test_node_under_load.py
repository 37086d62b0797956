"""Many frames, slow listeners and other managers: the node stays at the newest image and lives."""

import array
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: `make ros` installs it and runs these tests")

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from PIL import Image as PillowImage
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, SetParameters
from sensor_msgs.msg import Image

from home_pictures import home_picture
from robocle.ros.encodings import decoded
from robocle.ros.settings import PARAMETERS
from ros_robot import compressed_image, raw_image, vision
from waiting import wait_for

if TYPE_CHECKING:
    from ros_robot import Process, Robot

pytestmark = pytest.mark.slow
Start = Callable[..., "Process"]
LISTENER = """
import rclpy
from robocle_interfaces.msg import Prediction
rclpy.init()
node = rclpy.create_node("listener")
node.create_subscription(Prediction, "prediction", lambda _: print("heard", flush=True), 10)
rclpy.spin(node)
"""


def teach(robot: "Robot") -> None:
    for label in ("mug", "clock"):
        images = [raw_image(home_picture(f"clean/{label}_01/{n}")) for n in range(3)]
        assert robot.teach(label, *images).success


def call(robot: "Robot", kind: Any, name: str, **fields: Any) -> Any:
    client = robot.node.create_client(kind, name)
    assert client.wait_for_service(30)
    future = client.call_async(kind.Request(**fields))
    wait_for(future.done, name)
    return future.result()


def collage() -> bytes:
    """A JPEG of 640 x 480 with a mug at the left and a clock at the right."""
    canvas = PillowImage.new("RGB", (640, 480), (128, 120, 110))
    canvas.paste(PillowImage.open(home_picture("clean/mug_01/5")), (40, 100))
    canvas.paste(PillowImage.open(home_picture("clean/clock_01/5")), (370, 100))
    file = io.BytesIO()
    canvas.save(file, "JPEG", quality=90)
    return file.getvalue()


def detection(x: float, y: float, width: float, height: float, name: str) -> Any:
    found = vision.Detection2D(id=name)
    found.bbox.center.position.x, found.bbox.center.position.y = x + width / 2, y + height / 2
    found.bbox.size_x, found.bbox.size_y = float(width), float(height)
    return found


def test_a_detector_gets_its_boxes_back_with_labels(
    robot: "Robot", start: Start, state: Path
) -> None:
    node = start(state, "-p", "boxes:=true", "-p", "transport:=compressed")
    teach(robot)
    robot.connected(robot.compressed)
    wait_for(lambda: robot.boxes.get_subscription_count() > 0, "the node takes boxes")
    image = compressed_image(collage())
    boxes = vision.Detection2DArray(
        detections=[
            detection(40, 100, 224, 224, "left"),
            detection(370, 100, 224, 224, "right"),
            detection(700, 500, 50, 50, "outside"),
        ]
    )

    def labelled() -> Any:
        robot.compressed.publish(robot.stamped(image))
        boxes.header = image.header
        time.sleep(0.05)  # the detector works
        robot.boxes.publish(boxes)
        time.sleep(0.3)
        return robot.detections

    found = wait_for(labelled, "labelled boxes")[-1]
    assert found.header.frame_id == "camera"
    left, right, outside = found.detections
    assert [left.id, right.id, outside.id] == ["left", "right", "outside"]
    assert left.results[0].hypothesis.class_id == "mug"
    assert right.results[0].hypothesis.class_id == "clock"
    assert left.bbox.size_x == 224
    assert 0.3 < left.results[0].hypothesis.score <= 1
    assert list(outside.results) == []
    wait_for(lambda: node.logged("the box"), "a warning about the box")
    assert robot.predictions == []
    # Boxes may also come before their image.
    robot.detections.clear()
    boxes.header = robot.stamped(image).header
    robot.boxes.publish(boxes)
    time.sleep(0.5)
    wait_for(lambda: robot.compressed.publish(image) or robot.detections, "labelled boxes")


def scene(*objects: str) -> bytes:
    """A JPEG of a table of 640 x 480, with an object at the right or none."""
    canvas = PillowImage.new("RGB", (640, 480), (128, 120, 110))
    for name in objects:
        canvas.paste(PillowImage.open(home_picture(f"clean/{name}_01/5")), (370, 100))
    file = io.BytesIO()
    canvas.save(file, "JPEG", quality=90)
    return file.getvalue()


def test_the_example_detector_and_the_node_work_together(
    robot: "Robot", start: Start, state: Path
) -> None:
    start(state, "-p", "boxes:=true", "-p", "transport:=compressed")
    teach(robot)
    example = Path(__file__).parents[3] / "ros/examples/motion_detector.py"
    with subprocess.Popen([sys.executable, example]) as detector:
        try:
            shown = [compressed_image(scene())]
            with robot.streaming(robot.compressed, lambda: shown[0], rate=5):
                wait_for(lambda: robot.detections, "boxes of an empty table")
                assert all(not each.detections for each in robot.detections)
                for label in ("mug", "clock"):
                    shown[0] = compressed_image(scene(label))
                    robot.detections.clear()
                    named = [label]
                    wait_for(lambda named=named: names(robot) == named, f"a {label}")  # type: ignore[misc]
        finally:
            detector.kill()  # rclpy may miss a signal that comes while it begins to wait


def names(robot: "Robot") -> list[str]:
    """The labels of the boxes in the last message."""
    found = robot.detections[-1].detections if robot.detections else []
    return [each.results[0].hypothesis.class_id for each in found]


def test_with_vision_msgs_there_is_a_classification_too(
    robot: "Robot", start: Start, state: Path
) -> None:
    start(state, "-p", "filter:=false")
    teach(robot)
    robot.show(raw_image(home_picture("clean/mug_01/5")))
    if "VISION_MSGS" not in os.environ:
        assert robot.node.count_publishers("classification") == 0
        return
    found = wait_for(lambda: robot.classifications, "a classification")[-1]
    assert found.results[0].class_id == "mug"
    assert found.header.frame_id == "camera"


def test_a_thousand_frames_leave_no_memory_behind_and_the_newest_is_recognised(
    robot: "Robot", start: Start, state: Path
) -> None:
    node = start(state, "-p", "transport:=compressed", "-p", "filter:=false")
    teach(robot)
    robot.show(compressed_image(collage()), robot.compressed)
    content = collage()
    with robot.streaming(robot.compressed, lambda: compressed_image(content), rate=100):
        wait_for(lambda: len(robot.predictions) >= 200, "200 predictions", 120)
        before = node.megabytes
        wait_for(lambda: len(robot.predictions) >= 1200, "1,000 more predictions", 240)
        after = node.megabytes
        # 100 images per second are more than the node can do. It must not lag behind.
        lag = robot._stamp + 1000 - robot.predictions[-1].header.stamp.sec
    assert after - before < 20
    assert lag < 100
    stamps = [each.header.stamp.sec for each in robot.predictions]
    assert stamps == sorted(stamps)
    time.sleep(1.5)
    count = len(robot.predictions)
    time.sleep(1)
    assert len(robot.predictions) == count  # no queue is worked off after the last image


def test_a_listener_that_hangs_or_dies_changes_nothing(
    robot: "Robot", start: Start, state: Path
) -> None:
    node = start(state, "-p", "transport:=compressed", "-p", "filter:=false")
    teach(robot)
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER], stdout=subprocess.PIPE, text=True
    ) as listener:
        assert listener.stdout
        content = collage()
        with robot.streaming(robot.compressed, lambda: compressed_image(content), rate=20):
            assert listener.stdout.readline() == "heard\n"
            listener.send_signal(signal.SIGSTOP)
            for number in (listener.pid, None):
                count = len(robot.predictions) + 100
                wait_for(lambda count=count: len(robot.predictions) >= count, "100 more", 120)  # type: ignore[misc]
                if number:
                    listener.kill()
    assert node.process.poll() is None


def test_a_lifecycle_manager_takes_the_node_through_its_states(
    robot: "Robot", start: Start, state: Path
) -> None:
    start(state, "-p", "filter:=false", options=("--no-autostart",))
    assert not robot.teach("mug", raw_image(home_picture("clean/mug_01/0"))).success

    def change(number: int) -> None:
        transition = Transition(id=number)
        answer = call(robot, ChangeState, "/robocle/change_state", transition=transition)
        assert answer.success

    def label() -> str:
        return str(call(robot, GetState, "/robocle/get_state").current_state.label)

    assert label() == "unconfigured"
    change(Transition.TRANSITION_CONFIGURE)
    assert label() == "inactive"
    teach(robot)
    change(Transition.TRANSITION_ACTIVATE)
    assert robot.show(raw_image(home_picture("clean/mug_01/5"))).label == "mug"
    change(Transition.TRANSITION_DEACTIVATE)
    change(Transition.TRANSITION_CLEANUP)
    assert robot.call("list").labels == []
    change(Transition.TRANSITION_CONFIGURE)
    assert list(robot.call("list").labels) == ["mug", "clock"]
    change(Transition.TRANSITION_ACTIVATE)
    assert robot.show(raw_image(home_picture("clean/clock_01/5"))).label == "clock"


def test_parameters_are_described_checked_and_take_effect(
    robot: "Robot", start: Start, state: Path
) -> None:
    start(state, "-p", "filter:=false", "-p", "false_accept:=1.0")
    teach(robot)
    described = call(
        robot, DescribeParameters, "/robocle/describe_parameters", names=list(PARAMETERS)
    )
    assert all(each.description for each in described.descriptors)

    def set_double(name: str, value: float) -> Any:
        kind = ParameterType.PARAMETER_DOUBLE
        parameter = Parameter(name=name, value=ParameterValue(type=kind, double_value=value))
        return call(robot, SetParameters, "/robocle/set_parameters", parameters=[parameter])

    keyboard = raw_image(home_picture("clean/keyboard_01/0"))
    assert robot.show(keyboard).label in ("mug", "clock")
    assert set_double("false_accept", 0.01).results[0].successful
    assert robot.show(keyboard).label == ""
    assert not set_double("false_accept", 0.9).results[0].successful
    kind = ParameterType.PARAMETER_STRING
    wrong = Parameter(name="transport", value=ParameterValue(type=kind, string_value="pigeon"))
    answer = call(robot, SetParameters, "/robocle/set_parameters", parameters=[wrong])
    assert "pigeon" in answer.results[0].reason


def test_large_raw_images_arrive_if_camera_and_node_are_reliable(
    robot: "Robot", start: Start, state: Path
) -> None:
    start(state, "-p", "reliability:=reliable", "-p", "filter:=false")
    teach(robot)
    pixels = decoded(collage())
    image = Image(height=480, width=640, encoding="rgb8", step=1920)
    image.data = array.array("B", pixels.tobytes())
    camera = robot.node.create_publisher(Image, "image", 1)  # reliable by default
    seen = robot.show(image, camera)
    assert list(seen.labels)


def test_the_region_of_interest_is_what_is_recognised(
    robot: "Robot", start: Start, state: Path
) -> None:
    start(state, "-p", "transport:=compressed", "-p", "filter:=false")
    teach(robot)
    for region, label in (([40, 100, 224, 224], "mug"), ([370, 100, 224, 224], "clock")):
        kind = ParameterType.PARAMETER_INTEGER_ARRAY
        value = ParameterValue(type=kind, integer_array_value=region)
        parameters = [Parameter(name="roi", value=value)]
        answer = call(robot, SetParameters, "/robocle/set_parameters", parameters=parameters)
        assert answer.results[0].successful
        assert robot.show(compressed_image(collage()), robot.compressed).label == label
