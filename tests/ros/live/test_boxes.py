"""Boxes: those of a detector come back with labels, and a finder needs no detector."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: `make ros` installs it and runs these tests")

from vision_msgs.msg import Detection2D, Detection2DArray

from bright_detector import bright_detector
from ros_robot import compressed_image, scene
from waiting import wait_for

if TYPE_CHECKING:
    from ros_robot import Process, Robot

pytestmark = pytest.mark.slow
Start = Callable[..., "Process"]
COMPRESSED = ("-p", "image_transport:=compressed")


@pytest.fixture(scope="module")
def node(start_once: Start, robot_of_module: "Robot", tmp_path_factory: Any) -> "Process":
    state = tmp_path_factory.mktemp("boxes") / "home.robocle"
    found = start_once(state, "--ros-args", *COMPRESSED, "-p", "boxes:=true")
    robot_of_module.teach_all("mug", "clock")
    robot_of_module.connected(robot_of_module.compressed)
    wait_for(lambda: robot_of_module.boxes.get_subscription_count() > 0, "the node takes boxes")
    return found


@pytest.fixture
def robot(robot_of_module: "Robot", node: "Process") -> "Robot":
    robot_of_module.detections.clear()
    return robot_of_module


def detection(x: float, y: float, width: float, height: float, name: str) -> Any:
    found = Detection2D(id=name)
    found.bbox.center.position.x, found.bbox.center.position.y = x + width / 2, y + height / 2
    found.bbox.size_x, found.bbox.size_y = float(width), float(height)
    return found


def detected(robot: "Robot", *found: Any) -> Any:
    """Show a mug and a clock, detect boxes, and return the message that comes back."""
    image, boxes = compressed_image(scene(mug=40, clock=370)), Detection2DArray(detections=found)
    robot.detections.clear()

    def labelled() -> Any:
        robot.compressed.publish(robot.stamped(image))
        boxes.header = image.header
        time.sleep(0.05)  # the detector works
        robot.boxes.publish(boxes)
        time.sleep(0.3)
        return robot.detections

    return wait_for(labelled, "labelled boxes")[-1]


def names(robot: "Robot") -> list[str]:
    """The labels of the boxes in the last message."""
    found = robot.detections[-1].detections if robot.detections else []
    return [each.results[0].hypothesis.class_id if each.results else "" for each in found]


def test_a_detector_gets_its_boxes_back_with_labels(robot: "Robot", node: "Process") -> None:
    turned = detection(370, 100, 224, 224, "right")
    turned.bbox.center.theta = 1.5708
    found = detected(
        robot, detection(40, 100, 224, 224, "left"), turned, detection(700, 500, 50, 50, "outside")
    )
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


def test_boxes_may_come_before_their_image(robot: "Robot") -> None:
    image = robot.stamped(compressed_image(scene(mug=40)))
    box = detection(40, 100, 224, 224, "")
    robot.boxes.publish(Detection2DArray(header=image.header, detections=[box]))
    time.sleep(0.5)

    def labelled() -> list[Any]:
        robot.compressed.publish(image)
        return [each for each in robot.detections if each.header.stamp == image.header.stamp]

    (found,) = wait_for(labelled, "labelled boxes")[-1].detections
    assert found.results[0].hypothesis.class_id == "mug"


def test_a_node_never_labels_its_own_boxes(robot: "Robot", start: Start, tmp_path: Path) -> None:
    """With topics that would close a loop, the node does not start; with the usual ones, each
    message of the detector comes back once."""
    loop = ("-p", "boxes:=true", "-r", "boxes:=/detections", "-r", "~/detections:=/detections")
    refused = start(tmp_path / "loop.robocle", "--ros-args", "-r", "__node:=loop", *loop)
    assert refused.process.wait(60) == 1
    wait_for(lambda: refused.logged("label its own boxes in /detections"), "the reason")
    box = detection(40, 100, 224, 224, "")
    for _ in range(6):
        image = robot.stamped(compressed_image(scene(mug=40)))
        robot.compressed.publish(image)
        time.sleep(0.05)
        robot.boxes.publish(Detection2DArray(header=image.header, detections=[box]))
        time.sleep(0.25)
    time.sleep(1)
    assert 1 <= len(robot.detections) <= 6  # an image or a box may be lost


def test_the_example_detector_and_the_node_work_together(robot: "Robot") -> None:
    example = Path(__file__).parents[3] / "ros/examples/motion_detector.py"
    with subprocess.Popen([sys.executable, example]) as detector:
        try:
            shown = [compressed_image(scene())]
            with robot.streaming(robot.compressed, lambda: shown[0], rate=5):
                wait_for(lambda: robot.detections, "boxes of an empty table")
                assert all(not each.detections for each in robot.detections)
                for label in ("mug", "clock"):
                    shown[0] = compressed_image(scene(**{label: 370}))
                    robot.detections.clear()
                    named = [label]
                    wait_for(lambda named=named: names(robot) == named, f"a {label}")  # type: ignore[misc]
        finally:
            detector.kill()  # rclpy may miss a signal that comes while it begins to wait


def test_a_finder_says_where_the_taught_objects_are(
    robot: "Robot", node: "Process", start: Start, tmp_path: Path
) -> None:
    robot.call("save", path=str(tmp_path / "home.robocle"))
    node.end()
    model = tmp_path / "bright.onnx"
    model.write_bytes(bright_detector())
    start(tmp_path / "home.robocle", "--ros-args", *COMPRESSED, "-p", f"finder:=onnx:{model}")
    robot.connected(robot.compressed)
    image = compressed_image(scene(clock=370))
    with robot.streaming(robot.compressed, lambda: image, rate=5):
        wait_for(lambda: names(robot)[:1] == ["clock"], "a clock")
        count = len(robot.detections)
        wait_for(lambda: len(robot.detections) > count + 5, "more frames")
    (found, *_) = robot.detections[-1].detections
    assert found.bbox.center.position.x > 320
    assert robot.detections[-1].header.frame_id == "camera"
    ids = {each.id for found in robot.detections[-3:] for each in found.detections[:1]}
    assert len(ids) == 1
    assert int(ids.pop()) > 0
