"""A camera that sends compressed frames without end, to a node and to listeners that hang."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: `make ros` installs it and runs these tests")

from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import CompressedImage

from ros_robot import compressed_image, scene
from waiting import wait_for

if TYPE_CHECKING:
    from ros_robot import Process, Robot

pytestmark = pytest.mark.slow
LISTENER = """
import rclpy
from robocle_interfaces.msg import Prediction
topic = "/robocle/prediction"
rclpy.init()
node = rclpy.create_node("listener")
node.create_subscription(Prediction, topic, lambda _: print("heard", flush=True), 10)
rclpy.spin(node)
"""
FRAMES = 1000


def test_a_thousand_frames_leave_no_memory_behind_though_a_listener_hangs_and_dies(
    robot: "Robot", start: Callable[..., "Process"], tmp_path: Any
) -> None:
    # As image_transport has it: /compressed is added to what `image` is remapped to.
    options = ("-r", "image:=/front/image_raw", "-p", "image_transport:=compressed")
    node = start(tmp_path / "home.robocle", "--ros-args", *options, "-p", "filter:=false")
    topic = "/front/image_raw/compressed"
    camera = robot.node.create_publisher(CompressedImage, topic, qos_profile_sensor_data)
    robot.teach_all("mug", "clock")
    content = scene(mug=40, clock=370)
    robot.show(compressed_image(content), camera)
    with (
        subprocess.Popen(
            [sys.executable, "-c", LISTENER], stdout=subprocess.PIPE, text=True
        ) as listener,
        robot.streaming(camera, lambda: compressed_image(content), rate=100),
    ):
        assert listener.stdout
        assert listener.stdout.readline() == "heard\n"
        wait_for(lambda: len(robot.predictions) >= 200, "200 predictions", 120)
        before = node.megabytes
        listener.send_signal(signal.SIGSTOP)
        wait_for(lambda: len(robot.predictions) >= 200 + FRAMES // 2, "half of them", 240)
        listener.kill()
        wait_for(lambda: len(robot.predictions) >= 200 + FRAMES, "all of them", 240)
        after = node.megabytes
        # 100 images per second are more than the node can do. It must not lag behind.
        lag = robot.last_stamp - robot.predictions[-1].header.stamp.sec
    assert after - before < 10
    assert lag < 100
    stamps = [each.header.stamp.sec for each in robot.predictions]
    assert stamps == sorted(stamps)
    time.sleep(1.5)
    count = len(robot.predictions)
    time.sleep(1)
    assert len(robot.predictions) == count  # no queue is worked off after the last image
    assert node.process.poll() is None
